// The client of @modelcontextprotocol/client without a handshake, over the socket and through `connect`: what it hears of servers
// of both eras without asking again.

import { join } from 'node:path';
import { Client, type McpSubscription } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SocketTransport } from '../support/socket-transport.ts';
import { cleanUp, PROGRAM, ROOT, TestDaemon } from '../support/test-daemon.ts';

const SERVERS = join(ROOT, 'test/fixtures/servers');
/** One of each era: the tool that tells of a changed resource, the call that adds a tool, and resources, which are used once each. */
const ERAS = {
  'the era before': {
    args: [join(SERVERS, 'full.mjs')],
    update: 'update',
    grow: (name: string) => ({
      name: 'add',
      arguments: { kind: 'tools', item: `{"name":"${name}","inputSchema":{"type":"object"}}` },
    }),
    uris: ['test://text', 'test://blob', 'test://five', 'test://six'],
  },
  'its own era': {
    args: [join(SERVERS, 'two-eras.mjs'), 'only-2026', 'stdio'],
    update: 'touch',
    grow: (name: string) => ({ name: 'grow', arguments: { name } }),
    uris: ['note://one', 'note://two', 'note://three', 'note://four'],
  },
};
type Transport = Parameters<Client['connect']>[0];

let daemons: Map<string, TestDaemon>;
beforeAll(async () => {
  const started = Object.entries(ERAS).map(async ([era, { args }]): Promise<[string, TestDaemon]> => {
    const only = { command: process.execPath, args };
    return [era, await TestDaemon.start({ mcpServers: { only }, discovery: { enabled: false } })];
  });
  daemons = new Map(await Promise.all(started));
});
afterAll(async () => {
  for (const daemon of daemons.values()) await daemon.stop();
  expect(cleanUp()).toEqual([]);
});

const daemonOf = (era: string): TestDaemon => {
  const daemon = daemons.get(era);
  if (daemon === undefined) throw new Error(`no daemon has a server of ${era}`);
  return daemon;
};
const WAYS: [string, (daemon: TestDaemon) => Transport][] = [
  ['over the socket', ({ path }) => new SocketTransport(path) as unknown as Transport],
  [
    'through connect',
    ({ path }) =>
      new StdioClientTransport({
        command: process.execPath,
        args: [PROGRAM, 'connect', '--mcp-bridge-socket', path],
        stderr: 'ignore',
      }),
  ],
];

/** Takes what the client hears, one by one. */
class Heard {
  readonly #due: string[] = [];
  readonly #waiting: ((what: string) => void)[] = [];

  hear(what: string): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#due.push(what);
    else next(what);
  }

  next(): Promise<string> {
    const due = this.#due.shift();
    return due === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(due);
  }
}

async function connected(transport: Transport): Promise<{ client: Client; heard: Heard }> {
  const client = new Client({ name: 'listens', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const heard = new Heard();
  client.setNotificationHandler('notifications/tools/list_changed', () => heard.hear('tools'));
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => heard.hear(params.uri));
  await client.connect(transport);
  return { client, heard };
}

describe.each(Object.entries(ERAS))('of a server of %s', (era, { update, grow, uris }) => {
  const unused = [...uris];
  const nextUri = (): string => unused.shift() ?? '';

  test.each(WAYS)('it hears of lists and resources until it ends that, %s (C16, E6)', async (_, transportTo) => {
    const [uri, later] = [nextUri(), nextUri()];
    const { client, heard } = await connected(transportTo(daemonOf(era)));
    const other = await connected(transportTo(daemonOf(era)));
    const filter = { toolsListChanged: true, resourceSubscriptions: [uri] };
    const subscription: McpSubscription = await client.listen(filter);
    expect(subscription.honoredFilter).toEqual(filter);
    await other.client.callTool({ name: update, arguments: { uri } });
    expect(await heard.next()).toBe(uri);
    await other.client.callTool(grow(`a${unused.length}`));
    expect(await heard.next()).toBe('tools');
    await subscription.close();
    expect(await subscription.closed).toBe('local');
    const again = await client.listen({ resourceSubscriptions: [later] });
    await client.callTool(grow(`b${unused.length}`));
    for (const changed of [uri, later]) await client.callTool({ name: update, arguments: { uri: changed } });
    expect(await heard.next()).toBe(later); // and nothing of the tools before
    await again.close();
    for (const one of [client, other.client]) await one.close();
  });
});

test('its requests to listen end with a result when the daemon stops (C17)', async () => {
  const only = { command: process.execPath, args: [join(SERVERS, 'full.mjs')] };
  const daemon = await TestDaemon.start({ mcpServers: { only }, discovery: { enabled: false } });
  const { client } = await connected(new SocketTransport(daemon.path) as unknown as Transport);
  const subscription = await client.listen({ toolsListChanged: true });
  await daemon.stop();
  expect(await subscription.closed).toBe('graceful');
  await client.close();
});
