// Discovery on the real file system, with all that can stand where a file should.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { discoverServers, nodeDiscoveryHost } from '../../../src/discovery/index.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

function machine(files: Readonly<Record<string, string>>) {
  const home = temporaryDir();
  const write = (name: string, text: string): string => {
    const path = join(home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  };
  for (const [name, text] of Object.entries(files)) write(name, text);
  mkdirSync(join(home, 'project'), { recursive: true });
  const self = { bins: ['mcp-bridge'], packages: ['mcp-bridge'], endpoints: [] };
  const host = nodeDiscoveryHost({ platform: 'linux', homedir: home, cwd: join(home, 'project'), env: {}, self });
  return { home, write, host };
}

const ONE = (command: string): string => JSON.stringify({ mcpServers: { [command]: { command } } });

test('pipes, devices, loops, directories and large files are reported, and delay nobody', async () => {
  const { home, write, host } = machine({ '.cursor/mcp.json': ONE('good'), '.factory/mcp.json': '' });
  const at = (name: string): string => {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    return join(home, name);
  };
  execFileSync('mkfifo', [at('.kiro/settings/mcp.json')]);
  symlinkSync('/dev/zero', at('.lmstudio/mcp.json'));
  symlinkSync(join(home, '.junie/mcp/mcp.json'), at('.junie/mcp/mcp.json'));
  mkdirSync(at('.ai/mcp/mcp.json'), { recursive: true });
  truncateSync(write('.augment/settings.json', ''), 100 * 1024 * 1024);
  symlinkSync(join(home, '.cursor'), join(home, '.codeium'));
  symlinkSync('/nowhere', at('.openhands/mcp.json'));
  const { servers, diagnostics } = await discoverServers(host);
  expect(servers.map(({ name, state }) => [name, state])).toEqual([['good', 'ready']]);
  const codes = Object.fromEntries(diagnostics.map(({ path = '', code }) => [path.slice(home.length + 1), code]));
  expect(codes).toEqual({
    '.ai/mcp/mcp.json': 'not-a-file',
    '.augment/settings.json': 'too-large',
    '.factory/mcp.json': 'empty',
    '.junie/mcp/mcp.json': 'unreadable',
    '.kiro/settings/mcp.json': 'not-a-file',
    '.lmstudio/mcp.json': 'not-a-file',
  });
});

test('unreadable files are reported', async () => {
  const { write, host } = machine({ '.cursor/mcp.json': ONE('good') });
  const path = write('.kiro/settings/mcp.json', ONE('hidden'));
  // As the system says it to whoever is not root.
  const denied = Object.assign(new Error('permission denied'), { code: 'EACCES' });
  const read = (name: string) => (name === path ? Promise.reject(denied) : host.files.read(name));
  const { servers, diagnostics } = await discoverServers({ ...host, files: { ...host.files, read } });
  expect(servers.map(({ name }) => name)).toEqual(['good']);
  expect(diagnostics).toMatchObject([{ code: 'unreadable', path }]);
});

test('nothing is written, and nothing is started', async () => {
  const helper = JSON.stringify({
    mcpServers: { h: { type: 'http', url: 'http://h.example', headersHelper: 'touch x' } },
  });
  const { home, host } = machine({
    '.cursor/mcp.json': helper,
    'MCPs/a.json': ONE('a'),
    'project/.mcp.json': ONE('p'),
  });
  const snapshot = (): string[][] =>
    readdirSync(home, { recursive: true, withFileTypes: true }).map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return entry.isFile() ? [path, readFileSync(path, 'utf8')] : [path];
    });
  const before = snapshot();
  await discoverServers(host);
  expect(snapshot()).toEqual(before);
});

test('a file that is half written is read once more', async () => {
  const { write, host } = machine({ '.cursor/mcp.json': '{"mcpServers":{' });
  const pauses: number[] = [];
  const pause = async (delayMs: number): Promise<void> => {
    pauses.push(delayMs);
    write('.cursor/mcp.json', ONE('whole'));
  };
  const { servers, diagnostics } = await discoverServers(host, { pause });
  expect(servers).toMatchObject([{ name: 'whole', state: 'ready' }]);
  expect(diagnostics).toEqual([]);
  expect(pauses).toEqual([200]);
});
