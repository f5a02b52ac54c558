import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { approve } from '../../../../src/cli/commands/approve.ts';
import { type DiscoverValues, discover } from '../../../../src/cli/commands/discover.ts';
import { explainRule } from '../../../../src/cli/commands/policy.ts';
import { type FakeTerminal, fakeHost } from '../../../support/cli-host.ts';
import { writeFiles } from '../../../support/file-tree.ts';
import { temporaryDir } from '../../../support/temporary-dir.ts';

let home: string;
beforeEach(() => {
  home = temporaryDir();
  writeFiles(home, { 'p/.git/HEAD': '' });
});

const SEVERAL = {
  '.claude.json': {
    mcpServers: { github: { command: 'npx', args: ['-y', 'gh'] }, docs: { type: 'http', url: 'https://d/' } },
  },
  '.cursor/mcp.json': {
    mcpServers: {
      github: { command: 'npx', args: ['-y', 'gh'], autoApprove: ['x'] },
      off: { command: 'x', disabled: true },
    },
  },
  '.codex/config.toml': '[mcp_servers.github]\nurl = "https://g/"\nbearer_token_env_var = "GH"\n',
  '.gemini/settings.json': '{"mcpServers": {\n  "x": ',
  'p/.mcp.json': { mcpServers: { db: { command: 'db' }, bad: { args: [] } } },
};

interface Run extends DiscoverValues {
  readonly terminal?: FakeTerminal;
  readonly env?: Record<string, string>;
}

async function discovered({ terminal, env, ...values }: Run = {}): Promise<string> {
  const host = fakeHost(home, join(home, 'p'), terminal, env);
  expect(await discover(values, host)).toBe(0);
  return host.said();
}

test('usable servers come first, then waiting ones, each with source and reason', async () => {
  writeFiles(home, SEVERAL);
  expect(await discovered()).toBe(
    [
      'NAME          STATE             TRANSPORT  FROM                        WHY',
      'docs          ready             http       claude-code ~/.claude.json',
      'github        ready             stdio      claude-code ~/.claude.json  also in cursor',
      'github-codex  needs-input       http       codex ~/.codex/config.toml  it needs GH',
      'db            pending-approval  stdio      claude-code ~/p/.mcp.json   came with the project, not approved yet',
      'bad           invalid           -          claude-code ~/p/.mcp.json   it has neither a command nor a URL',
      '',
      'github is the name of different servers: claude-code:github (also cursor:github), codex:github',
      '',
      '! ~/.codex/config.toml: "github" names the variable GH, which is not set.',
      '! ~/.gemini/settings.json:2:8: a value is expected here. Correct the file. Nothing of it is used, but for what a daemon that runs has read of it before.',
      '! ~/p/.mcp.json: "bad" cannot be used: it has neither a command nor a URL.',
      '',
      'Not shown: 1 disabled, 1 duplicate. See: mcp-bridge discover --all',
      'One waits for you. Look at it with: mcp-bridge approve db',
      '',
    ].join('\n'),
  );
});

test('equal servers are grouped where conflicts are shown', async () => {
  const memory = (...args: string[]) => ({ mcpServers: { memory: { command: 'npx', args: ['-y', 'mem', ...args] } } });
  writeFiles(home, {
    '.claude.json': memory(),
    '.cursor/mcp.json': memory(),
    '.gemini/settings.json': memory('--other'),
    '.codeium/windsurf/mcp_config.json': memory(),
  });
  const text = await discovered({ all: true });
  const members = 'claude-code:memory (also cursor:memory, windsurf:memory), gemini-cli:memory';
  expect(text).toContain(`memory is the name of different servers: ${members}\n`);
  expect(text).toContain(`! ${members} all run npm:mem, with different arguments, environments or headers.\n`);
  expect(await discovered({ explain: 'memory' })).toContain(`Different servers of one name: ${members}.\n`);
});

test('entries that lead back to the bridge are called that', async () => {
  const bridge = { command: 'mcp-bridge', args: ['connect'] };
  writeFiles(home, { '.cursor/mcp.json': { mcpServers: { 'mcp-bridge': bridge } } });
  expect(await discovered()).toContain('\nNot shown: 1 entry of the bridge itself. See: mcp-bridge discover --all\n');
  writeFiles(home, { '.gemini/settings.json': { mcpServers: { 'mcp-bridge': bridge } } });
  expect(await discovered()).toContain('\nNot shown: 2 entries of the bridge itself.');
});

