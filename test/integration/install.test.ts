// The commands that change config files, as a person uses them: the built command, in a home directory of the test's own.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { CLIENT_FILES } from '../support/editing-host.ts';
import { FIXTURE, PROGRAM, ROOT, tempDir } from '../support/test-daemon.ts';

const INITIALIZE =
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"script","version":"3"}}}\n';
const LIST = '{"jsonrpc":"2.0","method":"notifications/initialized"}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n';

let home: string;
let env: Record<string, string>;
beforeEach(() => {
  home = tempDir();
  env = {
    HOME: home,
    PATH: join(home, 'bin'),
    MCP_BRIDGE_SOCKET: join(home, 'b.sock'),
    XDG_CONFIG_HOME: '',
    XDG_STATE_HOME: '',
    XDG_CACHE_HOME: '',
  };
});

const run = (...args: string[]) => runCommand(args, { env, cwd: home });

function write(name: string, text: string, mode = 0o644): string {
  const path = join(home, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
  return path;
}

/** The client is not told of the variable of this shell. */
const socketArgs = (): string[] => ['--mcp-bridge-socket', env.MCP_BRIDGE_SOCKET ?? ''];
const read = (name: string): string => readFileSync(join(home, name), 'utf8');
const filesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(home.length + 1))
    .sort();

/** A file of each client with a server that has secrets everywhere, in a layout that nobody writes. */
const JSON_CONFIGS: Readonly<Record<string, [container: string, server: string]>> = {
  vscode: ['servers', '{"type":"stdio","command":"npx","args":["--key=sekrit"],"env":{"K":"sekrit"}}'],
  opencode: ['mcp', '{"type":"local","command":["npx","--token=sekrit"],"environment":{"K":"sekrit"}}'],
  zed: ['context_servers', '{"source":"custom","command":"npx","args":["--token","sekrit"],"env":{"K":"sekrit"}}'],
};
const USUAL: [string, string] = ['mcpServers', '{"command":"npx","args":["--key","sekrit"],"env":{"K":"sekrit"}}'];

function configOf(client: string): string {
  if (client === 'codex')
    return '# token: sekrit\r\nmodel = "m"\r\n\r\n[mcp_servers.gh]\r\ncommand = "npx"\r\nargs = ["--secret", "sekrit"]\r\n[mcp_servers.gh.env]\r\nK = "sekrit"';
  if (client === 'goose')
    return '# token: sekrit\nextensions:\n    gh:\n        type: stdio\n        cmd: npx\n        args: [--key=sekrit]\n        envs: {K: sekrit}\n        enabled: true\n# end\nkey: sekrit';
  const [container, server] = JSON_CONFIGS[client] ?? USUAL;
  return `\ufeff{\r\n\t// key: sekrit\r\n\t"other" : [ 1,2 ], "key":"sekrit",\r\n\t"${container}":{ "gh":${server} }, // Bearer sekrit\r\n}`;
}

test('a dry run names no file that stays as it is', async () => {
  const { stdout } = await run('install', 'cursor', '--replace', '--dry-run');
  expect(stdout.match(/^\+\+\+ .*/gm)).toEqual([`+++ ${join(home, '.cursor/mcp.json')}`]);
});

describe.each(Object.entries(CLIENT_FILES))('%s', (client, file) => {
  test('gets the bridge and gives its file back, byte for byte, with mode and link', async () => {
    const text = configOf(client);
    write('dotfiles/config', text, 0o640);
    mkdirSync(dirname(join(home, file)), { recursive: true });
    symlinkSync(join(home, 'dotfiles/config'), join(home, file));
    const planned = await run('install', client, '--replace', '--dry-run');
    expect(planned).toMatchObject({ code: 0, stderr: '' });
    expect(filesIn(home)).toEqual(['dotfiles/config']);
    const installed = await run('install', client, '--replace');
    expect(installed).toMatchObject({ code: 0, stderr: '' });
    expect(read(file)).toContain(PROGRAM);
    // The names of temporary directories have any letters.
    expect(read(file).replaceAll(home, '').replaceAll(PROGRAM, '')).not.toContain('gh');
    const undoing = await run('uninstall', client, '--dry-run');
    const undone = await run('uninstall', client);
    expect(undone).toMatchObject({ code: 0, stderr: '' });
    expect(read(file)).toBe(text);
    expect(statSync(join(home, file)).mode & 0o777).toBe(0o640);
    expect(filesIn(home)).toEqual([
      '.local/state/mcp-bridge/installs/lock',
      '.local/state/mcp-bridge/names.json', // what it is called stays so
      '.local/state/mcp-bridge/names.json.lock',
      'dotfiles/config',
    ]);
    const said = planned.stdout + installed.stdout + undoing.stdout + undone.stdout;
    expect(said).toContain('"gh" went to');
    expect(said).not.toContain('sekrit');
  });
});

