// Servers that run and say so in a registry, the daemon that takes them in, and the commands about them.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { listServers, registerServer } from '../../src/registry/index.ts';
import { runCommand } from '../support/command.ts';
import { type RawClient, textOf } from '../support/raw-client.ts';
import { temporaryDir } from '../support/temporary-dir.ts';
import { fixtureServer, PROGRAM, ROOT, TestDaemon, untilGone } from '../support/test-daemon.ts';

const ALL = { 'mcp-bridge/view': 'all' };

class Home {
  readonly dir = realpathSync(temporaryDir());
  readonly project = join(this.dir, 'project');
  readonly registry = join(this.dir, '.state/mcp-bridge/mcp_servers.json');
  readonly env = {
    HOME: this.dir,
    XDG_CONFIG_HOME: join(this.dir, '.config'),
    XDG_STATE_HOME: join(this.dir, '.state'),
    MCP_BRIDGE_SOCKET: join(this.dir, 'b.sock'),
  };

  constructor() {
    mkdirSync(this.project);
  }

  run(args: readonly string[], cwd = this.dir) {
    return runCommand(args, { env: this.env, cwd });
  }

  daemon(config?: object): Promise<TestDaemon> {
    return TestDaemon.start(config, { dir: this.dir, env: this.env });
  }

  async listed(): Promise<string[]> {
    const { servers } = await listServers({ files: [this.registry], cwd: '/nowhere' });
    return servers.filter(({ file }) => file === this.registry).map(({ name }) => name);
  }
}

interface RunningServer {
  readonly url: string;
  readonly child: ChildProcess & { readonly pid: number };
  end(): Promise<void>;
}

