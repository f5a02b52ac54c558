// Paths as people write them.

import { expect, test } from 'vitest';
import { tilde } from '../../../../src/cli/render/terminal.ts';

const homedir = '/home/ann';

test.each([
  ['/home/ann', '~'],
  ['/home/ann/.cursor/mcp.json', '~/.cursor/mcp.json'],
  ['cannot read "/home/ann/a" (/home/ann/b): KEY=/home/ann/c', 'cannot read "~/a" (~/b): KEY=~/c'],
  ['There is no file in /home/ann', 'There is no file in ~'],
  ['"/home/ann" (/home/ann), /home/ann: x', '"~" (~), ~: x'],
  ['/home/ann.old and /home/ann-2, /mnt/home/ann', '/home/ann.old and /home/ann-2, /mnt/home/ann'],
  ['/mnt/home/ann/x', '/mnt/home/ann/x'],
  ['/home/anna/x', '/home/anna/x'],
  ['/home/ann/home/ann/x', '~/home/ann/x'],
  ['nothing of it', 'nothing of it'],
])('%s is written as %s', (text, shown) => {
  expect(tilde(text, { homedir })).toBe(shown);
});

test('a home that HOME does not name is written in full, as a shell knows another one', () => {
  expect(tilde('/home/ann/x', { homedir, isHomeUnnamed: true })).toBe('/home/ann/x');
});
