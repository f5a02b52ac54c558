// What a project may bring, so that nobody has to wait for its files to be read.

import { expect, test } from 'vitest';
import { discoverServers } from '../../../src/discovery/index.ts';
import { maskedScript } from '../../../src/discovery/masked-text.ts';
import { expectProportionalWork } from '../../support/growth.ts';
import { memoryHost } from '../../support/memory-host.ts';

function discover(files: Readonly<Record<string, string>>) {
  const texts = Object.fromEntries(Object.entries(files).map(([path, text]) => [path, { text }]));
  return discoverServers(memoryHost({ platform: 'linux', homedir: '/home/u', cwd: '/home/u/p', files: texts }));
}

const padded = (bytes: number): string => `{"mcpServers": {"s": {"command": "c"}}}${' '.repeat(bytes)}`;

test('a file of a project may have 256 KB, one of its user 5 MB', async () => {
  const { servers, diagnostics } = await discover({
    '/home/u/p/.cursor/mcp.json': padded(256 * 1024),
    '/home/u/.cursor/mcp.json': padded(300 * 1024),
    '/home/u/p/.env': 'A=1',
  });
  expect(servers.map(({ file, state }) => [file, state])).toEqual([['/home/u/.cursor/mcp.json', 'ready']]);
  expect(diagnostics).toMatchObject([{ code: 'too-large', path: '/home/u/p/.cursor/mcp.json' }]);
  expect(diagnostics[0]?.message).toContain('larger than 256 KB');
});

test('a directory of a project may have 50 files, and is told to have more', async () => {
  const names = Array.from({ length: 60 }, (_, i) => `f${100 + i}`);
  const files = names.map((name) => [
    `/home/u/p/.continue/mcpServers/${name}.yaml`,
    `mcpServers: {${name}: {command: c}}`,
  ]);
  const { servers, diagnostics } = await discover(Object.fromEntries(files));
  expect(servers.length).toBe(50);
  expect(diagnostics).toMatchObject([{ code: 'too-large', path: '/home/u/p/.continue/mcpServers' }]);
});

test('a project may have 1000 definitions', async () => {
  const many = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`s${i}`, { command: `c${i}` }]));
  const { servers, diagnostics } = await discover({ '/home/u/p/.mcp.json': JSON.stringify({ mcpServers: many }) });
  expect(servers.length).toBe(1000);
  expect(diagnostics.filter(({ code }) => code === 'too-large').length).toBe(1);
});

test('between two files, whoever else has something to do has a turn', async () => {
  let turns = 0;
  const timer = setInterval(() => turns++, 0);
  const slow = `mcpServers:\n${Array.from({ length: 2000 }, (_, i) => `  s${i}: {command: c}\n`).join('')}`;
  const files = Array.from({ length: 8 }, (_, i) => [`/home/u/p/.continue/mcpServers/${i}.yaml`, slow]);
  await discover(Object.fromEntries(files));
  clearInterval(timer);
  expect(turns).toBeGreaterThanOrEqual(6);
});

test('keys of YAML that are no texts are refused, and so are keys that stand twice', async () => {
  const nested = `mcpServers: ${'{'.repeat(60)}a: 1${'}: 1'.repeat(59)}}`;
  const { diagnostics } = await discover({
    '/home/u/p/.continue/mcpServers/nested.yaml': nested,
    '/home/u/p/.continue/mcpServers/many.yaml': `${manyKeys(20_000)}\nk7: 2`,
  });
  expect(diagnostics.map(({ code }) => code).sort()).toEqual(['duplicate-key', 'parse']);
});

test('many keys of YAML are read in time that grows with their number', async () => {
  await expectProportionalWork(16_000, (size) =>
    discover({ '/home/u/p/.continue/mcpServers/many.yaml': manyKeys(size) }),
  );
});

const manyKeys = (count: number): string => Array.from({ length: count }, (_, i) => `k${i}: 1`).join('\n');

test('a file of variables is read to its end, whatever it holds', async () => {
  const { servers } = await discover(withVariables(`A=x${' '.repeat(200_000)}y\nB="q" # r\nC=1 # s`));
  expect(servers[0]?.env).toMatchObject({ B: 'q', C: '1' });
});

