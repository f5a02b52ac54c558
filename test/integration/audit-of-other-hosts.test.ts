// The audit log of calls that come from other hosts, with a real nats-server: who has asked there, and what was refused.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, headers as newHeaders } from '@nats-io/transport-node';
import { afterAll, afterEach, expect, onTestFinished } from 'vitest';
import { NatsServer, natsTest } from '../support/nats-server.ts';
import { cleanUp, type TestDaemon } from '../support/test-daemon.ts';
import { endHosts, expectEcho, startHost, startOwner, until, untilTool } from '../support/test-hosts.ts';

afterEach(endHosts);
afterAll(() => void cleanUp());

type Line = Readonly<Record<string, unknown>>;

const AUDITED = { more: { audit: {} } };

/** The lines of the log of a daemon that has ended. */
async function linesOf(daemon: TestDaemon): Promise<Line[]> {
  daemon.kill('SIGTERM');
  await daemon.exited;
  const text = readFileSync(join(daemon.dir, '.local/state/mcp-bridge/audit.jsonl'), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

async function refusedIn(daemon: TestDaemon): Promise<number> {
  const { counters } = (await daemon.status()) as unknown as { counters: { busRefused: number } };
  return counters.busRefused;
}

natsTest('a call of another host has the client there, by the word of its daemon', async () => {
  const nats = await NatsServer.start();
  const builder = await startOwner(nats, 'builder', AUDITED);
  const laptop = await startHost(nats, 'laptop');
  for (const clientId of ['my-agent', 'other']) {
    const client = await laptop.client({ 'mcp-bridge/clientId': clientId });
    await untilTool(client, 'fixture_builder__echo');
    await expectEcho(client, 'fixture_builder__echo', clientId);
  }
  const lines = (await linesOf(builder)).filter(({ tool }) => tool === 'echo');
  const who = { tenant: 'acme', user: 'ann', host: 'laptop', outcome: 'ok' };
  expect(lines).toMatchObject([
    { ...who, clientThere: 'my-agent' },
    { ...who, clientThere: 'other' },
  ]);
});

natsTest('what is refused of other hosts is recorded, and a flood of it is few lines', async () => {
  const nats = await NatsServer.start();
  const builder = await startOwner(nats, 'builder', AUDITED);
  const laptop = await startHost(nats, 'laptop', AUDITED);
  const client = await laptop.client();
  await untilTool(client, 'fixture_builder__echo');
  const stranger = await connect({ servers: nats.url });
  onTestFinished(() => stranger.close());
  const headers = newHeaders();
  const said = { 'Mcp-Wire': '1', 'Mcp-Method': 'tools/list', 'Mcp-Host': 'stra\u202enger', 'Mcp-Client': 'x' };
  for (const [name, value] of Object.entries(said)) headers.set(name, value);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo' } });
  const before = await refusedIn(builder);
  for (let i = 0; i < 2000; i++)
    stranger.publish('mcp.v1.req.acme.eve.fixture-at-builder.tools.call.echo', body, { headers, reply: '_INBOX.x.y' });
  await until(async () => (await refusedIn(builder)) - before >= 2000);
  const lines = (await linesOf(builder)).filter(({ refused }) => refused !== undefined);
  expect(lines.length).toBeLessThan(10);
  expect(lines.reduce((sum, { count }) => sum + (count as number), 0)).toBe(2000);
  expect(lines[0]).toMatchObject({
    ...{ refused: 'request', user: 'eve', host: 'stra\u202enger', server: 'fixture' },
    why: 'Header mismatch: Mcp-Method does not say what the body says',
  });
  expect(String(lines[0]?.time)).toMatch(/^20\d\d-.*Z$/);
  // The other side: an entry under the name of a host that it is not.
  const liar = JSON.stringify({ v: 1, host: 'builder', run: 'r', version: '1', era: '2026-07-28', servers: [] });
  stranger.publish('$KV.bridge_hosts.acme.liar', liar);
  await until(async () => (await refusedIn(laptop)) >= 1);
  expect(await linesOf(laptop)).toContainEqual(
    expect.objectContaining({ refused: 'entry', count: 1, host: 'liar', why: 'its entry is that of builder' }),
  );
});
