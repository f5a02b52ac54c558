// The screen of `top`: what keys do to it, and that it fits into its window whatever is in it.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TopList } from '../../../../src/cli/render/top-lists.ts';
import { type TopContent, TopScreen } from '../../../../src/cli/render/top-screen.ts';
import { runs } from '../../../support/runs.ts';

const SIZE = { columns: 80, rows: 24 };
const UP = '\u001b[A';
const DOWN = '\u001b[B';
const PAGE_DOWN = '\u001b[6~';
const ESCAPE = '\u001b';

function listOf(rows: readonly (readonly [string, number])[]): TopList {
  return {
    columns: [
      { title: 'NAME' },
      ...[1, 2, 3].map((i) => ({ title: `C${i}`, width: 5 })),
      { title: 'COUNT', width: 7, isNumber: true },
    ],
    rows: rows.map(([name, count]) => [
      { text: name, by: name },
      ...[1, 2, 3].map(() => ({ text: 'x', by: 'x' })),
      { text: String(count), by: count },
    ]),
  };
}

const contentOf = (rows: readonly (readonly [string, number])[], more: Partial<TopContent> = {}): TopContent => ({
  head: 'mcp-bridge',
  notes: { servers: String(rows.length), clients: '0', calls: '' },
  lists: { servers: listOf(rows), clients: listOf([]), calls: listOf([['call', 1]]) },
  warning: '',
  ...more,
});

const many = Array.from({ length: 100 }, (_, i) => [`server ${String(i).padStart(3, '0')}`, i] as const);
/** The names in the window. */
const namesIn = (lines: readonly string[]): string[] =>
  lines.slice(4, -1).flatMap((line) => /^(?:server \d+|[a-z]+)(?= )/.exec(line)?.[0] ?? []);

function screenAfter(content: TopContent, ...keys: string[]): string[] {
  const screen = new TopScreen();
  screen.lines(content, SIZE);
  for (const key of keys) expect([key, screen.press(key)]).toEqual([key, true]);
  return screen.lines(content, SIZE);
}

test('the busiest rows come first, and the last line explains the keys', () => {
  const lines = screenAfter(
    contentOf([
      ['idle', 0],
      ['busy', 9],
    ]),
  );
  expect(namesIn(lines)).toEqual(['busy', 'idle']);
  expect(lines[1]).toBe('[servers 2]  clients 0   calls ');
  expect(lines[3]).toContain('COUNT▼');
  expect(lines).toHaveLength(24);
  expect(lines.at(-1)).toContain('q ends');
});

describe('keys', () => {
  test('Tab goes from list to list, and a number to one', () => {
    const content = contentOf(many);
    expect(screenAfter(content, '\t')[1]).toContain('[clients 0]');
    expect(screenAfter(content, '\t', '\t')[1]).toContain('[calls]');
    expect(screenAfter(content, '\t', '\t', '\t')[1]).toContain('[servers 100]');
    expect(screenAfter(content, '\u001b[Z')[1]).toContain('[calls]');
    expect(screenAfter(content, '2')[1]).toContain('[clients 0]');
  });

  test('s sorts by the next column, r the other way', () => {
    const content = contentOf([
      ['b', 1],
      ['a', 2],
      ['c', 3],
    ]);
    expect(namesIn(screenAfter(content, 's'))).toEqual(['a', 'b', 'c']);
    expect(namesIn(screenAfter(content, 's', 'r'))).toEqual(['c', 'b', 'a']);
    expect(namesIn(screenAfter(content, 's', 'S'))).toEqual(['c', 'a', 'b']);
    expect(namesIn(screenAfter(content, 'r'))).toEqual(['b', 'a', 'c']);
  });

  test('arrows and pages scroll, and no further than to the end', () => {
    const content = contentOf(many);
    expect(namesIn(screenAfter(content))[0]).toBe('server 099');
    expect(screenAfter(content).at(-1)).toMatch(/ 1-19 of 100$/);
    expect(namesIn(screenAfter(content, DOWN, DOWN, UP))[0]).toBe('server 098');
    expect(namesIn(screenAfter(content, PAGE_DOWN))[0]).toBe('server 080');
    expect(namesIn(screenAfter(content, 'G')).at(-1)).toBe('server 000');
    expect(screenAfter(content, 'G', DOWN).at(-1)).toMatch(/ 82-100 of 100$/);
    expect(namesIn(screenAfter(content, 'G', 'g'))[0]).toBe('server 099');
    expect(namesIn(screenAfter(content, UP))[0]).toBe('server 099');
  });

  test('a filter is typed, shows matching rows, and is removed by Escape', () => {
    const content = contentOf(many);
    expect(namesIn(screenAfter(content, '/', '9', '9'))).toEqual(['server 099']);
    expect(screenAfter(content, '/', 'q')[1]).toContain('filter: q_');
    expect(screenAfter(content, '/', '9', '\r')[1]).toMatch(/filter: 9$/);
    expect(namesIn(screenAfter(content, '/', '9', '8', '\u007f', '9'))).toEqual(['server 099']);
    expect(namesIn(screenAfter(content, '/', '9', ESCAPE))).toHaveLength(19);
    expect(screenAfter(content, '/', 'z')[4]).toBe('Nothing has "z" in it. Esc removes the filter.');
  });

  test('other keys mean nothing, but while a filter is typed q is a letter', () => {
    const screen = new TopScreen();
    expect(['q', 'x', '\u0003'].map((key) => screen.press(key))).toEqual([false, false, false]);
    screen.press('/');
    expect(['q', '\u0003'].map((key) => screen.press(key))).toEqual([true, false]);
  });
});

test('a warning takes a line of the list', () => {
  const lines = screenAfter(contentOf(many, { warning: '! look' }));
  expect(lines).toHaveLength(24);
  expect(lines.at(-2)).toBe('! look');
  expect(namesIn(lines.slice(0, -1))).toHaveLength(18);
});

test('whatever is in it and whatever is pressed, it has as many lines as the window, and none is wider', () => {
  const key = fc.constantFrom(
    '\t',
    '1',
    '2',
    '3',
    's',
    'S',
    'r',
    '/',
    'a',
    ESCAPE,
    UP,
    DOWN,
    PAGE_DOWN,
    'G',
    'g',
    '\r',
  );
  const size = fc.record({ columns: fc.integer({ min: 40, max: 200 }), rows: fc.integer({ min: 6, max: 60 }) });
  const row = fc.tuple(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.nat());
  fc.assert(
    fc.property(fc.array(row, { maxLength: 80 }), fc.array(key, { maxLength: 30 }), size, (rows, keys, window) => {
      const screen = new TopScreen();
      const content = contentOf(rows);
      for (const one of keys) {
        screen.press(one);
        screen.lines(content, window);
      }
      const lines = screen.lines(content, window);
      expect(lines).toHaveLength(window.rows);
      for (const line of lines) expect([...line].length).toBeLessThanOrEqual(window.columns);
    }),
    { numRuns: runs(200) },
  );
});