test('all of it is shown where that is asked for', async () => {
  writeFiles(home, SEVERAL);
  const text = await discovered({ all: true });
  expect(text).toMatch(/off +disabled +stdio +cursor ~\/\.cursor\/mcp\.json +it is switched off in its client/);
  expect(text).toMatch(/github-cursor +duplicate +.* +the same as claude-code:github/);
  expect(text).not.toContain('Not shown');
});

describe('on a terminal', () => {
  const lines = async (run: Run) => (await discovered(run)).split('\n').slice(0, 6);

  test('reasons that do not fit stand below the table, whole, and states have colours', async () => {
    writeFiles(home, SEVERAL);
    const all = (await discovered({ terminal: { columns: 80 } })).split('\n');
    const [, docs, , , db = ''] = all;
    expect(docs).toContain('\u001b[32mready\u001b[0m');
    expect(db).toContain('\u001b[33mpending-approval\u001b[0m');
    expect(stripVTControlCharacters(db)).toMatch(/^db .* claude-code ~\/p\/\.mcp\.json$/);
    expect(all).toContain('! db: came with the project, not approved yet');
    for (const line of all) expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(80);
  });

  test('on a wide one they stand in the table, and only paths are shortened', async () => {
    writeFiles(home, SEVERAL);
    const [, , , , db = ''] = await lines({ terminal: { columns: 120 } });
    expect(stripVTControlCharacters(db)).toMatch(/^db .*\.mcp\.json +came with the project, not approved yet$/);
  });

  test.each([[{ NO_COLOR: '1' }], [{ TERM: 'dumb' }]])('there are no colours with %j', async (env) => {
    writeFiles(home, SEVERAL);
    expect((await lines({ terminal: { columns: 200 }, env })).join('')).not.toContain('\u001b');
  });
});

test('if there is nothing, it says so, and what to do', async () => {
  expect(await discovered()).toBe(
    'No client has a server in its files in ~ and ~/p.\n' +
      'The clients and their files: /docs/discovery.md\n' +
      'To add a server for all clients: mcp-bridge add NAME -- COMMAND…\n',
  );
});

test('where there is nothing but the bridge, it says so too', async () => {
  writeFiles(home, { '.cursor/mcp.json': { mcpServers: { b: { command: 'mcp-bridge', args: ['connect'] } } } });
  expect(await discovered()).toMatch(
    /^No client has a server in its files[\s\S]*\n\nNot shown: 1 entry of the bridge itself\. See: mcp-bridge discover --all\n$/,
  );
  expect(await discovered({ all: true })).toMatch(/^NAME.*\nb +self /);
});

describe('--client', () => {
  test('shows the servers of one client, including shared ones, and the faults in its files', async () => {
    writeFiles(home, SEVERAL);
    const text = await discovered({ client: 'cursor' });
    expect(text).toMatch(/^NAME.*\ngithub +ready .*\n\n/);
    expect(text).not.toContain('! ~/.codex');
    expect(await discovered({ client: ['codex', 'gemini-cli'] })).toMatch(
      /github-codex[\s\S]*! ~\/\.codex[\s\S]*! ~\/\.gemini/,
    );
  });

  test('says where nothing was found of it', async () => {
    writeFiles(home, SEVERAL);
    expect(await discovered({ client: 'windsurf' })).toMatch(
      /^No server is defined for windsurf\. These files were looked for:\n {2}~\/\.codeium\/windsurf\/mcp_config\.json\n/,
    );
  });

  test('knows which client a wrong name is like', async () => {
    await expect(discovered({ client: 'cursr' })).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('cursor'),
    });
  });
});

test('--explain tells all about a name', async () => {
  writeFiles(home, SEVERAL);
  const text = await discovered({ explain: 'github' });
  expect(text).toContain(
    [
      'github of claude-code, ready',
      '  file     ~/.claude.json, at /mcpServers/github',
      '  of       claude-code, user',
      '  runs     npx -y gh',
      '  in       ~',
      '  also in  cursor (~/.cursor/mcp.json)',
      '  policy   allowed: no rule is about it',
      '',
    ].join('\n'),
  );
  expect(text).toContain('github-cursor (github) of cursor, duplicate: the same as claude-code:github\n');
  expect(text).toContain('  not heeded  autoApprove\n');
  expect(text).toContain('  ! ~/.codex/config.toml: "github" names the variable GH, which is not set.\n');
  expect(text).toMatch(
    /Used: github \(of claude-code\)\.\nThe same: claude-code:github, cursor:github\.\nDifferent servers of one name: .*\n$/,
  );
  await expect(discovered({ explain: 'gitub' })).rejects.toMatchObject({ hint: expect.stringContaining('github') });
});

