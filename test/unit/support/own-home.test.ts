import { realpathSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { expect, test } from 'vitest';

test('no test runs in the home of whoever runs it', () => {
  expect(homedir()).toBe(process.env.HOME);
  expect(homedir().startsWith(realpathSync(tmpdir()))).toBe(true);
  expect(Object.keys(process.env).filter((name) => name.startsWith('XDG_'))).toEqual([]);
});
