// What another client's approval covers: the definitions that it stood for when the bridge saw it first.

import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { approve } from '../../../src/cli/commands/approve.ts';
import type { LoadedConfig } from '../../../src/config/load.ts';
import { NO_CONFIG } from '../../../src/config/load.ts';
import { ClientApprovalFile } from '../../../src/discovery/approval-file.ts';
import { KeptSources, ServerSearch } from '../../../src/discovery/finding.ts';
import type { StdioServer } from '../../../src/model/server-definition.ts';
import { fakeHost } from '../../support/cli-host.ts';
import { writeFiles } from '../../support/file-tree.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

let home: string;
let project: string;
beforeEach(() => {
  home = temporaryDir();
  project = join(home, 'p');
  mkdirSync(join(project, '.git'), { recursive: true });
});

const config: Pick<LoadedConfig, 'file' | 'servers' | 'config'> = NO_CONFIG;

interface Served {
  readonly commands: readonly string[];
  readonly pending: number;
  readonly faults: readonly string[];
}

/** As a daemon finds them that has just been started. */
async function served(dir = project): Promise<Served> {
  const environment = { XDG_STATE_HOME: join(home, 'state'), HOME: home };
  const own = { platform: 'linux', environment, homedir: home, program: '/x/mcp-bridge', socketPath: '/x/sock' };
  const finding = new ServerSearch({ asked: () => undefined, kept: new KeptSources() });
  const { servers, pending, faults } = await finding.find({ dir, own, config, isOwnOnly: false });
  return { commands: servers.map((server) => (server as StdioServer).command).sort(), pending, faults };
}

const stateFile = (): string => join(home, 'state', 'mcp-bridge', 'client-approvals.json');

function projectServers(mcpServers: object, dir = 'p'): void {
  writeFiles(home, { [`${dir}/.mcp.json`]: { mcpServers } });
}

function claudeProject(entry: object, dir = project): void {
  writeFiles(home, { '.claude.json': { projects: { [dir]: entry } } });
}

const inClaude: readonly [how: string, approve: () => void][] = [
  ['by its name in ~/.claude.json', () => claudeProject({ enabledMcpjsonServers: ['s'] })],
  [
    'by its name in the settings',
    () => writeFiles(home, { '.claude/settings.json': { enabledMcpjsonServers: ['s'] } }),
  ],
  ['with all of them', () => writeFiles(home, { '.claude/settings.json': { enableAllProjectMcpServers: true } })],
  [
    'in the settings of a project that is trusted',
    () => {
      claudeProject({ hasTrustDialogAccepted: true });
      writeFiles(home, { 'p/.claude/settings.local.json': { enabledMcpjsonServers: ['s'] } });
    },
  ],
];

describe.each(inClaude)('approved in Claude Code %s', (_, approve) => {
  test('the definition seen first runs unasked, and goes on doing so', async () => {
    projectServers({ s: { command: 'first' } });
    approve();
    expect(await served()).toMatchObject({ commands: ['first'], pending: 0 });
    expect(await served()).toMatchObject({ commands: ['first'], pending: 0 });
  });

  test('a changed definition waits, whatever has changed', async () => {
    projectServers({ s: { command: 'first' } });
    approve();
    await served();
    for (const changed of [
      { command: 'evil' },
      { command: 'first', args: ['x'] },
      { command: 'first', env: { NODE_OPTIONS: 'x' } },
      { command: 'first', cwd: 'elsewhere' },
    ]) {
      projectServers({ s: changed });
      expect(await served()).toMatchObject({ commands: [], pending: 1 });
    }
    projectServers({ s: { command: 'first' } });
    expect(await served()).toMatchObject({ commands: ['first'], pending: 0 });
  });

  test('another name for something else waits too', async () => {
    projectServers({ s: { command: 'first' } });
    approve();
    await served();
    projectServers({ t: { command: 'evil' } });
    expect(await served()).toMatchObject({ commands: [] });
  });

  test('withdrawn and given again, it covers the same as before', async () => {
    projectServers({ s: { command: 'first' } });
    approve();
    await served();
    for (const file of ['.claude.json', '.claude/settings.json', 'p/.claude/settings.local.json'])
      rmSync(join(home, file), { force: true });
    expect(await served()).toMatchObject({ commands: [], pending: 1 });
    projectServers({ s: { command: 'evil' } });
    approve();
    expect(await served()).toMatchObject({ commands: [], pending: 1 });
    projectServers({ s: { command: 'first' } });
    expect(await served()).toMatchObject({ commands: ['first'] });
  });
});

test('a project with approved servers cannot approve others in its own settings', async () => {
  projectServers({ s: { command: 'first' } });
  claudeProject({ enabledMcpjsonServers: ['s'], hasTrustDialogAccepted: true });
  await served();
  projectServers({ t: { command: 'evil' } });
  writeFiles(home, { 'p/.claude/settings.json': { enableAllProjectMcpServers: true } });
  expect(await served()).toMatchObject({ commands: [], pending: 1 });
});

test('a new approval covers the definitions at that time', async () => {
  projectServers({ s: { command: 'first' } });
  claudeProject({ enabledMcpjsonServers: ['s'] });
  await served();
  projectServers({ s: { command: 'first' }, t: { command: 'second' } });
  claudeProject({ enabledMcpjsonServers: ['s', 't'] });
  expect(await served()).toMatchObject({ commands: ['first', 'second'], pending: 0 });
});