test('a file of variables is read in time that grows with its length', async () => {
  await expectProportionalWork(40_000, (size) => discover(withVariables(`A=x${' '.repeat(size)}y`)));
});

const withVariables = (text: string): Record<string, string> => ({
  '/home/u/p/.vscode/mcp.json': '{"servers": {"s": {"command": "c", "envFile": ".env"}}}',
  '/home/u/p/.env': text,
});

test('a server has a name of at most 256 characters', async () => {
  const [longest, tooLong] = ['n'.repeat(256), 'n'.repeat(100_000)];
  const { servers, diagnostics } = await discover({
    '/home/u/.cursor/mcp.json': JSON.stringify({
      mcpServers: { [longest]: { command: 'c' }, [tooLong]: { command: 'd' } },
    }),
  });
  expect(servers.map(({ name }) => name)).toEqual([longest]);
  expect(diagnostics).toMatchObject([{ code: 'invalid-entry', message: expect.stringContaining('more than 256') }]);
  expect(JSON.stringify(diagnostics).length).toBeLessThan(1500);
});

test('aliases that make a small YAML file large are refused, at little cost', async () => {
  const levels = Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`);
  const { servers, diagnostics } = await discover({
    '/home/u/p/.continue/mcpServers/laughs.yaml': `a0: &a0 [x]\n${levels.join('\n')}\nmcpServers: *a30\n`,
    '/home/u/p/.continue/mcpServers/fine.yaml': 'mcpServers: {fine: {command: c}}',
  });
  expect(servers.map(({ name }) => name)).toEqual(['fine']);
  expect(diagnostics).toMatchObject([{ code: 'parse' }]);
});

test('the value of a variable is filled in once, and not searched again', async () => {
  const levels = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`V${i + 1}`, `\${V${i}}`.repeat(9)]));
  const { servers } = await discoverServers(
    memoryHost({
      ...{ platform: 'linux', homedir: '/home/u', cwd: '/home/u/p', env: { V0: 'x', ...levels } },
      files: {
        '/home/u/.cursor/mcp.json': {
          text: '{"mcpServers": {"s": {"command": "c", "args": ["$ENV"]}}}'.replace('$ENV', '$' + '{env:V30}'),
        },
      },
    }),
  );
  expect(servers[0]?.args[0]?.length).toBe(9 * '$$V29}'.length);
});

test.each([
  ['json', '/home/u/p/.cursor/mcp.json', (n: number) => `{"mcpServers": ${'['.repeat(n)}${']'.repeat(n)}}`],
  [
    'json with comments',
    '/home/u/p/.cursor/mcp.json',
    (n: number) => `{/**/"mcpServers": ${'['.repeat(n)}${']'.repeat(n)}}`,
  ],
  ['toml', '/home/u/p/.codex/config.toml', (n: number) => `mcp_servers = ${'['.repeat(n)}${']'.repeat(n)}\n`],
  ['toml tables', '/home/u/p/.codex/config.toml', (n: number) => `[${'a.'.repeat(n)}a]\nx = 1\n`],
  ['yaml', '/home/u/p/.continue/mcpServers/x.yaml', (n: number) => `mcpServers: ${'['.repeat(n)}${']'.repeat(n)}\n`],
])('a file that is nested 50,000 times is refused, and hides no other: %s', async (_, path, text) => {
  const { servers, diagnostics } = await discover({
    [path]: text(50_000),
    '/home/u/.cursor/mcp.json': '{"mcpServers": {"s": {"command": "c"}}}',
  });
  expect(servers.map(({ name }) => name)).toEqual(['s']);
  expect(diagnostics.map(({ code }) => code)).toContain('parse');
});

test('a script that says env again and again is masked in time that grows with its length', async () => {
  expect(maskedScript('env '.repeat(64 * 1024)).length).toBeGreaterThan(200_000);
  await expectProportionalWork(64 * 1024, (size) => maskedScript('env '.repeat(size)));
});
