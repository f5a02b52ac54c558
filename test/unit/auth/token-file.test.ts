import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { TokenFile } from '../../../src/auth/token-file.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const fileIn = (dir: string, name = 'a', url = 'https://x/mcp'): TokenFile =>
  new TokenFile({ name, url }, { XDG_STATE_HOME: dir });

test('each server at each URL has a separate file', () => {
  const dir = temporaryDir();
  const paths = [fileIn(dir), fileIn(dir, 'b'), fileIn(dir, 'a', 'https://y/mcp'), fileIn(dir)].map(({ path }) => path);
  expect(new Set(paths).size).toBe(3);
  expect(paths[3]).toBe(paths[0]);
  expect(paths[0]).toMatch(/\/mcp-bridge\/auth\/[0-9a-f]{32}\.json$/);
});

test('has exactly what was written', async () => {
  const file = fileIn(temporaryDir());
  expect(file.read()).toEqual({});
  const signedIn = { client: { client_id: 'c' }, tokens: { access_token: 'a', token_type: 'Bearer' } };
  await file.locked(() => file.write(signedIn));
  expect(file.read()).toEqual(signedIn);
  expect(await file.locked(() => file.remove())).toBe(true);
  expect(await file.locked(() => file.remove())).toBe(false);
  expect(file.read()).toEqual({});
});

test('one after the other has the lock', async () => {
  const dir = temporaryDir();
  let inside = 0;
  const most: number[] = [];
  const visit = (): Promise<void> =>
    fileIn(dir).locked(async () => {
      most.push(++inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside--;
    });
  await Promise.all([visit(), visit(), visit()]);
  expect(most).toEqual([1, 1, 1]);
});

test('the lock is free again after a failure', async () => {
  const file = fileIn(temporaryDir());
  await expect(file.locked(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await file.locked(() => 'free')).toBe('free');
});

test('a file that is not JSON is reported, without its content', () => {
  const file = fileIn(temporaryDir());
  mkdirSync(dirname(file.path), { recursive: true });
  writeFileSync(file.path, 's3cret', { mode: 0o600 });
  expect(() => file.read()).toThrow(`${file.path} is not JSON`);
});
