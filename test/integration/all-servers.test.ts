// The view of all servers, where some of them are no good.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { type Message, type RawClient, textOf } from '../support/raw-client.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

const ALL = { 'mcp-bridge/view': 'all' };
const CHANGED = 'notifications/tools/list_changed';

const serversIn = ({ result }: Message): string[] => {
  const names = ((result?.tools ?? []) as { name: string }[]).map(({ name }) => name.split('__')[0] ?? '');
  return [...new Set(names)];
};

async function untilTold(client: RawClient): Promise<void> {
  for (let message = await client.next(); message.method !== CHANGED; ) message = await client.next();
}

/** On a machine that is busy with other things a healthy server may be late too, and joins the list like the slow one. */
async function untilListed(client: RawClient, servers: readonly string[]): Promise<void> {
  for (;;) {
    const listed = serversIn(await client.request('list', 'tools/list'));
    expect(servers).toEqual(expect.arrayContaining(listed));
    if (listed.length === servers.length) return expect(listed).toEqual(servers);
    await untilTold(client);
  }
}

describe('among all servers, one that is broken, one that is slow and one that never answers', () => {
  test('are left out of the list and marked; the slow one joins it when it comes, and the others are served meanwhile', async () => {
    const daemon = await TestDaemon.start({
      mcpServers: {
        one: fixtureServer(),
        broken: fixtureServer({ FIXTURE_EXIT: '3' }),
        two: fixtureServer(),
        slow: fixtureServer({ FIXTURE_SLOW_START: '6000' }),
        never: fixtureServer({ FIXTURE_SILENT: '1' }),
        three: fixtureServer(),
        four: fixtureServer(),
      },
    });
    const client = await daemon.client(ALL);
    await untilListed(client, ['one', 'two', 'three', 'four']);
    const { instances } = await daemon.status();
    expect(instances.filter(({ leftOut }) => leftOut).map(({ server }) => server)).toEqual(['broken', 'slow', 'never']);
    expect(textOf(await client.callTool(1, 'two__echo', { text: 'meanwhile' }))).toBe('meanwhile');
    const again = await daemon.client(ALL);
    expect(serversIn(await again.request('list', 'tools/list'))).toEqual(['one', 'two', 'three', 'four']);
    for (const who of [client, again]) await untilListed(who, ['one', 'two', 'slow', 'three', 'four']);
    const after = (await daemon.status()).instances.filter(({ leftOut }) => leftOut);
    expect(after.map(({ server }) => server)).toEqual(['broken', 'never']);
    client.destroy();
    again.destroy();
    await daemon.stop();
  });

  test('are each reported to callers with their state', async () => {
    const daemon = await TestDaemon.start({
      mcpServers: {
        good: fixtureServer(),
        broken: fixtureServer({ FIXTURE_EXIT: '3' }),
        never: { ...fixtureServer({ FIXTURE_SILENT: '1' }), startTimeoutMs: 400 },
      },
    });
    const client = await daemon.client(ALL);
    for (const [id, name] of ['broken__x', 'never__x', 'good__none'].entries())
      client.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } });
    const answers = new Map<unknown, unknown>();
    while (answers.size < 3) {
      const { id, error } = await client.next();
      answers.set(id, error?.data?.code);
    }
    expect([0, 1, 2].map((id) => answers.get(id))).toEqual([
      'SERVER_START_FAILED',
      'SERVER_START_FAILED',
      'TOOL_NOT_FOUND',
    ]);
    client.destroy();
    await daemon.stop();
  });
});

test.each([1, 2])('no more servers than %i are started at the same time', async (maxLocalStarts) => {
  const dir = tempDir();
  const log = join(dir, 'log');
  writeFileSync(log, '');
  const env = { FIXTURE_STARTS: log, FIXTURE_READY: log, FIXTURE_SLOW_START: '400' };
  const mcpServers = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, fixtureServer(env)]));
  const daemon = await TestDaemon.start({ mcpServers, limits: { maxLocalStarts } }, { dir });
  const client = await daemon.client(ALL);
  await client.request(1, 'tools/list');
  await daemon.until(({ instances }) => instances.every(({ state }) => state === 'ready'));
  let starting = 0;
  const most = readFileSync(log, 'utf8')
    .trim()
    .split('\n')
    .map((line) => (line.endsWith('ready') ? --starting : ++starting));
  expect([starting, Math.max(...most)]).toEqual([0, maxLocalStarts]);
  client.destroy();
  await daemon.stop();
});

test('one that has said many lines before it ended is told of on one by `tools`, and whole where it is named', async () => {
  const npm = ['npm error code E404', 'npm error 404 Not Found', 'npm error A complete log is elsewhere'].join('\n');
  const loud = { command: 'sh', args: ['-c', `echo "${npm}" >&2; exit 1`] };
  const daemon = await TestDaemon.start({ mcpServers: { loud, fixture: fixtureServer() } });
  const where = ['--mcp-bridge-socket', daemon.path];
  expect((await runCommand(['tools', ...where])).stderr).toBe(
    'mcp-bridge: Server loud exited with code 1: npm error 404 Not Found. All of it: mcp-bridge tools loud\n',
  );
  expect((await runCommand(['tools', 'loud', ...where])).stderr).toContain('A complete log is elsewhere');
  await daemon.stop();
});
