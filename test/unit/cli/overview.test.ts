import { expect, test } from 'vitest';
import { overview } from '../../../src/cli/overview.ts';

const HELP = `mcp-bridge VERB

What it is.

Commands:
  mcp-bridge start               Start it
  mcp-bridge novel <a> [b..]     ${'word '.repeat(30).trim()}
  mcp-bridge call <server>       Call a tool

Options:
  -h, --help  Show help  [boolean]`;

test('verbs are in groups, those that are in none at the end, and nothing else is different', () => {
  const lines = overview(HELP).split('\n');
  expect(lines.slice(0, 11)).toEqual([
    ...['mcp-bridge VERB', '', 'What it is.', ''],
    ...['Every day:', '  mcp-bridge call <server>    Call a tool', ''],
    ...['The daemon:', '  mcp-bridge start            Start it', ''],
    'More:',
  ]);
  expect(lines.slice(-3)).toEqual(['', 'Options:', '  -h, --help  Show help  [boolean]']);
});

test('what is too long goes on below itself', () => {
  const lines = overview(HELP).split('\n');
  const at = lines.findIndex((line) => line.includes('novel'));
  expect(lines[at + 1]).toMatch(/^ {30}word word/);
  expect(
    lines
      .slice(at, at + 3)
      .join(' ')
      .match(/word/g),
  ).toHaveLength(30);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(100);
});
