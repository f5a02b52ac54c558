// What a search shows to tell servers apart that are the same program.

import { expect, test } from 'vitest';
import { withoutCommonWords } from '../../../../src/cli/commands/search.ts';

test.each([
  [
    ['node /x/y.js .', 'node /x/y.js ~/work', 'node /x/y.js'],
    ['… .', '… ~/work', '…'],
  ],
  [
    ['npx -y a --b c', 'npx -y a --b d'],
    ['… c', '… d'],
  ],
  [
    ['node a', 'node b'],
    ['node a', 'node b'],
  ],
  [
    ['node same x', 'node same x'],
    ['node same x', 'node same x'],
  ],
  [
    ['https://a.example/mcp', 'node x y'],
    ['https://a.example/mcp', 'node x y'],
  ],
])('%j is shown as %j, so that the difference is not cut off', (lines, shown) => {
  const rows = lines.map((line) => ['name', line]);
  withoutCommonWords(rows, 1);
  expect(rows.map(([, line]) => line)).toEqual(shown);
});
