// Completion as the shells do it, the names that it asks for, and the man page.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NAMES } from '../../src/cli/command.ts';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { offeredNames } from '../../src/cli/commands/completion/completion.ts';
import { fakeHost } from '../support/cli-host.ts';
import { runCommand } from '../support/command.ts';
import { writeFiles } from '../support/file-tree.ts';
import { fixtureServer, PROGRAM, ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

/** Programs that print what a shell offers behind a line, which is `$1`, with the completion in `$2/_mcp-bridge`. */
const OFFERS: Readonly<Record<string, readonly [script: string, ...args: string[]]>> = {
  bash: [
    `source "$2/_mcp-bridge"
    read -ra COMP_WORDS <<< "$1"; [[ $1 == *' ' ]] && COMP_WORDS+=(''); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
    _mcp_bridge
    printf '%s\\n' "\${COMPREPLY[@]}"`,
    'bash',
  ],
  zsh: [`exec zsh -f '${join(ROOT, 'test/fixtures/complete.zsh')}' "$2" "$1"`, 'zsh'],
  fish: ['source $argv[2]/_mcp-bridge; complete -C $argv[1] | string replace -r "\\t.*" ""'],
};
const isInstalled = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).error === undefined;

describe.each(Object.entries(OFFERS))('%s', (shell, [script, ...name]) => {
  let daemon: TestDaemon;
  let bin: string;
  let completions: string;
  beforeAll(async () => {
    daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer(), notes: fixtureServer() } });
    bin = tempDir();
    symlinkSync(PROGRAM, join(bin, 'mcp-bridge'));
    completions = tempDir();
    writeFileSync(join(completions, '_mcp-bridge'), (await runCommand(['completion', shell])).stdout);
  });
  afterAll(() => daemon.stop());

  /** What Tab shows behind this line, the last word of which is being written. */
  function offered(line: string, cwd = ROOT, socket = daemon.path): string[] {
    const args = ['-c', script, ...name, `mcp-bridge ${line}`, completions];
    const { stdout, stderr } = spawnSync(shell, args, {
      encoding: 'utf8',
      cwd,
      env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, MCP_BRIDGE_SOCKET: socket },
    });
    expect(stderr).toBe('');
    return stdout.split('\n').filter(Boolean).sort();
  }

  test('commands, their second words, options, and values of options', ({ skip }) => {
    skip(!isInstalled(shell), `there is no ${shell} here to try it with`);
    expect(offered('sta')).toEqual(['start', 'status']);
    expect(offered('policy ')).toEqual(['explain']);
    expect(offered('status --w')).toEqual(['--watch']);
    expect(offered('config check --c')).toEqual(['--config']);
    expect(offered('serve --log-level d')).toEqual(['debug']);
    expect(offered('service ')).toEqual(['install', 'status', 'uninstall']);
    expect(offered('service status --w')).toEqual([]);
    expect(offered('config check package.js')).toEqual(['package.json']);
    expect(offered('status --config package.js')).toEqual(['package.json']);
    expect(offered('add x -- package.js')).toEqual(['package.json']);
  });

  test('the names of servers, of a server’s tools, of definitions to decide, and of clients', async ({ skip }) => {
    skip(!isInstalled(shell), `there is no ${shell} here to try it with`);
    const project = tempDir();
    writeFiles(project, { '.git/HEAD': '', '.mcp.json': { mcpServers: { database: { command: 'one' } } } });
    expect(offered('call --timeout 5 f')).toEqual(['fixture']);
    expect(offered('describe --timeout 5 fixture ec')).toEqual(['echo']);
    expect(offered('search --server n')).toEqual(['notes']);
    expect(offered('approve no da', project)).toEqual(['database']);
    expect(offered('install cu')).toEqual(['cursor']);
    expect(offered('uninstall cursor co')).toContain('codex');
    const reviewer = await daemon.client({ 'mcp-bridge/clientId': 'reviewer' });
    expect(offered('send ')).toEqual(['reviewer']);
    reviewer.destroy();
  });
});

