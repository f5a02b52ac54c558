// Configs with a fault where they keep somebody out: what was refused stays refused.

import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { writeFiles } from '../support/file-tree.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const SERVERS = { client: { view: 'all' }, mcpServers: { files: fixtureServer(), memory: fixtureServer() } };
const GOOD = {
  ...SERVERS,
  discovery: { enabled: false, toolRules: [{ pattern: 'files:echo', enabled: false }] },
  policy: { deniedMcpServers: [{ serverName: 'memory' }] },
};
const FAULTY = {
  ...SERVERS,
  discovery: { enabled: false, toolRules: [{ pattern: ['files:echo'], enable: false }] },
  policy: { deniedMcpServers: [{ servername: 'memory' }] },
};
const FAULTY_RULE = { ...FAULTY, policy: GOOD.policy };

async function start(config: object, options: { isFaulty?: true } = {}): Promise<TestDaemon> {
  const daemon = await TestDaemon.start(config, options);
  ends.push(() => daemon.stop());
  return daemon;
}

function rewrite(daemon: TestDaemon, config: object): void {
  const file = join(daemon.dir, 'config.json');
  writeFileSync(`${file}.new`, JSON.stringify(config));
  renameSync(`${file}.new`, file);
}

/** What becomes of calls of tools, by the names of the view `all`. */
async function outcomes(daemon: TestDaemon, ...tools: string[]): Promise<unknown[]> {
  const client = await daemon.client();
  const answers = [];
  for (const [id, tool] of tools.entries()) {
    const { error } = await client.callTool(id + 1, tool, { text: 'x' });
    answers.push(error === undefined ? 'answered' : error.data?.code);
  }
  client.destroy();
  return answers;
}

const run = (daemon: TestDaemon, ...args: string[]) =>
  runCommand([...args, '--mcp-bridge-socket', daemon.path], { cwd: daemon.dir, env: { HOME: daemon.dir } });

test('a section that excluded something before a fault still does so after it, and opens only by a valid change', async () => {
  const daemon = await start(GOOD);
  const closed = ['TOOL_DISABLED', 'answered', 'TOOL_NOT_FOUND'];
  expect(await outcomes(daemon, 'files__echo', 'files__raw', 'memory__echo')).toEqual(closed);
  rewrite(daemon, FAULTY);
  const { stdout } = await run(daemon, 'reload');
  expect(stdout).toContain('! discovery.toolRules[0].enable is not known (did you mean enabled?)');
  expect(stdout).toContain('! policy has faults: what was read of it before is still used');
  expect(await outcomes(daemon, 'files__echo', 'files__raw', 'memory__echo')).toEqual(closed);
  expect(new Set((await daemon.status()).configFaults)).toEqual(
    new Set([
      'discovery.toolRules[0].enable is not known (did you mean enabled?)',
      'policy.deniedMcpServers[0] must have exactly one of serverName, serverCommand, serverUrl',
      'policy has faults: what was read of it before is still used',
      'discovery.toolRules has faults: what was read of it before is still used',
    ]),
  );
  rewrite(daemon, SERVERS);
  await run(daemon, 'reload');
  expect(await outcomes(daemon, 'files__echo', 'memory__echo')).toEqual(['answered', 'answered']);
});

test('a daemon that starts with a fault takes the stricter reading', async () => {
  const daemon = await start(FAULTY_RULE, { isFaulty: true });
  const names = ['files__echo', 'files__raw', 'memory__echo'];
  expect(await outcomes(daemon, ...names)).toEqual(['TOOL_DISABLED', 'answered', 'TOOL_NOT_FOUND']);
  rewrite(daemon, SERVERS);
  await run(daemon, 'reload');
  expect(await outcomes(daemon, ...names)).toEqual(['answered', 'answered', 'answered']);
});

test('a daemon that cannot tell who is denied denies everybody until the fault is repaired', async () => {
  const daemon = await start(FAULTY, { isFaulty: true });
  expect(await outcomes(daemon, 'files__raw')).toEqual(['TOOL_NOT_FOUND']);
  expect((await daemon.status()).definitionFaults.join()).toContain('until it is corrected, every server is blocked');
  rewrite(daemon, GOOD);
  await run(daemon, 'reload');
  expect(await outcomes(daemon, 'files__raw', 'memory__echo')).toEqual(['answered', 'TOOL_NOT_FOUND']);
});

test('settings that apply at the next start are reported as long as they differ', async () => {
  const daemon = await start(SERVERS);
  rewrite(daemon, { ...SERVERS, audit: {}, limits: { maxClients: 9 }, daemon: { idleExitMs: 7 } });
  const late = (section: string) => `${section}: changes apply from the next start; mcp-bridge restart`;
  const lines = ['limits', 'daemon', 'audit'].map((section) => `! ${late(section)}\n`).join('');
  expect((await run(daemon, 'reload')).stdout).toBe(lines);
  expect((await daemon.status()).configFaults).toEqual(['limits', 'daemon', 'audit'].map(late));
  rewrite(daemon, SERVERS);
  expect((await run(daemon, 'reload')).stdout).toBe('Nothing has changed\n');
});

