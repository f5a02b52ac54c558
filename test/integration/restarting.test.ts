// Daemons that make room for another one while clients call, and daemons that end because nobody uses them.

import { execFile } from 'node:child_process';
import { cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { setTimeout as passTime } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { RawClient, textOf } from '../support/raw-client.ts';
import { ResumingClient, type Wire, wireOverSocket } from '../support/resuming-client.ts';
import {
  fixtureServer,
  isAlive,
  PROGRAM,
  ROOT,
  TestDaemon,
  type TestStatus,
  tempDir,
  withView,
} from '../support/test-daemon.ts';

const NOTEBOOK = join(ROOT, 'test/fixtures/servers/notebook.mjs');

let dir: string;
let path: string;
let env: Record<string, string>;

beforeEach(() => {
  dir = tempDir();
  path = join(dir, 'b.sock');
  env = { MCP_BRIDGE_SOCKET: path, HOME: dir, XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir, XDG_CACHE_HOME: dir };
});
afterEach(async () => {
  await runCommand(['stop'], { env, cwd: dir });
});

const run = (...args: string[]) => runCommand(args, { env, cwd: dir });
const status = async (): Promise<TestStatus & Record<string, unknown>> =>
  JSON.parse((await run('status', '--json')).stdout) as TestStatus & Record<string, unknown>;
const writeConfig = (config: object): void =>
  writeFileSync(join(dir, 'mcp-bridge.config.json'), JSON.stringify(withView(config)));

/** Waits for a daemon, as a client does that has lost one. */
async function wireAgain(): Promise<Wire> {
  for (;;) {
    try {
      return await wireOverSocket(path);
    } catch {
      await passTime(5);
    }
  }
}

/** Runs the command of another build of this version. */
async function ofAnotherBuild(...args: string[]): Promise<void> {
  const other = join(dir, 'other');
  cpSync(dirname(PROGRAM), join(other, 'dist'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(other, 'node_modules'));
  const program = join(other, 'dist', basename(PROGRAM));
  writeFileSync(program, readFileSync(program, 'utf8').replace(/(\d+\.\d+\.\d+)\+[0-9a-f]{12}/g, '$1+before'));
  await new Promise((resolve) =>
    execFile(process.execPath, [program, ...args], { env: { ...process.env, ...env } }, resolve),
  );
}

/** A client that calls without end, and follows from one daemon to the next. */
class Caller {
  readonly client: ResumingClient;
  readonly #name: string;
  readonly #file: string;
  asked = 0;
  restarts = 0;
  isDone = false;

  constructor(client: ResumingClient, name: string, file: string) {
    this.client = client;
    this.#name = name;
    this.#file = file;
  }

  async run(): Promise<void> {
    while (!this.isDone || this.#open > 0) {
      await this.client.wire.settle();
      this.client.take();
      if (this.client.leaving !== undefined) await this.#follow(Number(this.client.leaving.received));
      while (!this.isDone && this.#open < 4) {
        const text = `${this.#name}/${++this.asked}`;
        this.client.call(this.asked, 'append', { file: this.#file, text });
      }
    }
  }
  get #open(): number {
    return this.asked - this.client.messages.filter(({ method }) => method === undefined).length;
  }
  async #follow(received: number): Promise<void> {
    const { client } = this;
    const unseen = client.sent.slice(received);
    await client.follow(await wireAgain());
    client.sent += unseen;
    client.wire.say(unseen);
    this.restarts++;
  }
}

/** Until the daemon that runs has let go of its socket: the next one's config has been read by then. */
async function untilSocketIsLeft(): Promise<void> {
  const mark = (): string | undefined => {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return stats && `${stats.ino} ${stats.ctimeNs}`;
  };
  for (const before = mark(); mark() === before; ) await passTime(2);
}

/** Makes room for something else in the place of a file. */
function replaced(file: string): string {
  rmSync(file);
  return file;
}

describe('restart', () => {
  test('loses no call of clients that can resume, and makes none twice', async () => {
    writeConfig({ mcpServers: { notebook: { command: process.execPath, args: [NOTEBOOK] } } });
    await run('start');
    const file = join(dir, 'done');
    writeFileSync(file, '');
    const callers: Caller[] = [];
    for (let n = 0; n < 20; n++)
      callers.push(new Caller(await ResumingClient.ready(await wireOverSocket(path)), `c${n}`, file));
    const running = callers.map((caller) => caller.run());
    const pids = [(await status()).pid];
    for (let restarts = 0; restarts < 2; restarts++) {
      const { code, stdout } = await run('restart');
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^mcp-bridge runs at .* \(pid \d+, pid \d+ before\)/)]);
      pids.push((await status()).pid);
      while (callers.some((caller) => caller.restarts <= restarts)) await passTime(5);
    }
    for (const caller of callers) caller.isDone = true;
    await Promise.all(running);
    expect(new Set(pids).size).toBe(3);
    const done = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    expect(done.length).toBeGreaterThan(20);
    expect(new Set(done).size).toBe(done.length);
    expect(done.sort()).toEqual(
      callers.flatMap(({ asked }, n) => Array.from({ length: asked }, (_, i) => `c${n}/${i + 1}`)).sort(),
    );
    for (const { client, asked } of callers) {
      const answers = client.messages.filter(({ method }) => method === undefined);
      expect(answers.map(({ result }) => textOf({ result } as never))).toEqual(Array(asked).fill('appended'));
      expect(new Set(answers.map(({ id }) => id)).size).toBe(asked);
      client.wire.drop();
    }
  });

  test('keeps to the config and the manner in which the daemon was started', async () => {
    const config = join(dir, 'elsewhere.json');
    writeFileSync(config, JSON.stringify({ mcpServers: { fixture: fixtureServer() } }));
    await run('start', '--config', config);
    const before = await status();
    expect((await run('restart')).code).toBe(0);
    const after = await status();
    expect(after).toMatchObject({ configFile: config, autostarted: false });
    expect(after.pid).not.toBe(before.pid);
    writeFileSync(config, '{');
    expect(await run('restart')).toMatchObject({ code: 1, stderr: expect.stringContaining('elsewhere.json') });
    expect((await status()).pid).toBe(after.pid);
  });

  test('does not go on without a named config, because its exclusions would be lost', async () => {
    const config = join(dir, 'elsewhere.json');
    writeFileSync(config, JSON.stringify({ mcpServers: { fixture: fixtureServer() } }));
    await run('start', '--config', 'elsewhere.json');
    const before = await status();
    expect(before).toMatchObject({ configFile: config, configNamed: true });
    rmSync(config);
    writeConfig({ mcpServers: {} });
    expect(await run('restart')).toMatchObject({ code: 1, stderr: expect.stringContaining(`${config}, which`) });
    expect(await status()).toMatchObject({ pid: before.pid, configFile: config });
    expect(await run('restart', '--config', 'mcp-bridge.config.json')).toMatchObject({ code: 0, stderr: '' });
    expect(await status()).toMatchObject({ configFile: join(dir, 'mcp-bridge.config.json'), configNamed: true });
  });

  test.each<[string, string, (file: string) => void, string]>([
    ['is half-written', 'c.json', (file) => writeFileSync(file, '{ "mcpServers": {'), 'c.json:1:'],
    ['is a program that fails', 'c.ts', (file) => writeFileSync(file, "throw new Error('no luck');"), 'no luck'],
    ['is a program that is half-written', 'c.ts', (file) => writeFileSync(file, 'export default {'), 'c.ts failed'],
    ['cannot be read', 'c.json', (file) => symlinkSync('/', replaced(file)), 'it is a directory'],
    ['has gone', 'c.json', (file) => rmSync(file), 'c.json, which the daemon was started with, is gone'],
  ])('leaves the daemon as it is where the config %s, and says so', async (_, name, harm, said) => {
    const config = join(dir, name);
    const content = JSON.stringify({ mcpServers: { fixture: fixtureServer() } });
    writeFileSync(config, name.endsWith('ts') ? `export default ${content};` : content);
    await run('start', '--config', config);
    const { pid } = await status();
    const client = await RawClient.connect(path);
    await client.initialize({ 'mcp-bridge/view': 'server:fixture' });
    harm(config);
    expect(await run('restart')).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(said) });
    expect(textOf(await client.callTool(1, 'echo', { text: 'still there' }))).toBe('still there');
    expect((await status()).pid).toBe(pid);
    client.destroy();
  });

  test.each<[string, (file: string) => void]>([
    ['is half-written', (file) => writeFileSync(file, '{ "mcpServers": {')],
    ['has gone', (file) => rmSync(file)],
  ])('goes on with what it has read where the config %s while the last calls are answered', async (_, harm) => {
    const [first, second] = [join(dir, 'first.json'), join(dir, 'second.json')];
    writeFileSync(first, JSON.stringify({ mcpServers: { fixture: fixtureServer() } }));
    writeFileSync(second, JSON.stringify({ mcpServers: { fixture: fixtureServer(), other: fixtureServer() } }));
    await run('start', '--config', first);
    const { pid } = await status();
    const client = await RawClient.connect(path);
    await client.initialize({ 'mcp-bridge/view': 'server:fixture' });
    const held = client.callTool(1, 'slow', { ms: 2000 });
    const restarted = run('restart', '--config', second);
    await untilSocketIsLeft();
    harm(second);
    expect(textOf(await held)).toBeDefined();
    expect(await restarted).toMatchObject({ code: 0 });
    const after = await status();
    expect(after.pid).not.toBe(pid);
    expect(after).toMatchObject({ configFile: second });
    expect((await run('servers', '--no-autostart')).stdout).toMatch(/^other /m);
    client.destroy();
  });

  test('with --if-older leaves the daemon as it is where the config is half-written, and replaces it when it is whole', async () => {
    const config = join(dir, 'c.json');
    writeFileSync(config, JSON.stringify({ mcpServers: { fixture: fixtureServer() } }));
    await ofAnotherBuild('start', '--config', config);
    const before = await status();
    expect(before.build).toMatch(/\+before$/);
    const client = await RawClient.connect(path);
    await client.initialize({ 'mcp-bridge/view': 'server:fixture' });
    writeFileSync(config, '{ "mcpServers": {');
    for (const words of [['restart', '--if-older'], ['upgrade']])
      expect(await run(...words)).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('c.json:1:') });
    expect(textOf(await client.callTool(1, 'echo', { text: 'still there' }))).toBe('still there');
    expect((await status()).pid).toBe(before.pid);
    // It is whole when it is read, and half-written when the next daemon starts.
    writeFileSync(config, JSON.stringify({ mcpServers: { fixture: fixtureServer(), other: fixtureServer() } }));
    const held = client.callTool(2, 'slow', { ms: 2000 });
    const restarted = run('restart', '--if-older');
    await untilSocketIsLeft();
    writeFileSync(config, '{ "mcpServers": {');
    expect(textOf(await held)).toBeDefined();
    expect(await restarted).toMatchObject({ code: 0 });
    expect(await status()).toMatchObject({ configFile: config, build: expect.not.stringContaining('+before') });
    expect((await run('servers', '--no-autostart')).stdout).toMatch(/^other /m);
    client.destroy();
  });

  test('looks again for a config that was found, where the daemon was started: another one, none, or one that has come', async () => {
    const found = join(dir, 'mcp-bridge.config.json');
    const other = tempDir();
    const fromElsewhere = (...args: string[]) => runCommand(args, { env, cwd: other });
    writeFileSync(join(other, 'mcp-bridge.config.json'), JSON.stringify({ mcpServers: {} }));
    await run('start');
    expect(await status()).toMatchObject({ configFile: null, configNamed: false, configDir: dir });
    writeConfig({ mcpServers: { fixture: fixtureServer() } });
    expect(await fromElsewhere('restart')).toMatchObject({ code: 0, stderr: '' });
    expect(await status()).toMatchObject({ configFile: found, configNamed: false, configDir: dir });
    rmSync(found);
    writeFileSync(`${found}c`, '{ "mcpServers": {} } // the same with comments');
    expect(await fromElsewhere('restart')).toMatchObject({ code: 0, stderr: '' });
    expect(await status()).toMatchObject({ configFile: `${found}c`, configNamed: false });
    rmSync(`${found}c`);
    expect(await fromElsewhere('restart')).toMatchObject({ code: 0, stderr: '' });
    const last = await status();
    expect(last).toMatchObject({ configFile: null, configNamed: false, configDir: dir });
    writeFileSync(found, '{');
    expect(await fromElsewhere('restart')).toMatchObject({ code: 1, stderr: expect.stringContaining(found) });
    expect((await status()).pid).toBe(last.pid);
  });

  test("a daemon that a client has started looks again for its user's config, and for no directory's", async () => {
    const [project, ofUser] = [tempDir(), join(dir, 'mcp-bridge', 'config.json')];
    mkdirSync(dirname(ofUser));
    writeFileSync(ofUser, JSON.stringify({ mcpServers: {} }));
    writeFileSync(
      join(project, 'mcp-bridge.config.json'),
      JSON.stringify({ mcpServers: { fixture: fixtureServer() } }),
    );
    const inProject = (...args: string[]) => runCommand(args, { env, cwd: project });
    expect((await inProject('tools')).code).toBe(0);
    expect(await status()).toMatchObject({ autostarted: true, configFile: ofUser, configNamed: false });
    rmSync(ofUser);
    expect(await inProject('restart')).toMatchObject({ code: 0, stderr: '' });
    expect(await status()).toMatchObject({ autostarted: true, configFile: null, configNamed: false });
  });

  test('starts a daemon if none runs; upgrade does not, and keeps a daemon of its own build', async () => {
    expect(await run('upgrade')).toMatchObject({ code: 0, stdout: `No mcp-bridge runs at ${path}\n` });
    expect((await run('restart')).stdout).toContain('none ran');
    const { pid, build } = await status();
    expect(build).toMatch(/^\d+\.\d+\.\d+\+[0-9a-f]{12}$/);
    for (const same of [['upgrade'], ['restart', '--if-older']])
      expect((await run(...same)).stdout).toBe(`mcp-bridge at ${path} is of this build already: ${String(build)}\n`);
    expect((await status()).pid).toBe(pid);
    const client = await RawClient.connect(path);
    const { result } = await client.initialize({ 'mcp-bridge/role': 'control' });
    expect(result?._meta).toMatchObject({ 'mcp-bridge/build': build, 'mcp-bridge/daemon': expect.any(String) });
    client.destroy();
  });
});

