// What a page is told that waits, and what it decides: only what was shown in full, and nothing that has changed since. On a real daemon.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { pageDecisions } from '../../src/cli/page-decisions.ts';
import { fakeHost } from '../support/cli-host.ts';
import { runCommand } from '../support/command.ts';
import { fixtureServer, ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

const DIAL_IN = join(ROOT, 'test/fixtures/servers/dial-in-server.mjs');
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface Inbox {
  readonly approvals: readonly {
    readonly id: string;
    readonly digest: string;
    readonly since: string;
    readonly lines: readonly (readonly [string, string])[];
    readonly differences: readonly string[];
  }[];
  readonly dialledIn: readonly { readonly name: string; readonly digest: string }[];
}

interface Decided {
  readonly decided: readonly string[];
  readonly others: readonly string[];
}

/** A project with a definition that waits, a daemon, and the methods of a page. */
async function place() {
  const home = realpathSync(tempDir());
  const project = join(home, 'project');
  mkdirSync(join(project, '.cursor'), { recursive: true });
  const define = (args: readonly string[], env: object = {}): void =>
    writeFileSync(
      join(project, '.cursor/mcp.json'),
      JSON.stringify({ mcpServers: { theirs: { ...fixtureServer(), args: [...args], env } } }),
    );
  define(['server.mjs'], { API_TOKEN: 'sk-very-secret-0123456789abcdef' });
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), XDG_STATE_HOME: join(home, '.state') };
  const daemon = await TestDaemon.start({ mcpServers: { own: fixtureServer() } }, { dir: home, env });
  const host = fakeHost(home, project, undefined, env);
  const methods = pageDecisions({ 'mcp-bridge-socket': daemon.path }, host);
  const ask = async (method: string, params: object = {}): Promise<unknown> => methods[method]?.({ ...params });
  return {
    ...{ daemon, define, env, project, home },
    inbox: async () => (await ask('ui/inbox')) as Inbox,
    approve: async (params: object) => (await ask('ui/approve', params)) as Decided,
    reject: async (params: object) => (await ask('ui/reject', params)) as Decided,
    synonym: (params: object) => ask('ui/synonym', params),
  };
}

test('a definition that is too long to be shown is not approved, and may be rejected', async () => {
  const { daemon, define, inbox, approve, reject } = await place();
  define(['-e', `/*${' pad '.repeat(45_000)}*/ run('its end')`]);
  const { approvals } = await inbox();
  expect(approvals).toMatchObject([{ lines: null, differences: [] }]);
  const definitions = approvals.map(({ id, digest }) => ({ id, digest }));
  await expect(approve({ definitions })).rejects.toThrow('too long to be shown on a page');
  expect((await inbox()).approvals).toHaveLength(1);
  expect(await reject({ definitions })).toMatchObject({ others: [] });
  expect((await inbox()).approvals).toHaveLength(0);
  await daemon.stop();
});

test('a definition is shown with its whole command and no secret, and approved as it was shown', async () => {
  const { daemon, inbox, approve, env, project } = await place();
  const [waiting, ...others] = (await inbox()).approvals;
  expect(others).toEqual([]);
  expect(waiting).toMatchObject({ since: 'new', digest: expect.stringMatching(/^[0-9a-f]{64}$/) });
  const runs = waiting?.lines.find(([label]) => label === 'runs')?.[1];
  expect(runs).toContain('server.mjs');
  expect(JSON.stringify(waiting)).not.toContain('very-secret');
  const shown = { id: waiting?.id, digest: waiting?.digest };
  expect(await approve({ definitions: [shown] })).toEqual({ decided: [waiting?.id], others: [] });
  expect((await inbox()).approvals).toEqual([]);
  const { stdout } = await runCommand(['servers', '--json', '--mcp-bridge-socket', daemon.path], { env, cwd: project });
  expect(stdout).toContain('"theirs"');
  await daemon.stop();
});