async function httpServer(): Promise<RunningServer> {
  const file = join(ROOT, 'test/fixtures/servers/http-server.mjs');
  const child = spawn(process.execPath, [file, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    url: `http://127.0.0.1:${Number(port.toString())}/mcp`,
    child: child as RunningServer['child'],
    end: async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

async function toolsOf(client: RawClient, id: unknown): Promise<string[]> {
  const { result } = await client.request(id, 'tools/list');
  return [...new Set(((result?.tools ?? []) as { name: string }[]).map(({ name }) => name.split('__')[0] ?? ''))];
}

async function untilServed(client: RawClient, names: readonly string[]): Promise<void> {
  for (let n = 0; ; n++) {
    const found = await toolsOf(client, `look ${n}`);
    if (JSON.stringify(found) === JSON.stringify(names)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('a daemon is in the registry of its user for as long as it runs', async () => {
  const home = new Home();
  const daemon = await home.daemon();
  while (!(await home.listed()).includes('mcp-bridge')) await new Promise((resolve) => setTimeout(resolve, 5));
  const { stdout } = await home.run(['servers', '--running', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({
    servers: [{ name: 'mcp-bridge', pid: daemon.pid, socket: daemon.path, url: null, scope: 'user' }],
    warnings: [],
  });
  const discovered = await home.run(['discover', '--all', '--json']);
  const { servers } = JSON.parse(discovered.stdout) as { servers: { name: string; state: string }[] };
  expect(servers.map(({ name, state }) => [name, state])).toEqual([['mcp-bridge', 'self']]);
  daemon.kill('SIGTERM');
  await daemon.exited;
  expect(await home.listed()).toEqual([]);
  const next = await home.daemon();
  while (!(await home.listed()).includes('mcp-bridge')) await new Promise((resolve) => setTimeout(resolve, 5));
  next.kill('SIGKILL');
  await next.exited;
  expect(await home.listed()).toEqual([]);
  expect((await home.run(['servers', '--running'])).stdout).toBe('No server is registered that runs\n');
});

test('a registry that cannot be used stops no daemon', async () => {
  const home = new Home();
  mkdirSync(join(home.dir, '.state/mcp-bridge'), { recursive: true, mode: 0o700 });
  writeFileSync(home.registry, '{"version": "9.0", "servers": {}}');
  const daemon = await home.daemon();
  await daemon.client();
  await daemon.untilLogged('which a newer program has written');
  await daemon.stop();
});

test('a server that is announced is served, and goes with its process', async () => {
  const home = new Home();
  const daemon = await home.daemon({ mcpServers: {} });
  const client = await daemon.client(ALL);
  const server = await httpServer();
  const { code, stdout } = await home.run(['announce', 'web', '--url', server.url, '--pid', `${server.child.pid}`]);
  expect([code, stdout]).toEqual([
    0,
    `web_${server.child.pid} is in ${home.registry} until process ${server.child.pid} ends\n`,
  ]);
  await untilServed(client, ['web']);
  const named = await daemon.client({ 'mcp-bridge/view': 'server:web' });
  expect(textOf(await named.callTool(1, 'echo', { text: 'hi' }))).toBe('hi');
  await server.end();
  await untilServed(client, []);
  await daemon.stop();
});

test('a server that a project registers is contacted only after approval', async () => {
  const home = new Home();
  const server = await httpServer();
  const info = { name: 'theirs', url: server.url, pid: server.child.pid };
  expect((await registerServer(info, { cwd: home.project })).warnings).toEqual([]);
  const daemon = await home.daemon();
  const meta = { ...ALL, 'mcp-bridge/cwd': home.project };
  const client = await daemon.client(meta);
  expect(await toolsOf(client, 1)).not.toContain('theirs');
  const { code } = await home.run(['approve', 'theirs', '--yes'], home.project);
  expect(code).toBe(0);
  await untilServed(client, ['theirs']);
  await daemon.stop();
});

test('a registry of the repository around the directory is listed too', async () => {
  const home = new Home();
  mkdirSync(join(home.project, '.git'));
  mkdirSync(join(home.project, 'src'));
  const { id } = await registerServer({ name: 'here', socket: '/run/here.sock' }, { cwd: home.project });
  const { stdout } = await home.run(['servers', '--running', '--json'], join(home.project, 'src'));
  expect(JSON.parse(stdout)).toMatchObject({ servers: [{ id, scope: 'project', socket: '/run/here.sock' }] });
});

test('a registry that the config names is followed', async () => {
  const home = new Home();
  const file = join(home.dir, 'elsewhere/mcp_servers.json');
  const daemon = await home.daemon({ mcpServers: {}, discovery: { registries: [file] } });
  const client = await daemon.client(ALL);
  const server = await httpServer();
  await registerServer({ name: 'other', url: server.url, pid: server.child.pid }, { file });
  await untilServed(client, ['other']);
  const { stdout } = await home.run(['servers', '--running', '--config', join(home.dir, 'config.json')]);
  expect(stdout).toMatch(
    new RegExp(`^other +${server.child.pid} +${server.url} .* ~/elsewhere/mcp_servers.json$`, 'm'),
  );
  await daemon.stop();
});

test('without a pid, announce stands for the server until it is ended', async () => {
  const home = new Home();
  const args = [PROGRAM, 'announce', 'web', '--url', 'http://localhost:3000/mcp'];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...home.env },
    cwd: home.dir,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [said] = (await once(child.stdout, 'data')) as [Buffer];
  expect(said.toString()).toBe(`web_${child.pid} is in ${home.registry} until this command ends (Ctrl-C)\n`);
  expect(await home.listed()).toEqual(['web']);
  child.kill('SIGTERM');
  expect((await once(child, 'exit'))[0]).toBe(0);
  expect(await home.listed()).toEqual([]);
  await untilGone(child.pid as number);
});

test('announce warns if nobody listens, and registers anyway', async () => {
  const home = new Home();
  const server = await httpServer();
  const announce = (url: string) => home.run(['announce', 'web', '--url', url, '--pid', `${process.pid}`]);
  expect(await announce(server.url)).toMatchObject({ code: 0, stderr: '' });
  await server.end();
  expect(await announce(server.url)).toMatchObject({
    code: 0,
    stdout: `web_${process.pid} is in ${home.registry} until process ${process.pid} ends\n`,
    stderr: `mcp-bridge: Nothing can be reached at ${new URL(server.url).host} yet (ECONNREFUSED). It is registered all the same\n`,
  });
  expect(await home.listed()).toEqual(['web']);
});

test('announce says if a name is defined already, and where', async () => {
  const home = new Home();
  const config = join(home.dir, '.config/mcp-bridge/config.json');
  mkdirSync(join(home.dir, '.config/mcp-bridge'), { recursive: true });
  writeFileSync(config, JSON.stringify({ mcpServers: { web: fixtureServer() } }));
  const server = await httpServer();
  const { code, stderr } = await home.run(['announce', 'web', '--url', server.url, '--pid', `${process.pid}`]);
  expect([code, stderr]).toEqual([
    0,
    `mcp-bridge: web is shadowed, and not used: bridge:web in ${config} comes first. Announce it under another name\n`,
  ]);
  await server.end();
});

test('announce takes no process for a server that has ended', async () => {
  const home = new Home();
  const child = spawn(process.execPath, ['-e', '']);
  await once(child, 'exit');
  const result = await home.run(['announce', 'web', '--url', 'http://localhost:3000', '--pid', `${child.pid}`]);
  expect(result).toMatchObject({ code: 1, stdout: '' });
  expect(result.stderr).toContain(`There is no process ${child.pid}. Start the server first`);
  expect(await home.listed()).toEqual([]);
});

test('another program gets the list of running servers over the control socket', async () => {
  const home = new Home();
  const daemon = await home.daemon();
  const [mine, theirs] = [{ url: 'ws://localhost:4000/' }, { url: 'http://localhost:4001/mcp' }];
  await registerServer({ name: 'mine', ...mine, capabilities: ['notes'], requestCount: 3 }, { file: home.registry });
  await registerServer({ name: 'theirs', ...theirs }, { cwd: home.project });
  const control = await daemon.client({ 'mcp-bridge/role': 'control' });
  const listed = async (id: number, params: object) => {
    const { result } = await control.request(id, 'bridge/running', params);
    const servers = (result as unknown as { servers: { name: string }[] }).servers;
    return servers.filter(({ name }) => name !== 'mcp-bridge');
  };
  const pid = process.pid;
  expect(await listed(1, {})).toMatchObject([
    { name: 'mine', pid, ...mine, scope: 'user', capabilities: ['notes'], requestCount: 3 },
  ]);
  expect(await listed(2, { cwd: home.project })).toMatchObject([
    { name: 'theirs', pid, ...theirs, scope: 'project' },
    { name: 'mine' },
  ]);
  control.destroy();
  await daemon.stop();
});

test.each([
  [['announce', 'web'], 2, 'Say where the server is'],
  [['announce'], 2, 'Name a server: mcp-bridge announce NAME --url URL'],
  [['announce', 'web', '--url', 'here'], 2, 'here is no URL'],
  [['announce', 'web', '--url', 'ftp://localhost'], 2, 'is no URL of a server'],
  [['announce', 'web', '--url', 'http://localhost', '--pid', '0'], 2, '0 is no pid'],
  [['announce', 'web', '--url', 'http://localhost', '--pid', '2147483647'], 1, 'There is no process 2147483647'],
  [['service'], 2, 'Name what to do: mcp-bridge service install|uninstall|status'],
  [['service', 'reinstall'], 2, 'reinstall is none of install, uninstall, status'],
])('%j ends with %i: %s', async (args, code, words) => {
  const home = new Home();
  const result = await home.run(args);
  expect([result.code, result.stdout]).toEqual([code, '']);
  expect(result.stderr).toContain(words);
});