describe('the names that a script asks for', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer(), notes: fixtureServer() } });
  });
  afterAll(() => daemon.stop());

  async function named(what: (typeof NAMES)[number], cwd = ROOT, socket = daemon.path, server = ''): Promise<string[]> {
    const host = fakeHost(process.env.HOME ?? '', cwd, undefined, { MCP_BRIDGE_SOCKET: socket });
    return (await offeredNames(what, { server }, host)).split('\n').filter(Boolean).sort();
  }

  test('are of servers and of the tools of one, as the daemon has them', async () => {
    expect(await named('servers')).toEqual(['fixture', 'notes']);
    expect(await named('tools', ROOT, daemon.path, 'fixture')).toContain('echo');
  });

  test('include definitions to decide and clients, and only clients need a daemon', async () => {
    const project = tempDir();
    const server = (command: string) => ({ mcpServers: { database: { command }, 'team-notes': { command } } });
    writeFiles(project, {
      '.git/HEAD': '',
      '.mcp.json': server('one'),
      '.cursor/mcp.json': { mcpServers: { drawings: { command: 'two' } } },
    });
    const caller = await daemon.connect();
    await caller.initialize({ 'mcp-bridge/role': 'server', 'mcp-bridge/serverName': 'dialled' });
    const reviewer = await daemon.client({ 'mcp-bridge/clientId': 'reviewer' });
    expect(await named('pending', project)).toEqual(['database', 'dialled', 'drawings', 'team-notes']);
    expect(await named('connected')).toEqual(['reviewer']);
    caller.destroy();
    reviewer.destroy();
    const nowhere = join(tempDir(), 'b.sock');
    const home = process.env.HOME ?? '';
    writeFiles(home, { '.cursor/mcp.json': { mcpServers: { sketches: { command: process.execPath } } } });
    expect(await named('servers', project, nowhere)).toEqual(['sketches']);
    rmSync(join(home, '.cursor'), { recursive: true });
    expect(await named('connected', project, nowhere)).toEqual([]);
    expect(await named('pending', project, nowhere)).toEqual(['database', 'drawings', 'team-notes']);
    expect(existsSync(nowhere)).toBe(false);
  });
});

test('where no daemon runs there are no names, no words and no daemon', async () => {
  const socket = join(tempDir(), 'b.sock');
  const result = await runCommand(['completion', 'servers', '--mcp-bridge-socket', socket]);
  expect([result, existsSync(socket)]).toEqual([{ code: 0, stdout: '', stderr: '' }, false]);
});

test.each(Object.keys(OFFERS))('%s gets all commands and options, in a script that it can read', async (shell) => {
  const { code, stdout } = await runCommand(['completion', shell]);
  expect(code).toBe(0);
  for (const [name, { options }] of Object.entries(COMMANDS)) {
    for (const word of name.split(' ')) expect(stdout).toContain(word);
    for (const option of Object.keys(options)) expect(stdout).toContain(option);
  }
  const script = join(tempDir(), 'script');
  writeFileSync(script, stdout);
  const own = spawnSync(shell, ['-n', script], { encoding: 'utf8' });
  if (own.error === undefined) expect([own.status, own.stderr]).toEqual([0, '']);
});

test('the man page has every command and option, and is read without a complaint', () => {
  const page = readFileSync(join(ROOT, 'man/mcp-bridge.1'), 'utf8');
  const plain = page.replaceAll('\\-', '-');
  for (const [name, { options }] of Object.entries(COMMANDS)) {
    expect(plain).toContain(`.SS ${name}\n`);
    for (const option of Object.keys(options)) expect(plain).toContain(`--${option} `);
  }
  const read = spawnSync('groff', ['-man', '-ww', '-Tascii', '-z'], { input: page, encoding: 'utf8' });
  if (read.error === undefined) expect([read.status, read.stderr]).toEqual([0, '']);
});