test('a definition that has changed since it was shown is not approved, even if only a hidden value differs', async () => {
  const { daemon, inbox, approve, define } = await place();
  const [before] = (await inbox()).approvals;
  const shown = { id: before?.id, digest: before?.digest };
  define(['server.mjs'], { API_TOKEN: 'sk-other-secret-0123456789abcde' });
  expect(await approve({ definitions: [shown] })).toEqual({ decided: [], others: [before?.id] });
  define(['evil.mjs']);
  expect(await approve({ definitions: [shown] })).toEqual({ decided: [], others: [before?.id] });
  const [after] = (await inbox()).approvals;
  expect(after?.digest).not.toBe(before?.digest);
  for (const wrong of [{}, { definitions: [] }, { definitions: [{ id: before?.id }] }, { definitions: 'all' }])
    await expect(approve(wrong)).rejects.toMatchObject({ code: 'USAGE' });
  expect(await approve({ definitions: [{ id: 'nobody', digest: after?.digest }] })).toMatchObject({ decided: [] });
  expect((await inbox()).approvals).toHaveLength(1);
  await daemon.stop();
});

test('an approved definition that has changed waits again, with the differences', async () => {
  const { daemon, inbox, approve, reject, define } = await place();
  const decide = async (how: typeof approve): Promise<Decided> => {
    const { approvals } = await inbox();
    return how({ definitions: approvals.map(({ id, digest }) => ({ id, digest })) });
  };
  await decide(approve);
  define(['server.mjs', '--all']);
  const [changed] = (await inbox()).approvals;
  expect(changed).toMatchObject({
    since: 'changed',
    differences: expect.arrayContaining([expect.stringContaining('--all')]),
  });
  expect((await decide(reject)).decided).toHaveLength(1);
  expect((await inbox()).approvals).toEqual([]);
  await daemon.stop();
});

test('a server that has connected by itself is approved under the name and program that were shown', async () => {
  const { daemon, inbox, approve } = await place();
  const child = spawn(process.execPath, [DIAL_IN, daemon.path, 'notes'], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const [waiting] = (await inbox()).dialledIn;
  expect(waiting).toMatchObject({ name: 'notes' });
  expect(await approve({ servers: [{ name: 'notes', digest: 'f'.repeat(64) }] })).toEqual({
    decided: [],
    others: ['notes'],
  });
  expect(await approve({ servers: [{ name: 'notes', digest: waiting?.digest }] })).toEqual({
    decided: ['notes'],
    others: [],
  });
  expect((await daemon.status()).dialledIn).toMatchObject([{ name: 'notes', state: 'offered' }]);
  await daemon.stop();
});

test('without a daemon, waiting definitions in files are still shown', async () => {
  const { daemon, inbox } = await place();
  daemon.kill('SIGKILL');
  await daemon.exited;
  expect(await inbox()).toMatchObject({ approvals: [{ since: 'new' }], dialledIn: [], changes: [], questions: [] });
});

test('a synonym is written into the user’s own config, once, and nothing else in it changes', async () => {
  const { daemon, home, synonym, env } = await place();
  const dir = join(home, '.config/mcp-bridge');
  mkdirSync(dir, { recursive: true });
  const file = join(dir, 'config.json');
  const text = '{\n  // mine\n  "discovery": { "search": { "synonyms": [["a", "b"]] } },\n  "mcpServers": {}\n}\n';
  writeFileSync(file, text);
  expect(await synonym({ word: 'ticket', means: ['issue', ' issue '] })).toMatchObject({
    file,
    changed: true,
    applies: false,
  });
  expect(await synonym({ word: 'ticket', means: ['issue'] })).toMatchObject({ changed: false });
  const now = readFileSync(file, 'utf8');
  expect(now).toContain('// mine');
  const parsed = JSON.parse(now.replace('// mine', '')) as { discovery: { search: { synonyms: unknown } } };
  expect(parsed.discovery.search.synonyms).toEqual([
    ['a', 'b'],
    ['ticket', 'issue'],
  ]);
  for (const wrong of [
    { word: 'x' },
    { word: '', means: [] },
    { word: 'x', means: ['y'.repeat(200)] },
    { word: 'x', means: ['!'] },
  ])
    await expect(synonym(wrong)).rejects.toMatchObject({ code: 'USAGE' });
  const typed = await runCommand(['config', 'synonym', 'pull', 'request'], { env, cwd: home });
  expect(typed).toMatchObject({ code: 0, stdout: expect.stringContaining('pull, request: was written into') });
  expect(await runCommand(['config', 'synonym', 'alone'], { env, cwd: home })).toMatchObject({ code: 2 });
  await daemon.stop();
});