test('where a config that cannot be read may name another socket, nothing is stopped, and no start is advised', async () => {
  const dir = tempDir();
  const file = join(dir, 'config.json');
  const text = `{ "mcpBridge": { "socketPath": "${join(dir, 'b.sock')}" } } }`;
  writeFileSync(file, text);
  const env = { HOME: dir };
  const at = (...args: string[]) => runCommand([...args, '--config', file], { cwd: dir, env });
  const line =
    `mcp-bridge: ${file}:1:${text.length}: there is something behind the end. ` +
    'Whether it names another socket than /tmp/mcp-bridge.sock is not known. ' +
    'Correct the file, or name the socket with --mcp-bridge-socket.\n';
  // Whoever runs the tests may have a bridge of their own at the default: it is told of too, and not started again.
  const others = /^mcp-bridge: mcp-bridge at \/tmp\/mcp-bridge\.sock runs with .*\n/m;
  for (const command of ['stop', 'upgrade']) expect(await at(command)).toEqual({ code: 1, stdout: '', stderr: line });
  for (const command of ['status', 'clients', 'start']) {
    const { stderr } = await at(command);
    const [own = ''] = others.exec(stderr) ?? [];
    expect(stderr).toBe(own !== '' && command === 'start' ? own : `${line}${own}`);
  }
  const elsewhere = await at('stop', '--mcp-bridge-socket', join(dir, 'c.sock'));
  expect(elsewhere).toEqual({ code: 0, stdout: `No mcp-bridge runs at ${join(dir, 'c.sock')}\n`, stderr: '' });
});

test('files that break while a daemon runs are reported, and this daemon and the next go on', async () => {
  const home = tempDir();
  const broken = '{ "mcpServers": {';
  const own = join(home, '.config/mcp-bridge/config.json');
  const ofCursor = join(home, '.cursor/mcp.json');
  for (const [file, mcpServers] of [
    [own, { mine: fixtureServer() }],
    [ofCursor, { theirs: fixtureServer({ OF: 'cursor' }) }],
  ] as const)
    writeFiles('/', { [file]: { mcpServers } });
  const env = { HOME: home, MCP_BRIDGE_SOCKET: join(home, 'b.sock') };
  const at = (...args: string[]) => runCommand(args, { cwd: home, env });
  ends.push(() => at('stop'));
  await at('start');
  expect((await at('call', 'theirs', 'cwd')).code).toBe(0);
  for (const file of [own, ofCursor]) writeFileSync(file, broken);

  const fault = (file: string) => `${file}:1:18: a closing brace is expected here. Correct the file.`;
  const goesOn = 'A daemon goes on with what it said when it was last good, if it ever was.';
  const stillCounts = 'What was read of it before is still used.';
  expect((await at('reload')).stdout).toBe(`! ${fault(own)} ${stillCounts}\n! ${fault(ofCursor)} ${stillCounts}\n`);
  const call = await at('call', 'mine', 'cwd');
  expect(call).toMatchObject({ code: 0, stderr: `mcp-bridge: ${fault(own)} ${goesOn}\n` });
  const { stdout } = await at('discover');
  expect(stdout.replaceAll('~', home)).toContain(`\n! ${fault(own)} ${goesOn}\n`);
  expect(stdout.replaceAll('~', home)).toContain(
    `\n! ${fault(ofCursor)} Nothing of it is used, but for what a daemon that runs has read of it before.\n`,
  );
  await at('stop');
  // Another config has never been good.
  const { code, stderr } = await at('serve', '--config', ofCursor);
  expect([code, stderr]).toEqual([1, `mcp-bridge: ${fault(ofCursor)}\n`]);
  expect((await at('start')).code).toBe(0);
  expect((await at('call', 'mine', 'cwd')).code).toBe(0);
  const status = (await at('status')).stdout;
  expect(status).toContain(`! ${fault(own)} What it said at 2`);
  expect(status).toMatch(/What it said at \S+ is still used\.$/m);
});

test('setting MCP_SERVERS_CONFIG beside a running daemon has no effect; the command says so, and what to do', async () => {
  const home = tempDir();
  writeFiles(home, { 'mine.json': { mcpServers: { mine: fixtureServer() } } });
  const env = { HOME: home, MCP_BRIDGE_SOCKET: join(home, 'b.sock') };
  const at = (command: string, more: Record<string, string> = {}) =>
    runCommand([command], { cwd: home, env: { ...env, ...more } });
  ends.push(() => at('stop'));
  await at('start');
  const set = { MCP_SERVERS_CONFIG: join(home, 'mine.json') };
  const told = 'MCP_SERVERS_CONFIG is set here, and the daemon that runs does not have it';
  expect((await at('status')).stdout).not.toContain('MCP_SERVERS_CONFIG');
  for (const command of ['status', 'discover']) {
    const { stdout } = await at(command, set);
    expect(stdout).toContain(told);
    expect(stdout).toContain('mcp-bridge stop, then mcp-bridge start in this shell');
  }
  await at('stop');
  await at('start', set);
  for (const command of ['status', 'discover'])
    expect((await at(command, set)).stdout).not.toContain('MCP_SERVERS_CONFIG');
  expect((await at('status')).stdout).toContain(`The daemon that runs reads only ${set.MCP_SERVERS_CONFIG}`);
});