test('upgrade puts a daemon of this build in the place of another one', async () => {
  await ofAnotherBuild('start');
  const before = await status();
  expect(before.build).toMatch(/\+before$/);
  const client = await ResumingClient.ready(await wireOverSocket(path));
  const { stdout } = await run('upgrade');
  const after = await status();
  expect(stdout).toBe(
    `mcp-bridge at ${path} is ${String(after.build)} now, and was ${String(before.build)} (pid ${after.pid})\n`,
  );
  expect(after.build).toMatch(/\+[0-9a-f]{12}$/);
  await client.until(() => client.leaving !== undefined);
  expect(client.leaving).toMatchObject({ reason: 'restart' });
});

test('upgrade leaves a daemon of a newer version alone', async () => {
  const other = join(dir, 'newer');
  cpSync(dirname(PROGRAM), join(other, 'dist'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(other, 'node_modules'));
  const program = join(other, 'dist', basename(PROGRAM));
  const { version, build } = JSON.parse((await run('start', '--json').then(() => run('status', '--json'))).stdout) as {
    version: string;
    build: string;
  };
  await run('stop');
  for (const file of readdirSync(dirname(program)).filter((name) => /[.][cm]?js$/.test(name))) {
    const text = readFileSync(join(other, 'dist', file), 'utf8');
    writeFileSync(join(other, 'dist', file), text.replaceAll(build, '99.0.0+after').replaceAll(version, '99.0.0'));
  }
  await new Promise((resolve) =>
    execFile(process.execPath, [program, 'start'], { env: { ...process.env, ...env } }, resolve),
  );
  const before = await status();
  expect(before).toMatchObject({ version: '99.0.0', build: '99.0.0+after' });
  expect(await run('upgrade')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      `mcp-bridge: mcp-bridge at ${path} is newer (99.0.0+after) than this program (${build}). ` +
      'Upgrade this program. To have its daemon all the same: mcp-bridge restart\n',
  });
  expect((await status()).pid).toBe(before.pid);
});

