// The search over lists as servers gave them: found by what they say, and put into the index without keeping others waiting.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { toolsIn } from '../../../src/meta-tools/known-tools.ts';
import { type SearchedServer, ToolFinder } from '../../../src/meta-tools/tool-finder.ts';
import { CoreInMemory } from '../../support/core-in-memory.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** Whoever asks. */
const owner = {};

function searched(names: readonly string[]): SearchedServer {
  const tools = names.map((name) => ({ name, description: 'Does it', inputSchema: { properties: { path: {} } } }));
  const pages = [{ cursor: undefined, result: Buffer.from(`${JSON.stringify({ tools })}\n`) }];
  toolsIn(pages);
  const { server } = new CoreInMemory().server();
  return { joined: { server, name: server.name, alias: server.name, gate: server.gate }, pages };
}

test('the definitions of a long list are decoded a few in each turn', async () => {
  const finder = new ToolFinder({ clock: new FakeClock() });
  await finder.find('warm', { servers: [searched(['warm'])], limit: 1, owner });
  const servers = [searched(Array.from({ length: 2000 }, (_, i) => `tool_${i}`))];
  const decode = vi.spyOn(JSON, 'parse');
  let most = 0;
  const turn = (): void => {
    most = Math.max(most, decode.mock.calls.length);
    decode.mockClear();
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  const [first] = await finder.find('tool_1234', { servers, limit: 1, owner });
  clearImmediate(next);
  decode.mockRestore();
  expect(first?.tool.name).toBe('tool_1234');
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(200);
});

test('an index that nobody has used for ten minutes is let go, and made anew when somebody searches', async () => {
  const clock = new FakeClock();
  const finder = new ToolFinder({ clock });
  const servers = [searched(['read_file', 'write_file', 'read_page'])];
  const decode = vi.spyOn(JSON, 'parse');
  /** How many definitions a search has to read, beside what it finds. */
  const readFor = async (): Promise<number> => {
    decode.mockClear();
    const found = await finder.find('read a file', { servers, limit: 1, owner });
    expect(found.map(({ tool }) => tool.name)).toEqual(['read_file']);
    return decode.mock.calls.length;
  };
  expect(await readFor()).toBeGreaterThanOrEqual(3);
  for (let n = 0; n < 3; n++) {
    clock.advance(9 * 60_000);
    expect(await readFor()).toBe(0);
  }
  clock.advance(10 * 60_000);
  expect(clock.pending).toBe(0);
  expect(await readFor()).toBeGreaterThanOrEqual(3);
  decode.mockRestore();
});

test('a search says which words of a tool stand for which of the question', async () => {
  const finder = new ToolFinder({ clock: new FakeClock() });
  const servers = [searched(['create_issue', 'list_pages', 'read_path'])];
  const { found, words } = await finder.explained('creating tickets with a pathh', { servers, limit: 3, owner });
  expect(words).toEqual([
    { word: 'creating', meant: expect.arrayContaining(['creat']) as string[] },
    { word: 'tickets', meant: ['issu'] },
    { word: 'pathh', meant: ['path'] },
  ]);
  expect(found[0]?.tool.name).toBe('create_issue');
  const weight = expect.any(Number) as number;
  expect(found[0]?.words.toSorted((a, b) => a.word.localeCompare(b.word))).toEqual([
    { word: 'creating', matched: 'create', field: 'name', weight, how: 'stem' },
    { word: 'pathh', matched: 'path', field: 'parameters', weight, how: 'typo' },
    { word: 'tickets', matched: 'issue', field: 'name', weight, how: 'synonym' },
  ]);
  const weights = found[0]?.words.map((one) => one.weight) ?? [];
  expect(weights).toEqual([...weights].sort((a, b) => b - a));
  expect(weights.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(1);
  expect(found.find(({ tool }) => tool.name === 'read_path')?.words[0]).toMatchObject({
    matched: 'path',
    field: 'name',
  });
});

test('what a server says of itself counts', async () => {
  const finder = new ToolFinder({ clock: new FakeClock() });
  const [one, two] = [searched(['search']), searched(['search'])];
  const servers = [one, { ...two, about: () => 'Everything about invoices' }];
  const { found } = await finder.explained('search invoices', { servers, limit: 2, owner });
  expect(found[0]?.words).toContainEqual(expect.objectContaining({ word: 'invoices', field: 'server' }));
});

describe('a ranker of the user', () => {
  const dir = mkdtempSync(join(tmpdir(), 'mcp-ranker-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const servers = [searched(['read_file', 'write_file', 'read_page'])];

  function rankerOf(name: string, code: string): string {
    const file = join(dir, `${name}.mjs`);
    writeFileSync(file, code);
    return file;
  }

  const LENGTH =
    'export default (question, tools) => tools.map(({ tool }) => (tool === "read_page" ? 1 : Number.NaN));';

  async function namesWith(finder: ToolFinder, query: string): Promise<string[]> {
    return (await finder.find(query, { servers, limit: undefined, owner })).map(({ tool }) => tool.name);
  }

  test('is fused with what the search finds, and what it does not like stays', async () => {
    const failed = vi.fn();
    const file = rankerOf('pages', LENGTH);
    let used: string | undefined;
    const finder = new ToolFinder({ clock: new FakeClock(), ranker: () => used, rankerFailed: failed });
    expect(await namesWith(finder, 'write a file')).toEqual(['write_file']);
    used = file;
    const fused = await namesWith(finder, 'write a file');
    expect(fused.slice(0, 2)).toEqual(['write_file', 'read_page']);
    const found = await finder.find('zebra', { servers, limit: undefined, owner });
    expect(found.map(({ tool }) => tool.name)).toEqual(['read_page']);
    expect(found.every(({ relevance }) => relevance > 0 && relevance <= 1)).toBe(true);
    expect(await namesWith(finder, 'write_file')).toContain('write_file');
    expect((await finder.explained('zebra', { servers, limit: 5, owner })).found.map(({ words }) => words)).toEqual([
      [],
    ]);
    used = undefined;
    expect(await namesWith(finder, 'zebra')).toEqual([]);
    expect(failed).not.toHaveBeenCalled();
  });

  test('is given the tools that the client sees, and the same objects each time', async () => {
    const file = rankerOf(
      'seen',
      `const seen = new WeakSet();
       export default async (question, tools) => {
         if (!tools.every((tool) => Object.isFrozen(tool) && tool.server && tool.description === 'Does it')) throw new Error('odd');
         return tools.map((tool) => {
           const isKnown = seen.has(tool);
           seen.add(tool);
           return isKnown && tool.tool === 'read_page' ? 1 : undefined;
         });
       };`,
    );
    const finder = new ToolFinder({ clock: new FakeClock(), ranker: () => file });
    expect(await namesWith(finder, 'zebra')).toEqual([]);
    expect(await namesWith(finder, 'zebra')).toEqual(['read_page']);
  });

  test.each([
    ['is not there', undefined, /Cannot find module|ENOENT|not found/i],
    ['has a fault', 'export default (', /./],
    ['has no function', 'export const rank = 1;', /no function/],
    ['throws', 'export default () => { throw new Error("no model"); };', /no model/],
    ['says too little', 'export default () => [1];', /one number for each tool/],
    ['says nothing', 'export default () => undefined;', /one number for each tool/],
    ['ends its thread', 'export default () => process.exit(3);', /ended/],
    [
      'fails later',
      'export default () => new Promise(() => setImmediate(() => { throw new Error("late"); }));',
      /late/,
    ],
  ])('that %s is told once, and the search goes on without it', async (what, code, reason) => {
    const file = code === undefined ? join(dir, 'none.mjs') : rankerOf(what.replaceAll(' ', '-'), code);
    const failed = vi.fn();
    const finder = new ToolFinder({ clock: new FakeClock(), ranker: () => file, rankerFailed: failed });
    expect(await namesWith(finder, 'write a file')).toEqual(['write_file']);
    expect(await namesWith(finder, 'write a file')).toEqual(['write_file']);
    expect(failed).toHaveBeenCalledExactlyOnceWith(file, expect.stringMatching(reason));
  });

  test('that never answers holds a search up for a second, the next ones not at all, and is ended', async () => {
    const clock = new FakeClock();
    const failed = vi.fn();
    const file = rankerOf('endless', 'export default () => { for (;;); };');
    const finder = new ToolFinder({ clock, ranker: () => file, rankerFailed: failed });
    await namesWith(new ToolFinder({ clock }), 'warm');
    const first = namesWith(finder, 'write a file');
    // The finder's own timer, the bound of the wait, and that of the answer.
    await vi.waitUntil(() => clock.pending >= 4);
    clock.advance(1000);
    expect(await first).toEqual(['write_file']);
    expect(await namesWith(finder, 'write a file')).toEqual(['write_file']);
    expect(failed).not.toHaveBeenCalled();
    clock.advance(120_000);
    expect(failed).toHaveBeenCalledExactlyOnceWith(file, expect.stringMatching(/took more than/));
  });
});
