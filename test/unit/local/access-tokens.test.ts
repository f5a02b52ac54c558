// The tokens of clients over HTTP: what is kept of them, and which of them a running daemon takes.

import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { AccessTokenFile, AccessTokens, MOST_TOKENS } from '../../../src/local/access-tokens.ts';
import { markOf, UNCERTAIN } from '../../../src/local/path-mark.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const START_MS = Date.parse('2026-11-19T12:00:00Z');

function world() {
  const homedir = temporaryDir();
  const environment = { HOME: homedir };
  let nowMs = START_MS;
  const faults: unknown[] = [];
  const file = new AccessTokenFile(environment, homedir);
  const tokens = new AccessTokens({
    ...{ environment, homedir },
    nowMs: () => nowMs,
    onFault: (error) => faults.push(error),
  });
  const at = (ms: number): void => {
    nowMs = START_MS + ms;
  };
  return { file, tokens, faults, at };
}

test('a token has 256 bits, is taken, and what is kept of it is a hash that nobody else can read', async () => {
  const { file, tokens } = world();
  const text = await file.create({ name: 'laptop', view: 'all', servers: ['git*'] }, START_MS);
  expect(text).toMatch(/^mcpb_[\w-]{43}$/);
  expect(tokens.granted(text)).toMatchObject({ name: 'laptop', view: 'all', servers: ['git*'] });
  expect(readFileSync(file.path, 'utf8')).not.toContain(text.slice(5));
  expect(statSync(file.path).mode & 0o777).toBe(0o600);
});

test('what is not a token is not taken, however near it comes', async () => {
  const { file, tokens } = world();
  expect(tokens.granted('anything')).toBeUndefined();
  const text = await file.create({ name: 'laptop' }, START_MS);
  const [hash = ''] = file.read().map((token) => token.hash);
  for (const other of ['', text.slice(0, -1), `${text} `, text.toUpperCase(), hash, 'x'.repeat(100_000)])
    expect(tokens.granted(other)).toBeUndefined();
});

test('a running daemon takes a new token, and refuses a revoked one, at once', async () => {
  const { file, tokens } = world();
  const first = await file.create({ name: 'first' }, START_MS);
  // From here on what was read counts until the file changes.
  await vi.waitFor(() => expect(markOf(file.path)).not.toBe(UNCERTAIN));
  const granted = tokens.granted(first);
  expect(granted).toBeDefined();
  const second = await file.create({ name: 'second' }, START_MS);
  expect(tokens.granted(second)).toBeDefined();
  await vi.waitFor(() => expect(markOf(file.path)).not.toBe(UNCERTAIN));
  expect(tokens.granted(first)).toBeDefined();
  expect(await file.revoke(['first', 'nobody'])).toEqual(['first']);
  expect(tokens.granted(first)).toBeUndefined();
  expect(granted && tokens.isGood(granted)).toBe(false);
  expect(tokens.granted(second)).toBeDefined();
  expect(await file.revoke(['first'])).toEqual([]);
});

test('a token ends with its time, and makes room for another of its name that is not the same', async () => {
  const { file, tokens, at } = world();
  const text = await file.create({ name: 'ci', expiresAtMs: START_MS + 1000 }, START_MS);
  at(999);
  const old = tokens.granted(text);
  expect(old).toMatchObject({ name: 'ci' });
  at(1000);
  expect(tokens.granted(text)).toBeUndefined();
  expect(old && tokens.isGood(old)).toBe(false);
  const next = await file.create({ name: 'ci' }, START_MS + 1000);
  expect(tokens.granted(next)?.id).not.toBe(old?.id);
  expect(tokens.granted(text)).toBeUndefined();
});

test('a name is taken once, and is one that can be typed', async () => {
  const { file } = world();
  await file.create({ name: 'ci' }, START_MS);
  await expect(file.create({ name: 'ci' }, START_MS)).rejects.toMatchObject({
    message: 'There is a token ci already',
    hint: 'Take another name, or end that one: mcp-bridge token revoke ci',
  });
  for (const name of ['', ' ', '-x', 'a b', 'x'.repeat(65), 'a\nb'])
    await expect(file.create({ name }, START_MS)).rejects.toMatchObject({ code: 'USAGE' });
  expect(file.read()).toHaveLength(1);
});

test('there are as many tokens as a request can be compared with', async () => {
  const { file } = world();
  const one = { id: 'x', createdAtMs: START_MS, hash: '0'.repeat(64) };
  await file.create({ name: 'first' }, START_MS);
  const tokens = Array.from({ length: MOST_TOKENS }, (_, i) => ({ ...one, name: `t${i}` }));
  writeFileSync(file.path, JSON.stringify({ version: 1, tokens }));
  await expect(file.create({ name: 'one-more' }, START_MS)).rejects.toThrow(`There are ${MOST_TOKENS} tokens already`);
});

test('a file that is broken, or that others can read, is good for no token, and is told of once', async () => {
  const { file, tokens, faults } = world();
  const text = await file.create({ name: 'laptop' }, START_MS);
  const good = readFileSync(file.path);
  for (const bad of ['[]', '{"version":1,"tokens":[{"name":"x","hash":"y"}]}', '{"version":1']) {
    expect(tokens.granted(text)).toBeDefined();
    writeFileSync(file.path, bad);
    for (let i = 0; i < 3; i++) expect(tokens.granted(text)).toBeUndefined();
    writeFileSync(file.path, good);
  }
  expect(faults).toHaveLength(3);
  expect(tokens.granted(text)).toBeDefined();
  chmodSync(file.path, 0o644);
  expect(tokens.granted(text)).toBeUndefined();
  expect(String(faults[3])).toContain("is not this user's alone");
});
