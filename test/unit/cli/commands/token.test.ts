// `token`: what a person and a script are told of tokens.

import { expect, test } from 'vitest';
import { type TokenValues, token } from '../../../../src/cli/commands/token.ts';
import { AccessTokens } from '../../../../src/local/access-tokens.ts';
import { fakeHost } from '../../../support/cli-host.ts';
import { temporaryDir } from '../../../support/temporary-dir.ts';

function world() {
  const home = temporaryDir();
  const run = async (values: TokenValues) => {
    const host = fakeHost(home, home);
    const code = await token(values, host);
    return { code, said: host.said(), complaints: host.complaints() };
  };
  const tokens = new AccessTokens({
    ...{ environment: { HOME: home }, homedir: home, nowMs: Date.now },
    onFault: (error) => expect.fail(String(error)),
  });
  return { run, tokens };
}

test('a token stands alone on stdout, is good, and is never shown again', async () => {
  const { run, tokens } = world();
  const { code, said, complaints } = await run({ action: 'create', names: ['laptop'] });
  expect([code, complaints]).toEqual([
    0,
    'laptop may use all servers, until it is revoked. The token is not shown again\n',
  ]);
  expect(tokens.granted(said.trimEnd())).toMatchObject({ name: 'laptop' });
  for (const json of [true, false]) {
    const listed = await run({ action: 'list', json });
    expect(listed.said).toContain('laptop');
    expect(listed.said).not.toContain(said.trimEnd().slice(5));
  }
});

test('a token has the given rights, for the given time', async () => {
  const { run, tokens } = world();
  const before = Date.now();
  const made = await run({
    ...{ action: 'create', names: ['ci'], view: 'all', servers: ['git*', 'files'], expires: '30d', json: true },
  });
  const { token: text, ...shown } = JSON.parse(made.said) as Record<string, string>;
  expect(shown).toMatchObject({ name: 'ci', view: 'all', servers: ['git*', 'files'] });
  const granted = tokens.granted(text ?? '');
  expect(granted).toMatchObject({ name: 'ci', view: 'all', servers: ['git*', 'files'] });
  const days = ((granted?.expiresAtMs ?? 0) - before) / 86_400_000;
  expect(Math.round(days)).toBe(30);
  const [listed] = JSON.parse((await run({ action: 'list', json: true })).said) as unknown[];
  expect(listed).toEqual({ ...shown, isExpired: false });
  const table = (await run({ action: 'list' })).said;
  expect(table).toMatch(/^TOKEN +VIEW +SERVERS +MADE +EXPIRES\nci +all +git\*, files +\d{4}-\d\d-\d\d \d\d:\d\d UTC/);
});

test('a revoked token is good no more', async () => {
  const { run, tokens } = world();
  expect((await run({ action: 'list' })).said).toBe('There are no tokens. To make one: mcp-bridge token create NAME\n');
  const text = (await run({ action: 'create', names: ['laptop'] })).said.trimEnd();
  expect(tokens.granted(text)).toBeDefined();
  expect((await run({ action: 'revoke', names: ['laptop'] })).said).toBe('laptop is revoked\n');
  expect(tokens.granted(text)).toBeUndefined();
  await expect(run({ action: 'revoke', names: ['laptop'] })).rejects.toThrow('There is no token laptop');
});

test.each(['discover', 'all', 'code', 'server:files', 'toolset:review'])(
  'a token may be for the view %s',
  async (view) => {
    const { run, tokens } = world();
    const text = (await run({ action: 'create', names: ['narrow'], view })).said.trimEnd();
    expect(tokens.granted(text)).toMatchObject({ view });
  },
);

test('nothing is revoked if one of the names is wrong', async () => {
  const { run, tokens } = world();
  const text = (await run({ action: 'create', names: ['laptop'] })).said.trimEnd();
  await expect(run({ action: 'revoke', names: ['laptop', 'labtop'] })).rejects.toMatchObject({
    message: 'There is no token labtop',
    hint: expect.stringContaining('laptop') as string,
  });
  expect(tokens.granted(text)).toBeDefined();
});

test.each([
  [{ action: 'create' }, 'Name one token'],
  [{ action: 'create', names: ['a', 'b'] }, 'Name one token'],
  [{ action: 'create', names: ['a'], view: 'everything' }, '--view is'],
  [{ action: 'create', names: ['a'], servers: ['x'.repeat(10_000)] }, '--servers'],
  [{ action: 'create', names: ['a'], servers: [''] }, '--servers'],
  [{ action: 'create', names: ['a'], expires: '30' }, '--expires'],
  [{ action: 'create', names: ['a'], expires: '0d' }, '--expires'],
  [{ action: 'create', names: ['a'], expires: '99999999999999w' }, '--expires'],
  [{ action: 'revoke' }, 'Name a token'],
  [{ action: 'list', view: 'all' }, 'are for create'],
] as [TokenValues, string][])('%j is wrong usage: %s', async (values, problem) => {
  const { run } = world();
  await expect(run(values)).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringContaining(problem) as string,
  });
  expect(JSON.parse((await run({ action: 'list', json: true })).said)).toEqual([]);
});
