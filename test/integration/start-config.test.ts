// Which config the daemon gets that `start` or `restart` begins in some directory: it is for all clients of its user, and
// whoever wrote a repository decides nothing for them.

import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { writeFiles } from '../support/file-tree.ts';
import { onTerminalIn } from '../support/lasting-command.ts';
import { fixtureServer, tempDir } from '../support/test-daemon.ts';

let home: string;
let project: string;
let env: Record<string, string>;
let theirs: string;
let mine: string;

beforeEach(() => {
  home = tempDir();
  project = join(home, 'repository');
  theirs = join(project, 'mcp-bridge.config.json');
  mine = join(home, '.config/mcp-bridge/config.json');
  const xdg = { XDG_CONFIG_HOME: join(home, '.config'), XDG_STATE_HOME: join(home, 'state') };
  env = { ...xdg, HOME: home, MCP_BRIDGE_SOCKET: join(home, 'b.sock') };
  writeFiles('/', {
    [mine]: { mcpServers: { mine: fixtureServer() } },
    [theirs]: {
      client: { view: 'server:theirs' },
      mcpServers: { theirs: { command: 'sh', args: ['-c', 'touch owned'], env: { API_KEY: 'sk-very-secret' } } },
    },
  });
});
afterEach(async () => {
  await run('stop');
});

const run = (...args: string[]) => runCommand(args, { env, cwd: project });
const configFile = async (): Promise<unknown> =>
  (JSON.parse((await run('status', '--json')).stdout) as { configFile: unknown }).configFile;

test.each(['start', 'restart'])(
  '%s in a repository uses your own config if nobody can be asked, and says so',
  async (command) => {
    const { code, stderr } = await run(command);
    expect([code, stderr]).toEqual([
      0,
      `mcp-bridge: ${theirs} is not used: a daemon is for all of your clients, and there is no terminal to ask on. ` +
        `To use it: mcp-bridge ${command} --config ${theirs}\n`,
    ]);
    expect(await configFile()).toBe(mine);
    expect((await run('restart')).code).toBe(0);
    expect(await configFile()).toBe(mine);
  },
);

test('a script with --json is not asked', async () => {
  const { stdout, stderr } = await run('start', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ ranAlready: false });
  expect(stderr).toContain(`${theirs} is not used`);
  expect(await configFile()).toBe(mine);
});

test.each(['start', 'restart'])(
  '%s shows a repository’s config on a terminal, and uses it after a yes',
  async (command) => {
    const terminal = onTerminalIn({ env, cwd: project }, command);
    await terminal.until(/\[y\/N\]/);
    const all = terminal.said();
    expect(all).toContain(theirs.replace(home, '~'));
    expect(all).toMatch(/runs +sh -c 'touch owned'/);
    expect(all).toMatch(/variables +API_KEY/);
    expect(all).toMatch(/client\.view +"server:theirs"/);
    expect(all).not.toContain('very-secret');
    expect(existsSync(env.MCP_BRIDGE_SOCKET as string)).toBe(false);
    terminal.child.stdin.write('type y\\r\n');
    expect(await terminal.ended).toBe(0);
    expect(await configFile()).toBe(theirs);
  },
);

test('a no starts the daemon with your own config', async () => {
  const terminal = onTerminalIn({ env, cwd: project }, 'start');
  await terminal.until(/\[y\/N\]/);
  terminal.child.stdin.write('type \\r\n');
  expect(await terminal.ended).toBe(0);
  expect(terminal.said()).toContain('It starts with your own config.');
  expect(await configFile()).toBe(mine);
});

test('a program in a repository is not run before somebody has said yes', async () => {
  const ran = join(home, 'ran');
  const program = join(project, 'mcp-bridge.config.mjs');
  rmSync(theirs);
  writeFileSync(
    program,
    `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(ran)}, '');\nexport default {};\n`,
  );
  expect((await run('start')).stderr).toContain(`${program} is not used`);
  expect(await configFile()).toBe(mine);
  await run('stop');
  const terminal = onTerminalIn({ env, cwd: project }, 'start');
  await terminal.until(/\[y\/N\]/);
  expect(terminal.said()).toContain('It is a program, which runs when the daemon starts');
  expect(existsSync(ran)).toBe(false);
  terminal.child.stdin.write('type yes\\r\n');
  expect(await terminal.ended).toBe(0);
  expect(existsSync(ran)).toBe(true);
  expect(await configFile()).toBe(program);
});

test('a config that comes into the directory later counts for nothing', async () => {
  const other = join(home, 'other');
  writeFiles(other, { 'README.md': '' });
  expect(await runCommand(['start'], { env, cwd: other })).toMatchObject({ code: 0, stderr: '' });
  writeFileSync(join(other, 'mcp-bridge.config.json'), JSON.stringify({ mcpServers: {} }));
  expect(await runCommand(['restart'], { env, cwd: other })).toMatchObject({ code: 0, stderr: '' });
  expect(await configFile()).toBe(mine);
});

test('a broken config in a repository does not prevent starting', async () => {
  writeFileSync(theirs, '{ "mcpServers": {');
  const { code, stderr } = await run('start');
  expect([code, stderr]).toEqual([0, expect.stringContaining(`${theirs} is not used`)]);
  await run('stop');
  const terminal = onTerminalIn({ env, cwd: project }, 'start');
  expect(await terminal.ended).toBe(0);
  expect(terminal.said()).toContain('a closing brace is expected here');
  expect(await configFile()).toBe(mine);
});

test('--config and serve take it without a question, and so does start in your home', async () => {
  expect(await run('start', '--config', theirs)).toMatchObject({ code: 0, stderr: '' });
  expect(await configFile()).toBe(theirs);
  await run('stop');
  writeFileSync(join(home, 'mcp-bridge.config.json'), JSON.stringify({ mcpServers: {} }));
  expect(await runCommand(['start'], { env, cwd: home })).toMatchObject({ code: 0, stderr: '' });
  expect(await configFile()).toBe(join(home, 'mcp-bridge.config.json'));
});
