// What a project may bring, so that nobody has to wait for its files to be read.

import { expect, test } from 'vitest';
import { discoverServers } from '../../../src/discovery/index.ts';
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

test('keys of YAML that are no texts are refused, and many keys take no longer than others', async () => {
  const nested = `mcpServers: ${'{'.repeat(60)}a: 1${'}: 1'.repeat(59)}}`;
  const many = Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join('\n');
  const before = performance.now();
  const { diagnostics } = await discover({
    '/home/u/p/.continue/mcpServers/nested.yaml': nested,
    '/home/u/p/.continue/mcpServers/many.yaml': `${many}\nk7: 2`,
  });
  expect(performance.now() - before).toBeLessThan(3000);
  expect(diagnostics.map(({ code }) => code).sort()).toEqual(['duplicate-key', 'parse']);
});

test('a file of variables is read in time that grows with its length', async () => {
  const before = performance.now();
  const { servers } = await discover({
    '/home/u/p/.vscode/mcp.json': '{"servers": {"s": {"command": "c", "envFile": ".env"}}}',
    '/home/u/p/.env': `A=x${' '.repeat(200_000)}y\nB="q" # r\nC=1 # s`,
  });
  expect(performance.now() - before).toBeLessThan(2000);
  expect(servers[0]?.env).toMatchObject({ B: 'q', C: '1' });
});
