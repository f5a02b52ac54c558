// What monitoring sends along with calls, in `_meta`: it reaches the server as it was sent, whatever the client sees and
// however the server is reached.

import { afterEach, describe, expect, test } from 'vitest';
import { BRIDGES } from '../support/bridges.ts';
import { type RawClient, textOf } from '../support/raw-client.ts';
import { endFixtures, httpServer, webSocketServer } from '../support/remote-fixture.ts';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';

afterEach(endFixtures);

const META = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE',
  baggage: 'userId=alice',
};
/** In a spelling that nobody else would choose. */
const SPELLED = `"_meta" :${JSON.stringify(META).replaceAll('":"', '" : "').replace('congo', '\\u0063ongo')}`;

/** A call of `tool` of the server `fixture`, as it is made in a view. */
function callIn(view: string, tool: string): string {
  const own = `"name":"${view === 'all' ? `fixture__${tool}` : tool}","arguments":{}`;
  const params =
    view === 'discover'
      ? `"name":"execute_tool","arguments":{"server":"fixture","tool":"${tool}","arguments":{}}`
      : own;
  return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${SPELLED},${params}}}`;
}

async function ask(client: RawClient, view: string, tool: string): Promise<string> {
  await client.initialize({ 'mcp-bridge/view': view });
  client.send(callIn(view, tool));
  const said = textOf(await client.answerTo(1));
  client.destroy();
  return said;
}

const VIEWS = ['server:fixture', 'all', 'discover'];

describe.each(BRIDGES)('%s', (_title, open) => {
  test('traceparent, tracestate and baggage reach a server byte for byte, in each view', async () => {
    const bridge = await open({ mcpServers: { fixture: fixtureServer(), other: fixtureServer() } });
    for (const view of VIEWS)
      expect([view, await ask(await bridge.connect(), view, 'raw')]).toEqual([view, expect.stringContaining(SPELLED)]);
    await bridge.stop();
  });
});

test('over a WebSocket byte for byte too', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { fixture: { url: await webSocketServer() } } });
  // It lists no tools, so that none can be called by a joined name.
  expect(await ask(await daemon.connect(), 'server:fixture', 'raw')).toContain(SPELLED);
  await daemon.stop();
});

test.each(['http', 'sse'] as const)('over %s each value as it was, in each view', async (kind) => {
  const daemon = await TestDaemon.start({ mcpServers: { fixture: { type: kind, url: await httpServer(kind) } } });
  for (const view of VIEWS) {
    const said = await ask(await daemon.connect(), view, 'meta');
    expect([view, JSON.parse(said)]).toEqual([view, META]);
  }
  await daemon.stop();
});
