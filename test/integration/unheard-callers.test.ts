// Callers of other hosts that go without a word: NATS says that nobody listens any more, also across a cluster, and their owner ends their calls.

import { connect, headers } from '@nats-io/transport-node';
import { afterAll, afterEach, expect } from 'vitest';
import { META } from '../support/federation-world.ts';
import { NatsServer, natsTest } from '../support/nats-server.ts';
import { cleanUp } from '../support/test-daemon.ts';
import { endHosts, hostsOf, startOwner, until } from '../support/test-hosts.ts';

afterEach(endHosts);
afterAll(() => void cleanUp());

/** Both ways to ask: by the bridge's own rules, and by those of plain wire v1. */
const WAYS = {
  counted: { 'Mcp-Host': 'desk', 'Mcp-Accept-Part': '1', 'Mcp-Call': 's 1 1' },
  plain: {},
} as const;

natsTest('a call of a program that was killed ends at its owner, and that of another one goes on', async () => {
  const [first, second] = await NatsServer.cluster();
  const more = { limits: { resumeGraceMs: 2000 } };
  const builder = await startOwner(second, 'builder', { more });
  await until(async () => (await hostsOf(builder)).offered.includes('fixture'));
  /** Listens to the server, and is told what came for it. */
  const caller = async (name: string, own: Readonly<Record<string, string>>) => {
    const connection = await connect({ servers: first.url });
    const frames: string[] = [];
    connection.subscribe(`_INBOX.${name}.*`, {
      callback: (_, message) => void frames.push(message.headers?.get('Mcp-Frame') ?? ''),
    });
    const head = headers();
    const fixed = { 'Mcp-Wire': '1', 'Mcp-Method': 'subscriptions/listen', 'MCP-Protocol-Version': '2026-07-28' };
    for (const [key, value] of Object.entries({ ...fixed, ...own })) head.set(key, value);
    const params = { notifications: { toolsListChanged: true }, _meta: META };
    const body = JSON.stringify({ jsonrpc: '2.0', id: name, method: 'subscriptions/listen', params });
    const subject = 'mcp.v1.req.acme.ann.fixture-at-builder.subscriptions.listen._';
    await until(() => {
      if (frames.length === 0) connection.publish(subject, body, { reply: `_INBOX.${name}.1`, headers: head });
      return Promise.resolve(frames.length > 0);
    });
    return { connection, frames };
  };
  const stays = await caller('stays', { ...WAYS.counted, 'Mcp-Host': 'stays' });
  const killed = [await caller('one', WAYS.counted), await caller('two', WAYS.plain)];
  expect(await hostsOf(builder)).toMatchObject({ callsOfOthers: 0, listensOfOthers: 3 });
  for (const { connection } of killed) await connection.close();
  await until(async () => (await hostsOf(builder)).listensOfOthers === 1);
  const signs = (): number => stays.frames.filter((kind) => kind === 'ka').length;
  const before = signs();
  await until(() => Promise.resolve(signs() > before));
  expect((await hostsOf(builder)).listensOfOthers).toBe(1);
  expect(stays.frames).not.toContain('end');
  await stays.connection.close();
});
