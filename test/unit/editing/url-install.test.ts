// The bridge in a client's config as a URL: what stands there, the token that goes with it, and the way back.

import { statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CLIENT_TARGETS } from '../../../src/editing/client-targets.ts';
import type { HttpPlace } from '../../../src/editing/url-install.ts';
import { AccessTokenFile, AccessTokens } from '../../../src/local/access-tokens.ts';
import { CLIENT_FILES, DIRECTLY, Home, UNDOING } from '../../support/editing-host.ts';

const URL = 'http://127.0.0.1:4810/mcp';
const SOCKET_URL = 'unix:///tmp/mcp-bridge.sock#/mcp';
const PLACE: HttpPlace = { byPort: { url: URL, needsToken: true }, bySocket: SOCKET_URL };
const BY_URL = { ...DIRECTLY, http: PLACE };
const endpoints = ['http://127.0.0.1:4810', 'unix:///tmp/mcp-bridge.sock'];

const home = (): Home => new Home({ endpoints });
const tokensOf = ({ host }: Home) => new AccessTokenFile(host.environment, host.homedir).read();
const isGood = ({ host }: Home, token: string): boolean =>
  new AccessTokens({ ...host, nowMs: Date.now, onFault: (error) => expect.fail(String(error)) }).granted(token) !==
  undefined;
const tokenIn = (text: string | undefined): string => /Bearer (mcpb_[\w-]+)/.exec(text ?? '')?.[1] ?? '';

const TAKERS = CLIENT_TARGETS.filter(({ byUrl }) => byUrl !== undefined).map(({ client }) => client);

test('all clients take a URL but Claude Desktop, which is refused plainly', async () => {
  expect(CLIENT_TARGETS.map(({ client }) => client).filter((client) => !TAKERS.includes(client))).toEqual([
    'claude-desktop',
  ]);
  const desktop = home();
  await expect(desktop.install('claude-desktop', BY_URL)).rejects.toMatchObject({
    message: 'Claude Desktop takes no URLs in its config: it starts programs',
    hint: expect.stringContaining('mcp-bridge install claude-desktop') as string,
  });
  expect([desktop.read(CLIENT_FILES['claude-desktop'] ?? ''), tokensOf(desktop)]).toEqual([undefined, []]);
});

describe.each(TAKERS)('%s', (client) => {
  const file = CLIENT_FILES[client] ?? '';

  test('gets the URL and a token of its own, and loses both again', async () => {
    const at = home();
    const { lines } = await at.install(client, BY_URL);
    const text = at.read(file) ?? '';
    if (client === 'vscode') {
      expect(text).toContain(SOCKET_URL);
      expect(tokensOf(at)).toEqual([]);
    } else {
      expect(text).toContain(URL);
      expect(isGood(at, tokenIn(text))).toBe(true);
      expect(tokensOf(at).map(({ name }) => name)).toEqual([client]);
      expect(lines.join()).toContain(`token of its own, "${client}"`);
      expect(lines.join()).not.toContain('mcpb_');
    }
    expect((await at.install(client, BY_URL)).lines[0]).toContain('already: "mcp-bridge"');
    expect(at.read(file)).toBe(text);
    await at.uninstall(client);
    expect([at.read(file), tokensOf(at)]).toEqual([undefined, []]);
  });
});

const CURSOR = '.cursor/mcp.json';
const BEFORE = '{\n  // mine\n  "mcpServers": { "a": { "command": "a" } }\n}\n';

test('a file with a token is for its owner alone, and is byte for byte as it was, with its permissions, afterwards', async () => {
  const at = home();
  const path = at.write(CURSOR, BEFORE, 0o644);
  await at.install('cursor', BY_URL);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(at.read(CURSOR)).toContain('"a"');
  await at.uninstall('cursor');
  expect([at.read(CURSOR), statSync(path).mode & 0o777]).toEqual([BEFORE, 0o644]);
});

test('a file that was changed meanwhile loses the entry and the token, and nothing else', async () => {
  const at = home();
  at.write(CURSOR, BEFORE);
  await at.install('cursor', BY_URL);
  const other = (at.read(CURSOR) ?? '').replace('"a": {', '"b": { "command": "b" }, "a": {');
  at.write(CURSOR, other);
  await at.uninstall('cursor');
  expect(at.read(CURSOR)).toMatch(/"b": .*"a": /s);
  expect([at.read(CURSOR)?.includes('mcpb_'), tokensOf(at)]).toEqual([false, []]);
});

test('a dry run shows the entry, makes no token, and changes nothing', async () => {
  const at = home();
  at.write(CURSOR, BEFORE);
  const { lines, diff } = await at.install('cursor', { ...BY_URL, dryRun: true });
  expect(diff).toContain(URL);
  expect(lines.join()).toContain('would have a token of its own');
  expect([at.read(CURSOR), tokensOf(at)]).toEqual([BEFORE, []]);
});

test('a token that somebody has made under the name stays theirs', async () => {
  const at = home();
  const file = new AccessTokenFile(at.host.environment, at.host.homedir);
  const mine = await file.create({ name: 'cursor' }, 0);
  await at.install('cursor', BY_URL);
  expect(tokensOf(at).map(({ name }) => name)).toEqual(['cursor', 'cursor-2']);
  await at.uninstall('cursor');
  expect(isGood(at, mine)).toBe(true);
  expect(tokensOf(at)).toHaveLength(1);
});

test('an entry for another address is brought up to date, with another token', async () => {
  const at = home();
  await at.install('cursor', BY_URL);
  const old = tokenIn(at.read(CURSOR));
  const moved = new Home({ ...at.host, endpoints: ['http://127.0.0.1:5000'] });
  const url = 'http://127.0.0.1:5000/mcp';
  await at.install('cursor', { ...DIRECTLY, http: { ...PLACE, byPort: { url, needsToken: true } } }, moved.host);
  expect(at.read(CURSOR)).toContain(url);
  expect([isGood(at, old), isGood(at, tokenIn(at.read(CURSOR)))]).toEqual([false, true]);
  await at.uninstall('cursor', UNDOING, moved.host);
  expect([at.read(CURSOR), tokensOf(at)]).toEqual([undefined, []]);
});

test('no token is left where the file cannot be changed', async () => {
  const at = home();
  at.write(CURSOR, '{ "mcpServers": ');
  await expect(at.install('cursor', BY_URL)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  at.write(CURSOR, '{ "mcpServers": { "mcp-bridge": { "command": "other" } } }');
  await expect(at.install('cursor', BY_URL)).rejects.toMatchObject({ code: 'SERVER_EXISTS' });
  expect(tokensOf(at)).toEqual([]);
});

test('without a port, only clients that take the socket get a URL', async () => {
  const at = home();
  const http = { ...PLACE, byPort: { problem: 'no port', hint: 'open one' } };
  await expect(at.install('cursor', { ...DIRECTLY, http })).rejects.toMatchObject({
    message: 'no port',
    hint: 'open one',
  });
  await at.install('vscode', { ...DIRECTLY, http });
  expect(at.json(CLIENT_FILES.vscode ?? '')).toEqual({
    servers: { 'mcp-bridge': { type: 'http', url: SOCKET_URL } },
  });
});

test('a client with a command of its own is not told the token on a command line', async () => {
  const at = home();
  const seen = at.path('seen');
  at.write('bin/claude', `#!/bin/sh\necho "$@" >> ${seen}\n`, 0o755);
  await at.install('claude-code', { ...BY_URL, clientCommand: true });
  expect(at.read('seen')).toBeUndefined();
  expect(at.read('.claude.json')).toContain('mcpb_');
});
