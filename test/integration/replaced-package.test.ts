// A daemon whose package is removed while it runs, as npm does when it installs another one. What it needs later it has.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as passTime } from 'node:timers/promises';
import { afterAll, afterEach, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { copyPackage } from '../support/installed-package.ts';
import { RawClient, textOf } from '../support/raw-client.ts';
import { endFixtures, httpServer, webSocketServer } from '../support/remote-fixture.ts';
import { cleanUp, FIXTURE, PROGRAM, ROOT, tempDir, untilGone } from '../support/test-daemon.ts';

afterEach(endFixtures);
afterAll(() => expect(cleanUp()).toEqual([]));

const fixture = { command: process.execPath, args: [FIXTURE], env: {} };

function write(file: string, content: string | object): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
}

test('a daemon goes on without its package: control, discovery, checks, servers at URLs', {
  timeout: 240_000,
}, async () => {
  const dir = tempDir();
  const home = tempDir();
  const installed = join(dir, 'prefix/mcp-bridge');
  copyPackage(installed);
  const config = join(home, 'config.json');
  const mcpServers = { one: fixture, http: { url: await httpServer('http') }, ws: { url: await webSocketServer() } };
  write(config, { mcpServers, client: { view: 'discover' } });
  const socket = join(home, 'b.sock');
  const environment = { PATH: process.env.PATH, HOME: home, MCP_BRIDGE_SOCKET: socket };
  const daemon = spawn(process.execPath, [join(installed, 'dist/mcp-bridge.cjs'), 'serve', '--config', config], {
    ...{ cwd: home, env: environment, stdio: ['ignore', 'ignore', 'pipe'] },
  });
  let log = '';
  daemon.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  try {
    while (!log.includes('listening on')) await once(daemon.stderr, 'data');
    rmSync(join(dir, 'prefix'), { recursive: true });

    const command = (...args: string[]) => runCommand(args, { env: environment, cwd: home });
    expect(await command('status', '--json')).toMatchObject({ code: 0, stdout: expect.stringContaining('"pid"') });
    expect(await command('clients')).toMatchObject({ code: 0 });
    // These are found by a process that is started now, with the parsers of each syntax.
    write(
      join(home, '.codex/config.toml'),
      `[mcp_servers.fromtoml]\ncommand = "${process.execPath}"\nargs = ["${FIXTURE}", "toml"]\n`,
    );
    write(
      join(home, '.config/goose/config.yaml'),
      `extensions:\n  fromyaml:\n    type: stdio\n    enabled: true\n    cmd: ${process.execPath}\n    args: ["${FIXTURE}", "yaml"]\n`,
    );
    write(
      join(home, '.cursor/mcp.json'),
      `{ "mcpServers": { /* a comment */ "fromjson": ${JSON.stringify({ ...fixture, args: [FIXTURE, 'json'] })} } }`,
    );
    write(config, `{ "mcpServers": ${JSON.stringify(mcpServers)}, /* read again */ "client": { "view": "discover" } }`);
    const reloaded = await command('reload');
    expect(reloaded).toMatchObject({ code: 0, stderr: '' });
    const { stdout } = await command('status');
    for (const name of ['one', 'fromtoml', 'fromyaml', 'fromjson']) expect(stdout).toContain(name);

    for (const server of ['http', 'ws', 'fromtoml', 'one']) {
      const client = await RawClient.connect(socket);
      expect((await client.initialize({ 'mcp-bridge/view': `server:${server}` })).error).toBeUndefined();
      const text = 'ü'.repeat(100_000);
      expect(textOf(await client.callTool(1, 'echo', { text }))).toBe(text);
      client.destroy();
    }
    // Its schema is compiled now.
    const client = await RawClient.connect(socket);
    await client.initialize({ 'mcp-bridge/view': 'discover' });
    const wrong = await client.callTool(1, 'execute_tool', { server: 'http', tool: 'echo', arguments: { text: 7 } });
    expect(JSON.stringify(wrong)).toContain('TOOL_ARGUMENTS_INVALID');
    client.destroy();
    expect(log).not.toMatch(/MODULE_NOT_FOUND|Cannot find module|ENOENT.*later/);
    expect(await command('stop')).toMatchObject({ code: 0 });
  } finally {
    daemon.kill();
    if (daemon.exitCode === null && daemon.signalCode === null) await once(daemon, 'exit');
  }
});

