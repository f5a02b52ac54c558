// Completion as the shells do it, the man page, and what is suggested instead of a word that does not exist.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/command-table.ts';
import { writeFiles } from '../support/file-tree.ts';
import { fixtureServer, PROGRAM, ROOT, runCommand, TestDaemon, tempDir } from '../support/test-daemon.ts';

/** What a shell offers behind `$1`, which it is given as it stands; each with a directory for the completion. */
const OFFERS: Readonly<Record<string, readonly [script: string, ...args: string[]]>> = {
  bash: [
    `source <(mcp-bridge completion bash)
    read -ra COMP_WORDS <<< "$1"; [[ $1 == *' ' ]] && COMP_WORDS+=(''); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
    _mcp_bridge
    printf '%s\\n' "\${COMPREPLY[@]}"`,
    'bash',
  ],
  zsh: [
    'mcp-bridge completion zsh > $2/_mcp-bridge; zsh -f $3 $2 $1',
    'zsh',
    tempDir(),
    join(ROOT, 'test/fixtures/complete.zsh'),
  ],
  fish: ['mcp-bridge completion fish | source; complete -C $argv[1] | string replace -r "\\t.*" ""'],
};
const isInstalled = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).error === undefined;

describe.each(Object.entries(OFFERS))('%s', (shell, [script, name, ...rest]) => {
  let daemon: TestDaemon;
  let bin: string;
  beforeAll(async () => {
    daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer(), notes: fixtureServer() } });
    bin = tempDir();
    symlinkSync(PROGRAM, join(bin, 'mcp-bridge'));
  });
  afterAll(() => daemon.stop());

  /** What Tab shows behind this line, the last word of which is being written. */
  function offered(line: string, cwd = ROOT, socket = daemon.path): string[] {
    const args = ['-c', script, ...(name === undefined ? [] : [name]), `mcp-bridge ${line}`, ...rest];
    const { stdout, stderr } = spawnSync(shell, args, {
      encoding: 'utf8',
      cwd,
      env: { ...process.env, PATH: `${bin}:${process.env.PATH}`, MCP_BRIDGE_SOCKET: socket },
    });
    expect(stderr).toBe('');
    return stdout.split('\n').filter(Boolean).sort();
  }

  test('commands, their second words, options, and what these take', ({ skip }) => {
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

  test('the names of servers, and of the tools of one', ({ skip }) => {
    skip(!isInstalled(shell), `there is no ${shell} here to try it with`);
    expect(offered('call ')).toEqual(['fixture', 'notes']);
    expect(offered('call --timeout 5 f')).toEqual(['fixture']);
    expect(offered('describe fixture ec')).toEqual(['echo']);
    expect(offered('describe --timeout 5 fixture ec')).toEqual(['echo']);
    expect(offered('search --server n')).toEqual(['notes']);
  });

  test('what can be decided, the programs that it can be put into, and who is connected', async ({ skip }) => {
    skip(!isInstalled(shell), `there is no ${shell} here to try it with`);
    const project = tempDir();
    const server = (command: string) => ({ mcpServers: { database: { command }, 'team-notes': { command } } });
    writeFiles(project, {
      '.git/HEAD': '',
      '.mcp.json': server('one'),
      '.cursor/mcp.json': { mcpServers: { drawings: { command: 'two' } } },
    });
    const caller = await daemon.connect();
    const meta = { 'mcp-bridge/role': 'server', 'mcp-bridge/serverName': 'dialled' };
    await caller.initialize(meta);
    const reviewer = await daemon.client({ 'mcp-bridge/clientId': 'reviewer' });
    const waiting = ['database', 'dialled', 'drawings', 'team-notes'];
    expect(offered('approve ', project)).toEqual(waiting);
    expect(offered('reject d', project)).toEqual(['database', 'dialled', 'drawings']);
    expect(offered('approve database te', project)).toEqual(['team-notes']);
    expect(offered('install cu')).toEqual(['cursor']);
    expect(offered('uninstall cursor co')).toContain('codex');
    expect(offered('send ')).toEqual(['reviewer']);
    expect(offered('logs -n 5 f')).toEqual(['fixture']);
    caller.destroy();
    reviewer.destroy();
    const nowhere = join(tempDir(), 'b.sock');
    const home = process.env.HOME ?? '';
    writeFiles(home, { '.cursor/mcp.json': { mcpServers: { sketches: { command: process.execPath } } } });
    expect(offered('call sk', project, nowhere)).toEqual(['sketches']);
    rmSync(join(home, '.cursor'), { recursive: true });
    expect(offered('send ', project, nowhere)).toEqual([]);
    expect(offered('approve ', project, nowhere)).toEqual(['database', 'drawings', 'team-notes']);
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

test.each([
  [['statsu'], 'There is no command statsu. Did you mean status'],
  [['status', '--jsno'], 'Unknown option --jsno. Did you mean --json?'],
  [['config', 'check', '--cofnig=x'], 'Unknown option --cofnig. Did you mean --config?'],
  [['connect', '--vew', 'all'], "Unknown option '--vew'. Did you mean --view?"],
  [['serve', '--log-levl=debug'], "Unknown option '--log-levl'. Did you mean --log-level?"],
])('%j is told what may have been meant', async (args, said) => {
  expect(await runCommand(args)).toMatchObject({ code: 2, stderr: expect.stringContaining(said) });
});