/** The flag for a client that finds tools by itself. */
const viewOf = (client: string): string[] => (['claude-code', 'codex'].includes(client) ? ['--view', 'all'] : []);

describe('the entry that is written', () => {
  test('starts the bridge, with the servers that were moved behind it', async () => {
    const server = { command: process.execPath, args: [FIXTURE] };
    write('.cursor/mcp.json', JSON.stringify({ mcpServers: { mine: server } }));
    await run('install', 'cursor', '--replace');
    const { mcpServers } = JSON.parse(read('.cursor/mcp.json')) as {
      mcpServers: Record<string, { command: string; args: string[] }>;
    };
    expect(mcpServers).toEqual({
      'mcp-bridge': { command: process.execPath, args: [PROGRAM, 'connect', ...socketArgs()] },
    });
    const { stdout } = await runCommand(['connect'], { env, cwd: home, input: INITIALIZE + LIST });
    await run('stop');
    expect(stdout).toContain('"execute_tool"');
    expect(stdout).toMatch(/"instructions":"[^"]*\bsearch_tools\b/);
  });
});

describe('a client that has its own command', () => {
  const COMMANDS = {
    'claude-code': 'claude',
    vscode: 'code',
    codex: 'codex',
    'gemini-cli': 'gemini',
    'copilot-cli': 'copilot',
  };

  function command(name: string): void {
    const script = join(ROOT, 'test/fixtures/client-command.mjs');
    write(`bin/${name}`, `#!/bin/sh\nexec "${process.execPath}" "${script}" ${name} "$@"\n`, 0o755);
  }
  const calls = (): unknown[] =>
    existsSync(join(home, 'commands.log'))
      ? read('commands.log')
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line) as unknown)
      : [];
  const adding = (entry: { command: string; args: string[] }): Record<string, string[]> => ({
    claude: ['mcp', 'add-json', 'mcp-bridge', JSON.stringify({ type: 'stdio', ...entry }), '--scope', 'user'],
    code: ['--add-mcp', JSON.stringify({ name: 'mcp-bridge', type: 'stdio', ...entry })],
    codex: ['mcp', 'add', 'mcp-bridge', '--', entry.command, ...entry.args],
    gemini: ['mcp', 'add', '-s', 'user', 'mcp-bridge', entry.command, ...entry.args],
    copilot: ['mcp', 'add', 'mcp-bridge', '--', entry.command, ...entry.args],
  });

  test.each(Object.entries(COMMANDS))(
    '%s is asked through it, and still gives its bytes back',
    async (client, name) => {
      command(name);
      const file = CLIENT_FILES[client] ?? '';
      const text = client === 'codex' ? '# mine\n' : '{"a":1,\n\n"b":[1,2]}';
      for (const before of [text, undefined]) {
        if (before !== undefined) write(file, before);
        const { code, stdout, stderr } = await run('install', client);
        expect({ code, stderr, leaked: stdout.includes('sekrit') }).toEqual({ code: 0, stderr: '', leaked: false });
        expect(calls().at(-1)).toEqual([
          name,
          ...(adding({ command: process.execPath, args: [PROGRAM, 'connect', ...socketArgs(), ...viewOf(client)] })[
            name
          ] ?? []),
        ]);
        expect((await run('install', client)).stdout).toContain('already');
        await run('uninstall', client);
        if (before === undefined) expect(existsSync(join(home, file))).toBe(false);
        else expect(read(file)).toBe(before);
        rmSync(join(home, file), { force: true });
      }
      expect(calls()).toHaveLength(2);
    },
  );

  test('is not asked in a dry run, which says that it would be', async () => {
    command('claude');
    expect((await run('install', 'claude-code', '--dry-run')).stdout).toContain('claude would be asked to do it');
    expect(calls()).toEqual([]);
    expect(existsSync(join(home, '.claude.json'))).toBe(false);
  });

  test('that has changed its file since then is asked to remove the entry', async () => {
    command('claude');
    await run('install', 'claude-code');
    const content = JSON.parse(read('.claude.json')) as object;
    write('.claude.json', JSON.stringify({ ...content, numStartups: 7 }));
    expect((await run('uninstall', 'claude-code')).code).toBe(0);
    expect(calls().at(-1)).toEqual(['claude', 'mcp', 'remove', 'mcp-bridge', '--scope', 'user']);
    expect(JSON.parse(read('.claude.json'))).toEqual({ mcpServers: {}, numStartups: 7 });
  });

  test.each([
    ['fails', 'it ended with 3'],
    ['lies', 'the bridge is not in the file'],
  ])('that %s is reported, and the file is changed directly', async (mode, reason) => {
    command('claude');
    env.FAKE_CLIENT = mode;
    write('.claude.json', '{ "numStartups": 1 }\n');
    const { code, stdout } = await run('install', 'claude-code');
    expect(code).toBe(0);
    expect(stdout).toContain(`claude did not do it (${reason}), so the file was changed directly.`);
    expect(read('.claude.json')).toContain(PROGRAM);
    await run('uninstall', 'claude-code');
    expect(read('.claude.json')).toBe('{ "numStartups": 1 }\n');
  });

  test.each([
    ['breaks', 'it ended with 1'],
    ['ruins', 'the bridge is not in the file'],
  ])('that %s something is told about, and nothing more is done', async (mode, reason) => {
    command('claude');
    env.FAKE_CLIENT = mode;
    write('.claude.json', '{ "numStartups": 1 }\n');
    const { code, stderr } = await run('install', 'claude-code');
    expect(code).toBe(1);
    expect(stderr).toMatch(/claude has changed .*\.claude\.json, but /);
    expect(stderr).toContain(`${reason}. Look at the file. `);
    const [, copy = ''] = /(\S*backups\S*) is what was there\./.exec(stderr) ?? [];
    expect(readFileSync(copy, 'utf8')).toBe('{ "numStartups": 1 }\n');
    expect(read('.claude.json')).not.toContain(PROGRAM);
  });

  test('is not called for changes that it cannot make, or if the user does not want it', async () => {
    command('claude');
    write('.claude.json', '{"mcpServers":{"x":{"command":"x"}}}');
    await run('install', 'claude-code', '--replace');
    await run('uninstall', 'claude-code');
    await run('install', 'claude-code', '--no-client-cli');
    await run('uninstall', 'claude-code', '--no-client-cli');
    expect(calls()).toEqual([]);
  });
});