test.each([
  ['the example server starts', {}, 'server:example', 'echo'],
  ['the daemon looks at its config itself', { discovery: { enabled: false } }, 'server:late', 'echo'],
])('a daemon goes on without its package: %s', async (_, settings, view, tool) => {
  const [dir, home] = [tempDir(), tempDir()];
  const installed = join(dir, 'installed');
  cpSync(dirname(PROGRAM), join(installed, 'dist'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(installed, 'node_modules'));
  const config = join(home, '.config/mcp-bridge/config.json');
  if (view !== 'server:example') write(config, { ...settings, mcpServers: {} });
  const environment = { PATH: process.env.PATH, HOME: home, MCP_BRIDGE_SOCKET: join(home, 'b.sock') };
  const daemon = spawn(process.execPath, [join(installed, 'dist/mcp-bridge.cjs'), 'serve'], {
    ...{ cwd: home, env: environment, stdio: ['ignore', 'ignore', 'pipe'] },
  });
  const ended = once(daemon, 'exit');
  let log = '';
  daemon.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  try {
    while (!log.includes('listening on')) await once(daemon.stderr, 'data');
    rmSync(dir, { recursive: true });
    if (view !== 'server:example') write(config, { ...settings, mcpServers: { late: fixture } });
    await runCommand(['reload'], { env: environment, cwd: home });
    const client = await RawClient.connect(join(home, 'b.sock'));
    expect((await client.initialize({ 'mcp-bridge/view': view })).error).toBeUndefined();
    expect(textOf(await client.callTool(1, tool, { text: 'still there' }))).toBe('still there');
    client.destroy();
    expect(log).not.toMatch(/MODULE_NOT_FOUND|Cannot find module|could not be looked at/);
  } finally {
    daemon.kill();
    await ended;
  }
});

test('a client of `connect` goes on when its daemon was killed while the package was away', async () => {
  const [dir, home] = [tempDir(), tempDir()];
  const [installed, away] = [join(dir, 'installed'), join(dir, 'away')];
  cpSync(dirname(PROGRAM), join(installed, 'dist'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(installed, 'node_modules'));
  const program = join(installed, 'dist/mcp-bridge.cjs');
  const config = join(home, 'config.json');
  const reconnect = { maxAttempts: 1000, initialDelayMs: 20, maxDelayMs: 50 };
  write(config, { mcpServers: { one: fixture }, mcpBridge: { reconnect } });
  const environment = { PATH: process.env.PATH, HOME: home, MCP_BRIDGE_SOCKET: join(home, 'b.sock') };
  const startLock = join(home, '.local/state/mcp-bridge', `start-${join(home, 'b.sock').replaceAll('/', '_')}.lock`);
  const command = (...args: string[]) => runCommand(args, { env: environment, cwd: home });
  expect(await command('start', '--config', config)).toMatchObject({ code: 0 });
  const pid = async (): Promise<number> =>
    (JSON.parse((await command('status', '--json')).stdout) as { pid: number }).pid;
  const before = await pid();
  const connect = spawn(process.execPath, [program, 'connect', '--config', config, '--view', 'server:one'], {
    ...{ cwd: home, env: environment, stdio: ['pipe', 'pipe', 'inherit'] },
  });
  const ended = once(connect, 'exit');
  try {
    const client = new RawClient(connect.stdout, connect.stdin);
    await client.initialize();
    expect(textOf(await client.callTool(1, 'echo', { text: 'before' }))).toBe('before');
    renameSync(installed, away);
    process.kill(before, 'SIGKILL');
    await untilGone(before);
    client.send({
      ...{ jsonrpc: '2.0', id: 2, method: 'tools/call' },
      params: { name: 'echo', arguments: { text: 'asked while it was away' } },
    });
    // Whoever wants to start a daemon takes this lock, and then finds no program.
    for (let attempt = 0; attempt < 2; attempt++) {
      rmSync(startLock, { force: true });
      while (!existsSync(startLock)) await passTime(5);
    }
    expect([connect.exitCode, connect.signalCode]).toEqual([null, null]);
    renameSync(away, installed);
    expect(textOf(await client.answerTo(2))).toBe('asked while it was away');
    expect(textOf(await client.callTool(3, 'echo', { text: 'after' }))).toBe('after');
    expect(await pid()).not.toBe(before);
    client.end();
    expect((await ended)[0]).toBe(0);
  } finally {
    connect.kill();
    await command('stop');
  }
});