test('from a directory within the project it is the same approval', async () => {
  projectServers({ s: { command: 'first' } });
  writeFiles(home, { '.claude/settings.json': { enableAllProjectMcpServers: true } });
  await served();
  projectServers({ s: { command: 'evil' } });
  mkdirSync(join(project, 'sub'));
  expect(await served(join(project, 'sub'))).toMatchObject({ commands: [], pending: 1 });
});

test('a project that is cloned again is the same project', async () => {
  projectServers({ s: { command: 'first' } });
  claudeProject({ enabledMcpjsonServers: ['s'] });
  await served();
  rmSync(project, { recursive: true });
  mkdirSync(join(project, '.git'), { recursive: true });
  expect(await served()).toMatchObject({ commands: [] });
  projectServers({ s: { command: 'first' } });
  expect(await served()).toMatchObject({ commands: ['first'] });
  projectServers({ s: { command: 'evil' } });
  expect(await served()).toMatchObject({ commands: [], pending: 1 });
});

const CODEX_SERVER = (command: string): string => `[mcp_servers.s]\ncommand = "${command}"\n`;
const trust = (dir: string): string => `[projects."${dir}"]\ntrust_level = "trusted"\n`;

test('a project that Codex trusts: the first definitions run, changed ones wait', async () => {
  writeFiles(home, { 'p/.codex/config.toml': CODEX_SERVER('first'), '.codex/config.toml': trust(project) });
  expect(await served()).toMatchObject({ commands: ['first'], pending: 0 });
  writeFiles(home, { 'p/.codex/config.toml': CODEX_SERVER('evil') });
  expect(await served()).toMatchObject({ commands: [], pending: 1 });
  writeFiles(home, { 'p/.codex/config.toml': CODEX_SERVER('first').replace('.s]', '.renamed]') });
  expect(await served()).toMatchObject({ commands: [], pending: 1 });
});

test('in a project that Codex trusts, changes to a server of the user wait once they differ', async () => {
  const own = '[mcp_servers.s]\ncommand = "own"\n';
  writeFiles(home, {
    'p/.codex/config.toml': '[mcp_servers.s]\nargs = ["-v"]\n',
    '.codex/config.toml': `${own}${trust(project)}`,
  });
  expect(await served()).toMatchObject({ commands: ['own'], pending: 0 });
  writeFiles(home, { 'p/.codex/config.toml': CODEX_SERVER('evil') });
  expect(await served()).toMatchObject({ commands: ['own'], pending: 1 });
  writeFiles(home, { 'p/.codex/config.toml': '[mcp_servers.s]\nenabled = false\n' });
  expect(await served()).toMatchObject({ commands: [], pending: 0 });
});

describe('the file of covered definitions', () => {
  beforeEach(() => {
    projectServers({ s: { command: 'first', env: { TOKEN: 'sk-canary-000111222' } } });
    claudeProject({ enabledMcpjsonServers: ['s'] });
  });

  test('is for this user alone, and holds no secret', async () => {
    await served();
    expect(statSync(stateFile()).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(stateFile())).mode & 0o777).toBe(0o700);
    expect(readFileSync(stateFile(), 'utf8')).not.toContain('canary');
  });

  test('that cannot be parsed covers nothing, is reported, and is not overwritten', async () => {
    await served();
    writeFileSync(stateFile(), '{"version": 1, "approvals": "x"}');
    const { commands, pending, faults } = await served();
    expect({ commands, pending }).toEqual({ commands: [], pending: 1 });
    expect(faults.join()).toContain('client-approvals.json does not hold approvals');
    expect(readFileSync(stateFile(), 'utf8')).toContain('"approvals": "x"');
  });

  test('that cannot be written lets nothing run', async () => {
    mkdirSync(join(home, 'state'));
    writeFileSync(join(home, 'state', 'mcp-bridge'), 'a file');
    expect(await served()).toMatchObject({ commands: [], pending: 1 });
  });

  test('that is lost begins again with the present definitions', async () => {
    await served();
    rmSync(stateFile());
    projectServers({ s: { command: 'second' } });
    expect(await served()).toMatchObject({ commands: ['second'] });
    projectServers({ s: { command: 'third' } });
    expect(await served()).toMatchObject({ commands: [], pending: 1 });
  });

  test('keeps the first that somebody has seen, where two see different ones', async () => {
    await served();
    const file = new ClientApprovalFile({ XDG_STATE_HOME: join(home, 'state') }, home);
    const [kept] = file.read().approvals;
    if (kept === undefined) throw new Error('nothing was kept');
    const { name, client, by, dir } = kept;
    const before = readFileSync(stateFile(), 'utf8');
    const server = { ...kept.definitions[0], raw: {} } as never;
    await file.keep([{ approval: { name, client, by, dir }, hash: 'other', server }], new Date());
    expect(readFileSync(stateFile(), 'utf8')).toBe(before);
  });
});

test('a person who is asked sees the changes since the other client’s approval', async () => {
  projectServers({ s: { command: 'first' } });
  claudeProject({ enabledMcpjsonServers: ['s'] });
  await served();
  projectServers({ s: { command: 'evil' } });
  const host = fakeHost(home, project, { columns: 80, answer: 'n' }, { XDG_STATE_HOME: join(home, 'state') });
  await expect(approve({ names: ['s'] }, host)).rejects.toThrow('Nothing was approved');
  expect(host.said()).toMatch(
    /Since claude-code approved it \(seen on [\d-]+\):\n +- command first\n +\+ command evil\n/,
  );
  const listed = fakeHost(home, project, undefined, { XDG_STATE_HOME: join(home, 'state') });
  await approve({}, listed);
  expect(listed.said()).toMatch(/s +~\/p\/\.mcp\.json +changed/);
});