test("--explain says where in the bridge's own config a server stands", async () => {
  writeFiles(home, { '.config/mcp-bridge/config.json': { mcpServers: { memory: { command: 'npx' } } } });
  const text = await discovered({ explain: 'memory' });
  expect(text.split('\n').slice(0, 3)).toEqual([
    "memory of the bridge's own config, ready",
    '  file    ~/.config/mcp-bridge/config.json, at /mcpServers/memory',
    "  of      the bridge's own config",
  ]);
  expect(text).toContain("Used: memory (of the bridge's own config).");
});

test('a definition that has changed since its approval is marked in the table, and explained in full', async () => {
  writeFiles(home, SEVERAL);
  await approve({ names: ['db'], yes: true }, fakeHost(home, join(home, 'p')));
  writeFiles(home, { 'p/.mcp.json': { mcpServers: { db: { command: 'db', args: ['-x'] } } } });
  expect(await discovered()).toMatch(/db +pending-approval .* changed since it was approved on \d{4}-\d\d-\d\d\n/);
  expect(await discovered({ explain: 'db' })).toMatch(/changed +since it was approved on .*\n +\+ argument -x\n/);
});

test('--cwd looks at the project of another directory', async () => {
  writeFiles(home, { 'q/.mcp.json': { mcpServers: { there: { command: 'x' } } } });
  expect(await discovered({ cwd: '../q' })).toContain('there');
  await expect(discovered({ cwd: 'no' })).rejects.toMatchObject({ code: 'USAGE' });
});

describe("the bridge's own files", () => {
  test('that are broken hide nothing', async () => {
    writeFiles(home, {
      ...SEVERAL,
      '.config/mcp-bridge/config.json': '{',
      '.local/state/mcp-bridge/approvals.json': '{',
    });
    const text = await discovered();
    expect(text).toContain('docs ');
    expect(text).toContain('! ~/.config/mcp-bridge/config.json:1:2: a closing brace is expected here');
    expect(text).toContain('! ~/.local/state/mcp-bridge/approvals.json ');
  });

  test('in a project wait for approval as others of it do, and a program among them is not run', async () => {
    writeFiles(home, {
      'p/mcp-bridge.config.json': { mcpServers: { brought: { command: 'x' } } },
      'p/mcp-bridge.config.js': 'throw new Error("run")',
      '.config/mcp-bridge/config.json': { mcpServers: { own: { command: 'x' } }, discovery: { enabled: false } },
    });
    const text = await discovered();
    expect(text).toMatch(/own +ready +stdio +bridge/);
    expect(text).toMatch(/brought +pending-approval +stdio +bridge ~\/p\/mcp-bridge\.config\.json/);
    expect(text).toContain('discovery.enabled is false in ~/.config/mcp-bridge/config.json.');
  });
});

test('JSON has all of it, and null where there is nothing', async () => {
  writeFiles(home, SEVERAL);
  const report = JSON.parse(await discovered({ json: true })) as { servers: { id: string }[] } & Record<
    string,
    unknown
  >;
  expect(Object.keys(report)).toEqual(['cwd', 'isEnabled', 'servers', 'diagnostics', 'groups', 'conflicts']);
  expect(report.servers.find(({ id }) => id === 'docs')).toEqual({
    ...{ id: 'docs', name: 'docs', alias: 'docs', client: 'claude-code', scope: 'user' },
    ...{ file: join(home, '.claude.json'), realpath: join(home, '.claude.json'), pointer: '/mcpServers/docs' },
    sources: [{ client: 'claude-code', scope: 'user', name: 'docs', file: join(home, '.claude.json') }],
    ...{
      state: 'ready',
      reason: null,
      missing: null,
      transport: 'http',
      command: null,
      args: [],
      cwd: null,
      url: 'https://d/',
    },
    ...{
      headersHelper: null,
      variables: [],
      executed: {},
      envFile: null,
      headers: [],
      host: 'd',
      inputs: [],
      timeoutMs: null,
      startupTimeoutMs: null,
    },
    ...{
      tools: { allow: null, deny: [] },
      ignored: [],
      description: '',
      policy: { isAllowed: true, rule: null, reason: null },
      decision: null,
      differences: [],
      takes: { headers: {}, variables: {}, url: [] },
    },
  });
});

