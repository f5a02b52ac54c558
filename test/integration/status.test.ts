// What `mcp-bridge status` says of servers: what each figure counts, and the states, which are those of `servers` too.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { parsePrometheus } from '../support/prometheus-parser.ts';
import { fixtureServer, ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

test('calls are those of tools, requests all that clients have asked the server', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
  const client = await daemon.client();
  await client.callTool(1, 'echo', { text: 'a' });
  await client.request(2, 'nothing/like/this', {});
  const finder = await daemon.client({ 'mcp-bridge/view': 'discover' });
  await finder.callTool(1, 'execute_tool', { server: 'fixture', tool: 'echo', arguments: { text: 'b' } });
  expect((await daemon.status()).instances).toMatchObject([{ calls: 2, requests: 3 }]);
  await daemon.stop();
});

test('requests of control sessions are not counted', async () => {
  const daemon = await TestDaemon.start();
  await runCommand(['status', '--mcp-bridge-socket', daemon.path]);
  await runCommand(['clients', '--mcp-bridge-socket', daemon.path]);
  expect((await daemon.status()).counters).toMatchObject({ requests: 0 });
  await daemon.stop();
});

test('a restart is one of a server that has run, and no attempt to start it', async () => {
  const gate = join(tempDir(), 'gate');
  const { command, args } = fixtureServer() as { command: string; args: string[] };
  const late = { command: 'sh', args: ['-c', `test -e "${gate}" && exec "$@"`, 'sh', command, ...args] };
  const daemon = await TestDaemon.start({ mcpServers: { late } });
  const call = ['call', 'late', 'echo', 'text=x', '--mcp-bridge-socket', daemon.path];
  expect((await runCommand(call)).code).toBe(1);
  const failed = await daemon.status();
  expect(failed.instances).toMatchObject([{ state: 'failed', restarts: 0 }]);
  expect(failed.counters.serverStarts).toBe(1); // to look at a tool and to call it is one try
  writeFileSync(gate, '');
  expect(await runCommand(call)).toMatchObject({ code: 0 });
  const [running] = (await daemon.status()).instances;
  expect(running).toMatchObject({ pid: expect.any(Number), state: 'ready', restarts: 0 });
  process.kill(running?.pid as number, 'SIGKILL');
  await daemon.until(({ instances }) => instances[0]?.pid === null);
  await runCommand(call);
  const { instances, counters } = await daemon.status();
  expect(instances).toMatchObject([{ state: 'ready', restarts: 1 }]);
  expect(counters.serverStarts).toBeGreaterThan(2);
  await daemon.stop();
});

test('a look at the servers starts none, and they are in the same state wherever that is shown', async () => {
  const mcpServers = {
    ...{ quick: fixtureServer(), other: fixtureServer(), third: fixtureServer() },
    slow: fixtureServer({ FIXTURE_SILENT: '1' }),
    dead: { command: 'false' },
  };
  const daemon = await TestDaemon.start({ mcpServers });
  const where = ['--mcp-bridge-socket', daemon.path];
  const before = await runCommand(['servers', ...where]);
  expect(before.stdout.match(/^\S+ +idle +\?/gm)?.map((line) => line.split(' ')[0])).toEqual(
    Object.keys(mcpServers).toSorted(),
  );
  expect(before.stdout).toContain(
    '! Tools not known yet, as nobody has used them: dead, other, quick, slow, third. To have them asked now: mcp-bridge refresh\n',
  );
  expect((await daemon.status()).counters.serverStarts ?? 0).toBe(0);
  expect((await runCommand(['search', 'echo', ...where])).stderr).toContain(
    'slow has not said yet what tools it has\nTo have them asked now: mcp-bridge refresh\n',
  );
  const { stdout, stderr } = await runCommand(['servers', ...where]);
  expect(stdout).toMatch(/^quick +ready +20/m);
  expect(stdout).toMatch(/^slow +starting +\?/m);
  expect(stdout).toMatch(/^dead +failed +\?/m);
  expect(stderr).toBe('');
  expect(stdout).toContain('! Tools not known yet, as nobody has used them: slow. ');
  const status = (await runCommand(['status', ...where])).stdout;
  for (const [name, state] of Object.entries({ quick: 'ready', slow: 'starting', dead: 'failed' }))
    expect(status).toMatch(new RegExp(`^${name} +${state} `, 'm'));
  const again = await runCommand(['servers', '--json', ...where]);
  expect(JSON.parse(again.stdout)).toMatchObject({
    servers: [{ status: 'connected' }, {}, {}, { status: 'starting' }, { status: 'failed' }],
  });
  await daemon.stop();
});

test('which era clients and servers speak is said wherever they are shown, and how many calls wait for answers (G5)', async () => {
  const newer = {
    command: process.execPath,
    args: [join(ROOT, 'test/fixtures/servers/two-eras.mjs'), 'only-2026', 'stdio'],
  };
  const daemon = await TestDaemon.start({ audit: {}, mcpServers: { older: fixtureServer(), newer } });
  const where = ['--mcp-bridge-socket', daemon.path];
  const old = await daemon.client({ 'mcp-bridge/view': 'server:newer', 'mcp-bridge/clientId': 'old' });
  const fresh = await daemon.connect();
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
    'mcp-bridge/view': 'server:older',
    'mcp-bridge/clientId': 'fresh',
  };
  await old.callTool(1, 'seen');
  const params = { message: '?', requestedSchema: { type: 'object', properties: {} } };
  const asked = await fresh.callTool(1, 'ask', { params }, _meta);
  expect(asked.result).toMatchObject({ resultType: 'input_required' });

  const status = await daemon.status();
  expect(status).toMatchObject({ suspended: 1, protocolVersions: { '2025-06-18': 1, '2026-07-28': 1 } });
  const versions = new Map(status.instances.map(({ server, protocolVersion }) => [server, protocolVersion]));
  expect(Object.fromEntries(versions)).toEqual({ older: '2025-11-25', newer: '2026-07-28' });
  const text = (await runCommand(['status', ...where])).stdout;
  expect(text).toContain("calls that wait for their clients' answers: 1");
  expect(text).toMatch(/^newer .* 2026-07-28$/m);
  const listed = JSON.parse((await runCommand(['clients', '--json', ...where])).stdout) as Record<string, unknown>[];
  expect(Object.fromEntries(listed.map(({ clientId, protocolVersion }) => [clientId, protocolVersion]))).toEqual({
    old: '2025-06-18',
    fresh: '2026-07-28',
  });
  const metrics = parsePrometheus((await runCommand(['metrics', ...where])).stdout);
  const figures = (name: string): unknown => metrics.get(name)?.samples.map(({ labels, value }) => [labels, value]);
  expect(figures('mcp_bridge_calls_suspended')).toEqual([[{}, 1]]);
  expect(figures('mcp_bridge_clients_by_protocol')).toEqual([
    [{ version: '2025-06-18' }, 1],
    [{ version: '2026-07-28' }, 1],
  ]);

  const { requestState } = asked.result as { requestState: string };
  const inputResponses = { q1: { action: 'accept', content: {} } };
  const retry = { name: 'ask', arguments: { params }, requestState, inputResponses, _meta };
  expect(await fresh.request(2, 'tools/call', retry)).toMatchObject({ result: { resultType: 'complete' } });
  expect((await daemon.status()).suspended).toBe(0);
  for (const client of [old, fresh]) client.destroy();
  await daemon.stop();
});
