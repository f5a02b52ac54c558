// The package as others get it: packed, installed without a script, typed, and started on each line of Node.

import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { installGlobally, newestNodeTypes, nodeOf, type Packed, pack } from '../support/installed-package.ts';
import { ROOT, tempDir } from '../support/test-daemon.ts';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let packed: Packed;
let prefix: string;
let installed: string;

beforeAll(async () => {
  const dir = tempDir();
  packed = await pack(dir);
  prefix = join(dir, 'prefix');
  installed = await installGlobally(packed.file, prefix);
});

function run(command: string, args: string[], options: { cwd?: string; env?: object; input?: string } = {}) {
  return new Promise<Ended>((resolve) => {
    const env = { ...process.env, ...options.env };
    const child = execFile(command, args, { cwd: options.cwd ?? ROOT, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
    );
    child.stdin?.on('error', () => undefined).end(options.input ?? '');
  });
}

/** The installed command by its name, for somebody whose first `node` is this one. */
function user(nodeDir: string) {
  const home = tempDir();
  const path = [join(prefix, 'bin'), nodeDir, process.env.PATH].join(delimiter);
  const env = { PATH: path, HOME: home, MCP_BRIDGE_SOCKET: join(home, 'b.sock') };
  return (args: string[], input = '') => run('mcp-bridge', args, { cwd: home, env, input });
}

const bin = (name: string) => join(ROOT, 'node_modules/.bin', name);

describe('the package', () => {
  test('holds everything needed, and nothing of the build or the tests', () => {
    const kept =
      /^(?:dist|config|docs|man)\/|^(?:package\.json|README\.md|LICENSE|CHANGELOG\.md|CONTRIBUTING\.md|SECURITY\.md)$/;
    expect(packed.files.filter(({ path }) => !kept.test(path))).toEqual([]);
    for (const path of ['dist/mcp-bridge.cjs', 'dist/types/client/index.d.ts', 'config/mcp-bridge.schema.json'])
      expect(packed.files.map((file) => file.path)).toContain(path);
  });

  test('is as small as its page says', () => {
    const page = readFileSync(join(ROOT, 'docs/dependencies.md'), 'utf8');
    const [, most, mostUnpacked, mostInstalled] =
      /at most (\d+) kB to fetch, ([\d.]+) MB\s+unpacked and (\d+) MB with all that it needs/.exec(page) ?? [];
    expect(packed.bytes).toBeLessThan(Number(most) * 1e3);
    expect(packed.unpackedBytes).toBeLessThan(Number(mostUnpacked) * 1e6);
    expect(bytesBelow(installed)).toBeLessThan(Number(mostInstalled) * 1e6);
  });

  test.each([
    ['publint', () => ['run', packed.file, '--strict']],
    // `require` of a module is what Node 20.19 and newer do; the oldest way to resolve knows no exports.
    ['attw', () => [packed.file, '--profile', 'esm-only', '--no-definitely-typed', '--no-color']],
  ])('%s finds nothing wrong with it', async (linter, args) => {
    const { code, stdout, stderr } = await run(bin(linter), args());
    expect(code, `${stdout}${stderr}`).toBe(0);
  });
});

describe('the installed package', () => {
  test('has no script that would have to run', () => {
    const hooks = ['preinstall', 'install', 'postinstall'];
    const withScripts = readdirSync(installed, { recursive: true, encoding: 'utf8' })
      .filter((path) => /(?:^|node_modules\/(?:@[^/]+\/)?[^/]+\/)(?:package\.json|binding\.gyp)$/.test(path))
      .filter((path) => path.endsWith('.gyp') || hooks.some((hook) => scriptsOf(join(installed, path))[hook]));
    expect(withScripts).toEqual([]);
  });

  test('says how each command is used', async () => {
    const mcpBridge = user(dirname(process.execPath));
    const { stdout } = await mcpBridge(['--help']);
    const commands = [...stdout.matchAll(/^ {2}([a-z]+) {2}/gm)].map(([, command]) => command as string);
    expect(commands).toEqual(expect.arrayContaining(['serve', 'connect', 'doctor']));
    for (const command of commands) {
      const help = await mcpBridge([command, '--help']);
      expect(help, command).toMatchObject({ code: 0, stderr: '' });
      expect(help.stdout).toContain(`mcp-bridge ${command}`);
    }
  });

  // What four compilers would have: a busy machine is slow to compile.
  test('has types for all that it exports, right to the last, however they are resolved', {
    timeout: 480_000,
  }, async () => {
    const [oldest, newest] = [join(ROOT, 'node_modules/@types'), await newestNodeTypes()];
    const dir = tempDir();
    const consumers = [
      consumerIn(join(dir, 'nodenext-oldest-node'), 'nodenext', oldest),
      consumerIn(join(dir, 'nodenext-newest-node'), 'nodenext', newest),
      consumerIn(join(dir, 'node16-newest-node'), 'node16', newest),
      consumerIn(join(dir, 'bundler-newest-node'), 'bundler', newest),
    ];
    // One process for all costs a third less than one for each.
    const { code, stdout } = await run(bin('tsc'), ['-b', ...consumers], { cwd: dir });
    expect(stdout).toBe('');
    expect(code).toBe(0);
  });

  test('can be imported, and required', async () => {
    const dir = tempDir();
    mkdirSync(join(dir, 'node_modules'));
    symlinkSync(installed, join(dir, 'node_modules/mcp-bridge'));
    const names = ['client', 'discovery', 'registry'];
    const imported = names.map((name) => `await import('mcp-bridge/${name}')`).join();
    const required = names.map((name) => `require('mcp-bridge/${name}')`).join();
    const show = (list: string) => `console.log([${list}].map((m) => Object.keys(m).sort().join()).join(';'))`;
    const asModule = await run(process.execPath, ['--input-type=module', '-e', show(imported)], { cwd: dir });
    const asScript = await run(process.execPath, ['--no-warnings', '-e', show(required)], { cwd: dir });
    expect(asModule.stdout).toContain('connectToBridge');
    expect(asScript.stdout).toBe(asModule.stdout);
  });
});

describe.each(['this', 22, 24] as const)('Node: %s', (line) => {
  test('serves, connects, calls and stops', async () => {
    const nodeDir = line === 'this' ? dirname(process.execPath) : await nodeOf(line);
    if (line !== 'this') expect((await run(join(nodeDir, 'node'), ['-v'])).stdout).toMatch(`v${line}.`);
    const mcpBridge = user(nodeDir);
    const served = mcpBridge(['serve']);
    // A relay that comes too early would start a daemon of its own.
    while ((await mcpBridge(['status'])).code !== 0);
    const first = await mcpBridge(['connect', '--server', 'example'], CONVERSATION);
    expect(first.stderr).toBe('');
    expect(first.stdout).toContain('"id":2');
    // Shared with the client before, so it is the second visitor.
    expect(await mcpBridge(['call', 'example', 'visitors'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('2'),
    });
    expect((await mcpBridge(['search', 'add', 'numbers'])).stdout).toContain('example');
    expect((await mcpBridge(['status'])).stdout).toContain('example');
    expect(await mcpBridge(['stop'])).toMatchObject({ code: 0 });
    const { code, stderr } = await served;
    expect(stderr).toContain('listening on');
    expect(code).toBe(0);
    // Nobody serves now: the relay starts a daemon by itself.
    expect((await mcpBridge(['connect', '--server', 'example'], CONVERSATION)).stdout).toContain('"id":2');
    expect(await mcpBridge(['stop'])).toMatchObject({ code: 0 });
  });
});

const CONVERSATION = `${[
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}',
  '{"jsonrpc":"2.0","method":"notifications/initialized"}',
  '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"visitors"}}',
].join('\n')}\n`;

/** Uses what each entry exports; where a type is wrong or missing it does not compile. */
const CONSUMER = `
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { type BridgeError, BridgeServerTransport, BridgeTransport, connectToBridge, messageTo } from 'mcp-bridge/client';
import { type Discovery, discoverServers, nodeDiscoveryHost } from 'mcp-bridge/discovery';
import { listServers, registerServer } from 'mcp-bridge/registry';

const transport = new BridgeTransport({ clientId: 'me', view: 'all' });
transport.on('lost', ({ reason }) => reason.toUpperCase());
export const client = await connectToBridge({ name: 'me', version: '1' });
const { tools } = await client.listTools();
export const names: string[] = tools.map(({ name }) => name);
export const code = (error: BridgeError): string => error.code;
await new Client({ name: 'me', version: '1' }).connect(transport);
const server = new McpServer({ name: 'ide', version: '1' });
await server.connect(new BridgeServerTransport({ name: 'ide' }));
await server.server.connect(new BridgeServerTransport({ name: 'ide' }));
messageTo('reviewer', 'review/start', { branch: 'main' });
const { platform, env } = process;
const self = { bins: [], packages: [], endpoints: [] };
const found: Discovery = await discoverServers(nodeDiscoveryHost({ platform, homedir: '/', cwd: '/', env, self }));
export const ids: string[] = found.servers.map(({ id }) => id);
export const { id } = await registerServer({ name: 'notes', url: 'http://localhost:1/mcp' });
export const pids: number[] = (await listServers()).servers.map(({ pid }) => pid);
// @ts-expect-error a view is a text
new BridgeTransport({ view: 5 });
// @ts-expect-error there is no such option
await listServers({ nowhere: true });
`;

/** Makes a project that uses all that the package exports; its directory. */
function consumerIn(dir: string, moduleResolution: string, nodeTypes: string): string {
  mkdirSync(join(dir, 'node_modules'), { recursive: true });
  symlinkSync(installed, join(dir, 'node_modules/mcp-bridge'));
  symlinkSync(join(installed, 'node_modules/@modelcontextprotocol'), join(dir, 'node_modules/@modelcontextprotocol'));
  writeFileSync(join(dir, 'consumer.mts'), CONSUMER);
  const compilerOptions = {
    module: moduleResolution === 'bundler' ? 'esnext' : moduleResolution,
    moduleResolution,
    target: 'es2022',
    lib: ['es2022', 'dom'], // the SDK's types name some of a browser's
    types: ['node'],
    typeRoots: [nodeTypes],
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    skipDefaultLibCheck: true, // what TypeScript brings with it is not ours
  };
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.mts'] }));
  return dir;
}

function scriptsOf(file: string): Record<string, string> {
  if (!file.endsWith('package.json')) return {};
  return (JSON.parse(readFileSync(file, 'utf8')) as { scripts?: Record<string, string> }).scripts ?? {};
}

function bytesBelow(dir: string): number {
  let bytes = 0;
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).size;
  return bytes;
}
