// The help of all commands, which comes from the table, as wide as the terminal is.

import { describe, expect, test } from 'vitest';
import { COMMANDS, PAIRS } from '../../../../src/cli/command-table.ts';
import { runCommand } from '../../../../src/cli/dispatch.ts';
import { helpText } from '../../../../src/cli/render/help.ts';
import { fakeHost } from '../../../support/cli-host.ts';

async function shown(args: readonly string[], columns?: number): Promise<string> {
  const host = fakeHost('/home/me', '/home/me', columns === undefined ? undefined : { columns });
  expect(await runCommand(args, host)).toBe(0);
  return host.said();
}

const NAMES = Object.keys(COMMANDS);

test.each(NAMES)('%s has each of its options, words and examples under its help', async (name) => {
  const text = await shown([...name.split(' '), '--help']);
  const { options = {}, words = [], examples = [] } = COMMANDS[name] ?? {};
  const listed = [...text.matchAll(/^ {2,6}(?:-\w, )?--([\w-]+) {2}/gm)].map(([, option = '']) => option);
  expect(listed.filter((option) => !['help', 'no-color'].includes(option)).sort()).toEqual(Object.keys(options).sort());
  for (const word of words) if (word.isHidden !== true) expect(text).toContain(`\n  ${word.name} `);
  expect(examples.length).toBeGreaterThan(0);
  for (const example of examples) expect(text).toContain(example);
});

test('the overview has every command once, on one line each at 80 columns', async () => {
  const lines = (await shown(['--help'])).split('\n');
  for (const first of new Set(NAMES.map((name) => name.split(' ')[0])))
    expect(lines.filter((line) => line.startsWith(`  ${first} `))).toHaveLength(1);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
  expect(lines.filter((line) => /^ {13,}/.test(line))).toHaveLength(1); // the end of --no-color
});

describe.each([40, 60, 80, 120])('on a terminal of %i columns', (columns) => {
  test('no line of any help is longer, but usage and examples, which are to be copied', async () => {
    for (const args of [[], ...NAMES.map((name) => name.split(' ')), ...Object.keys(PAIRS).map((pair) => [pair])]) {
      const text = (await shown([...args, '--help'], columns)).split('\n\nExamples:')[0] ?? '';
      const lines = text.split('\n').filter((line) => !line.startsWith('mcp-bridge ') && !line.startsWith('What a '));
      const longest = lines.toSorted((a, b) => b.length - a.length)[0] ?? '';
      expect(longest.length, longest).toBeLessThanOrEqual(columns);
    }
  });
});

test('a wide terminal is used, and a pipe has lines of 80', async () => {
  const widest = (text: string): number => Math.max(...text.split('\n').map(({ length }) => length));
  expect(widest(await shown(['status', '--help'], 120))).toBeGreaterThan(80);
  expect(await shown(['status', '--help'])).toBe(`${helpText('status', 80)}\n`);
});

test('commands of two words have the help of both, and each has its own', async () => {
  expect(await shown(['config', '--help'])).toMatch(
    /\nCommands:\n {2}config check +Say .*\n(?:.*\n)* {2}config path +Print/,
  );
  expect(await shown(['config', 'path', '--help'])).toMatch(/^mcp-bridge config path\n/);
});