describe('install of several clients', () => {
  test('does one after the other, and uninstall too', async () => {
    expect(await run('install', 'cursor', 'kiro')).toMatchObject({ code: 0, stderr: '' });
    expect([read('.cursor/mcp.json'), read('.kiro/settings/mcp.json')].every((text) => text.includes(PROGRAM))).toBe(
      true,
    );
    await run('uninstall', 'cursor', 'kiro');
    expect(filesIn(home)).toEqual(['.local/state/mcp-bridge/installs/lock']);
  });
});

describe('install without a client', () => {
  test('lists the clients, which are here, and which have the bridge', async () => {
    write('.cursor/mcp.json', '{}');
    write('.kiro/settings/mcp.json', '{');
    await run('install', 'cursor');
    const { stdout, stderr } = await run('install');
    expect(stdout).toMatch(/^cursor +Cursor +yes +yes +~\/\.cursor\/mcp\.json$/m);
    expect(stdout).toMatch(/^zed +Zed +no +no +/m);
    expect(stdout).toMatch(/^kiro +Kiro +yes +\? +/m);
    expect(stderr).toContain('.kiro/settings/mcp.json:1:2:');
    const clients = JSON.parse((await run('install', '--json')).stdout) as { client: string; state: string }[];
    expect(clients).toHaveLength(15);
    expect(clients.filter(({ state }) => state === 'installed').map(({ client }) => client)).toEqual(['cursor']);
  });

  test.each([
    [['install', 'claude'], 'Did you mean claude-code'],
    [['uninstall', 'nobody'], 'install does not know the client nobody. It knows: claude-code, '],
    [['uninstall'], 'Name a client, such as'],
    [['remove'], 'Name a server, such as'],
    [['add'], 'Name a server, such as'],
    [['add', 'x', 'node', 'x.js'], 'Put -- before the command: mcp-bridge add x --'],
    [['add', 'x', 'npx', '-y', 'y'], 'put -- before the command'],
    [['add', 'x', '--url', 'https://me:sekrit@x.example'], "--header 'Authorization: "],
    [['install', 'cursor', '--', 'x'], '`install` takes no command line'],
    [['import'], 'Name the clients to import from, or --all'],
    [['import', '--all', 'cursor'], '--all takes no clients'],
    [['add', 'x'], 'Name a command behind --, or a --url'],
    [['add', 'x', '--url', 'https://x.example', '--', 'y'], 'either a command or a URL'],
    [['add', 'x', '--url', 'ftp://x.example'], 'must be an http or https URL'],
    [['add', 'x', '--url', 'https://x.example', '--env', 'A=1'], 'belong to a command'],
    [['add', 'x', '--type', 'sse', '--', 'y'], 'belong to a --url'],
    [['add', 'x', '--env', 'A', '--', 'y'], '--env is KEY=VALUE'],
    [['add', 'x', '--url', 'https://x.example', '--header', 'A'], "--header is 'Name: value'"],
  ])('%j is wrong usage', async (args, problem) => {
    const { code, stdout, stderr } = await run(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(problem);
    expect(stderr).not.toContain('sekrit');
    expect(filesIn(home)).toEqual([]);
  });
});

describe('add, import and remove', () => {
  const own = (): unknown => JSON.parse(read('.config/mcp-bridge/config.json'));

  test('take the command line of a server as it is', async () => {
    const line = ['npx', '-y', '--env', 'X=1', '01', '--', '--config'];
    const flags = ['--env', 'A=b=c', '--env', 'E=', '--cwd', 'work', '--description', 'Mine'];
    expect((await run('add', 'x', ...flags, '--', ...line)).stdout).toBe(
      '"x" was added to ~/.config/mcp-bridge/config.json\nThere is no npx on the PATH of this shell\nNo daemon runs yet; the next one offers it\n',
    );
    expect(own()).toEqual({
      mcpServers: {
        x: {
          command: 'npx',
          args: line.slice(1),
          env: { A: 'b=c', E: '' },
          cwd: join(home, 'work'),
          description: 'Mine',
        },
      },
    });
    expect((await run('add', 'x', '--', 'y')).stderr).toContain('already. Remove it first: mcp-bridge remove x');
    expect((await run('remove', 'x')).code).toBe(0);
    expect(own()).toEqual({ mcpServers: {} });
  });

  test('take a URL with its headers', async () => {
    await run('add', 'x', '--url', 'https://x.example/mcp', '--type', 'http', '--header', 'A: b:c', '--header', 'D: e');
    expect(own()).toEqual({
      mcpServers: { x: { url: 'https://x.example/mcp', type: 'http', headers: { A: 'b:c', D: 'e' } } },
    });
  });

  test('import copies other clients’ servers, and prints no secret', async () => {
    write('.cursor/mcp.json', '{"mcpServers":{"gh":{"command":"npx","args":["--token=sekrit"],"env":{"K":"sekrit"}}}}');
    const dry = await run('import', 'cursor', '--dry-run');
    const done = await run('import', '--all');
    expect(dry.stdout + done.stdout).not.toContain('sekrit');
    expect(own()).toEqual({
      mcpServers: { gh: { command: 'npx', args: ['--token=sekrit'], env: { K: 'sekrit' }, cwd: home } },
    });
  });
});