test('a missing program is reported, with what is missing', async () => {
  writeFiles(home, {
    'bin/there': '#!/bin/sh\n',
    '.claude.json': {
      mcpServers: {
        ok: { command: 'there' },
        gone: { command: 'gone-program', args: ['x'] },
        path: { command: join(home, 'bin/none') },
        own: { command: 'there', env: { PATH: '/nowhere' } },
        dir: { command: 'there', args: ['d'], cwd: join(home, 'no-directory') },
      },
    },
  });
  chmodSync(join(home, 'bin/there'), 0o755);
  const env = { PATH: join(home, 'bin') };
  const shown = await discovered({ env });
  expect(shown).toMatch(/^ok +ready /m);
  expect(shown).toMatch(/^gone +missing +stdio .* there is no program gone-program in PATH$/m);
  expect(shown).toMatch(/^path +missing .* there is no program ~\/bin\/none$/m);
  expect(shown).toMatch(/^own +missing .* there is no program there in PATH$/m);
  expect(shown).toMatch(/^dir +missing .* there is no directory ~\/no-directory$/m);
  const explained = await discovered({ env, explain: 'gone' });
  expect(explained).toContain('gone of claude-code, missing: there is no program gone-program in PATH');
  expect(explained).toContain('None of gone can be used as it is.');
  const { servers } = JSON.parse(await discovered({ env, json: true })) as {
    servers: { name: string; missing: string | null }[];
  };
  expect(servers.find(({ name }) => name === 'gone')?.missing).toBe('there is no program gone-program in PATH');
  expect(servers.find(({ name }) => name === 'ok')?.missing).toBe(null);
});

test('--explain says why an entry was left out', async () => {
  writeFiles(home, { '.cursor/mcp.json': { mcpServers: { 'a\u202eb': { command: 'c' }, ok: { command: 'd' } } } });
  const shown = await discovered({ explain: 'a\u202eb' });
  expect(shown).toContain('was found, and left out:');
  expect(shown).toContain('~/.cursor/mcp.json: the entry at');
  expect(shown).not.toContain('\u202e');
  await expect(discovered({ explain: 'nowhere' })).rejects.toMatchObject({ code: 'SERVER_NOT_FOUND' });
});

test('--plugin shows an Agent Plugin that no setting names', async () => {
  writeFiles(home, {
    'plug/plugin.json': { name: 'plug' },
    'plug/mcp.json': { mcpServers: { s: { type: 'stdio', command: 'c' }, t: { type: 'stdio', command: '/abs' } } },
  });
  const shown = await discovered({ plugin: join(home, 'plug') });
  expect(shown).toMatch(/^plugin:plug:s +ready +stdio +agent-plugin /m);
  expect(shown).toMatch(/^plugin:plug:t +invalid .* its command is a name, or a path within the plugin/m);
});

describe('policy explain', () => {
  const explained = async (name: string): Promise<string> => {
    const host = fakeHost(home, join(home, 'p'));
    expect(await explainRule({ name }, host)).toBe(0);
    return host.said();
  };

  test('names the rule, for each definition of the name', async () => {
    const policy = { deniedMcpServers: [{ serverUrl: 'https://g/*' }, { serverUrl: 'g' }] };
    writeFiles(home, { ...SEVERAL, '.config/mcp-bridge/config.json': { policy } });
    const rule = 'policy.deniedMcpServers[0] in ~/.config/mcp-bridge/config.json';
    expect(await explained('codex:github')).toBe(
      `codex:github in ~/.codex/config.toml is blocked: it is denied by ${rule}.\n` +
        '! ~/.config/mcp-bridge/config.json: the rule policy.deniedMcpServers[1] fits nothing: a URL begins with its scheme; until it is corrected, every server is blocked.\n',
    );
    const mended = { deniedMcpServers: policy.deniedMcpServers.slice(0, 1) };
    writeFiles(home, { '.config/mcp-bridge/config.json': { policy: mended } });
    expect((await explained('github')).match(/is (?:blocked|allowed)/g)).toEqual([
      'is allowed',
      'is allowed',
      'is blocked',
    ]);
    expect(await explained('db')).toContain('is allowed: no rule is about it. Its state is pending-approval: ');
  });
});