describe('a daemon that a client has started', () => {
  const started = (idleExitMs: number): Promise<TestDaemon> =>
    TestDaemon.start({ mcpServers: {}, daemon: { idleExitMs } }, { dir, args: ['--autostarted'] });

  test('ends when it was unused for a while, but not while a client uses it or may come back', async () => {
    const daemon = await started(1000);
    const [client, resuming] = [await daemon.client(), await ResumingClient.ready(await wireOverSocket(path))];
    await passTime(1300);
    client.destroy();
    resuming.drop();
    await daemon.until(({ parked }) => parked === 1);
    await passTime(1300);
    expect(isAlive(daemon.pid)).toBe(true);
    expect((await resuming.resume(await wireOverSocket(path))).error).toBeUndefined();
    resuming.say({ jsonrpc: '2.0', method: 'bridge/leave' });
    resuming.drop();
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
    expect(daemon.log).toContain('"reason":"idle"');
  });

  test('stays while a server is there that has connected by itself', async () => {
    const daemon = await started(1000);
    const server = await RawClient.connect(path);
    const meta = { 'mcp-bridge/role': 'server', 'mcp-bridge/serverName': 'ide' };
    server.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { capabilities: {}, _meta: meta } });
    expect((await server.next()).result).toBeDefined();
    await passTime(1500);
    expect(isAlive(daemon.pid)).toBe(true);
    server.destroy();
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
  });

  test('serves clients that come while it stops or is away: none is dropped without a word', async () => {
    for (let round = 0; round < 4; round++) {
      const daemon = await started(40);
      const outcomes: string[] = [];
      while (isAlive(daemon.pid) && outcomes.at(-1) !== 'absent') {
        const come = Array.from({ length: 4 }, async (_, n) => {
          await passTime(n * 3);
          return askOnce(path);
        });
        outcomes.push(...(await Promise.all(come)));
        await passTime(25 + round * 3 + (outcomes.length % 7) * 10); // now less, now more than it waits
      }
      expect(outcomes.filter((outcome) => outcome !== 'absent' && outcome !== 'answered')).toEqual([]);
      expect((await daemon.exited).code).toBe(0);
    }
  });

  test('stays for ever with daemon.idleExitMs 0, as one does that somebody has started', async () => {
    const daemon = await started(0);
    const other = await TestDaemon.start({ mcpServers: {}, daemon: { idleExitMs: 50 } });
    await passTime(500);
    expect([daemon, other].map(({ pid }) => isAlive(pid))).toEqual([true, true]);
    await Promise.all([daemon.stop(), other.stop()]);
  });

  test('is started by connect and by the commands that use tools', async () => {
    writeConfig({ mcpServers: { fixture: fixtureServer() } });
    const init = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}\n';
    expect((await runCommand(['connect', '--view', 'discover'], { env, cwd: dir, input: init })).stdout).toContain(
      '"id":1',
    );
    expect((await status()).autostarted).toBe(true);
    await run('restart');
    expect((await status()).autostarted).toBe(true);
  });
});

/** Connects, asks for one thing, and says what came of it. */
function askOnce(socketPath: string): Promise<'answered' | 'absent' | string> {
  return new Promise((resolve) => {
    const socket = connect({ path: socketPath });
    let isConnected = false;
    let text = '';
    socket.on('connect', () => {
      isConnected = true;
      socket.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    });
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (!text.includes('\n')) return;
      resolve(text.includes('"result":{}') ? 'answered' : text);
      socket.destroy();
    });
    socket.on('error', (error) => resolve(isConnected ? error.message : 'absent'));
    socket.on('close', () => resolve('dropped'));
  });
}
