// A client's own rules for the tools of its servers, when those go behind the bridge: what can be kept is kept for that
// client, the rest is said before anything is changed, and all of it is taken back.

import { describe, expect, test } from 'vitest';
import type { LostRule } from '../../../src/editing/client-entry.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { Home, REPLACING } from '../../support/editing-host.ts';

const OWN = '.config/mcp-bridge/config.json';
const FILES = { command: 'npx', args: ['-y', 'files'] };
const text = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`;

interface Config {
  readonly clients?: readonly {
    match: object;
    names?: object;
    toolRules?: { pattern: string[]; enabled: boolean }[];
  }[];
}

function claude(settings: object): Home {
  const home = new Home();
  home.write('.claude.json', text({ mcpServers: { filesystem: FILES, 'my notes': { command: 'notes' } } }));
  home.write('.claude/settings.json', text(settings));
  return home;
}

async function losing(home: Home, client: string): Promise<{ lost: readonly LostRule[]; lines: readonly string[] }> {
  const lost: LostRule[] = [];
  const { lines } = await home.install(client, {
    ...REPLACING,
    lose: async (rules) => void lost.push(...rules),
  });
  return { lost, lines };
}

const rulesOf = (home: Home): Config['clients'] => (home.json(OWN) as Config).clients;

describe('install --replace', () => {
  test('keeps Claude Code’s denials as rules for Claude Code', async () => {
    const deny = [
      'mcp__filesystem__write_file',
      'mcp__my_notes',
      'mcp__other__x',
      'Bash(rm *)',
      'mcp__file*__delete_*',
    ];
    const home = claude({ permissions: { deny } });
    const { lost, lines } = await losing(home, 'claude-code');
    const pattern = (...globs: string[]) => ({ pattern: globs, enabled: false });
    expect(rulesOf(home)).toEqual([
      {
        match: { client: 'claude-code' },
        toolRules: [pattern('filesystem:write_file'), pattern('my notes:*'), pattern('filesystem:delete_*')],
      },
    ]);
    expect(lost).toEqual([]);
    expect(lines.join('\n')).toContain('permissions.deny: "mcp__my_notes" in');
    const entry = (home.json('.claude.json') as { mcpServers: Record<string, { args: string[] }> }).mcpServers;
    expect(entry['mcp-bridge']?.args.slice(-2)).toEqual(['--client', 'claude-code']);
  });

  test('names what will be lost before it changes anything, and changes nothing if refused', async () => {
    const home = claude({
      permissions: { ask: ['mcp__filesystem__write_file'], allow: ['mcp__filesystem__read_file'] },
      hooks: {
        PreToolUse: [
          { matcher: 'mcp__filesystem__.*', hooks: [] },
          { matcher: 'Bash', hooks: [] },
        ],
      },
    });
    const before = home.read('.claude.json');
    const said: LostRule[] = [];
    const lose = async (rules: readonly LostRule[]): Promise<void> => {
      said.push(...rules);
      expect(home.read('.claude.json')).toBe(before);
      throw new BridgeError('REQUEST_REFUSED', 'No');
    };
    await expect(home.install('claude-code', { ...REPLACING, lose })).rejects.toThrow('No');
    expect([home.read('.claude.json'), home.read(OWN)]).toEqual([before, undefined]);
    const file = home.path('.claude/settings.json');
    expect(said).toEqual([
      { line: `permissions.ask: "mcp__filesystem__write_file" in ${file} asks nobody any more`, isDangerous: true },
      {
        line: `permissions.allow: "mcp__filesystem__read_file" in ${file} allows nothing any more: the client asks`,
        isDangerous: false,
      },
      { line: `hooks.PreToolUse: "mcp__filesystem__.*" in ${file} runs no more`, isDangerous: true },
    ]);
    const { lines } = await home.install('claude-code', { ...REPLACING, dryRun: true });
    expect(lines).toEqual(expect.arrayContaining(said.map(({ line }) => line)));
  });

  test('says of rules that hold in one project that they are lost', async () => {
    const home = new Home();
    const project = home.path('proj');
    home.write('.claude.json', text({ mcpServers: { filesystem: FILES }, projects: { [project]: {} } }));
    home.write('proj/.claude/settings.json', text({ permissions: { deny: ['mcp__filesystem__write_file'] } }));
    const { lost } = await losing(home, 'claude-code');
    expect(lost.map(({ line }) => line).join()).toContain('forbids nothing any more (it holds in one project only)');
  });

  test('says of settings that cannot be read that their rules are not known', async () => {
    const home = claude({});
    home.write('.claude/settings.json', '{"permissions": ');
    const { lost } = await losing(home, 'claude-code');
    expect(lost).toEqual([
      {
        line: `${home.path('.claude/settings.json')}: it cannot be read, and may have rules for tools`,
        isDangerous: true,
      },
    ]);
  });

  const FILTERS: readonly [client: string, file: string, content: string, rules: object[]][] = [
    [
      'codex',
      '.codex/config.toml',
      '[mcp_servers.files]\ncommand = "npx"\nargs = ["-y", "files"]\nenabled_tools = ["read", "write"]\ndisabled_tools = ["write"]\n',
      [
        { pattern: ['files:*'], enabled: false },
        { pattern: ['files:read', 'files:write'], enabled: true },
        { pattern: ['files:write'], enabled: false },
      ],
    ],
    [
      'gemini-cli',
      '.gemini/settings.json',
      text({ mcpServers: { files: { ...FILES, excludeTools: ['write'] } }, tools: { exclude: ['files__delete'] } }),
      [
        { pattern: ['files:write'], enabled: false },
        { pattern: ['files:delete'], enabled: false },
      ],
    ],
    [
      'opencode',
      '.config/opencode/opencode.json',
      text({
        mcp: { files: { type: 'local', command: ['npx', '-y', 'files'] } },
        tools: { 'files_write*': false },
        permission: { files_delete: 'deny' },
      }),
      [
        { pattern: ['files:delete'], enabled: false },
        { pattern: ['files:write*'], enabled: false },
      ],
    ],
    [
      'zed',
      '.config/zed/settings.json',
      text({
        context_servers: { files: { source: 'custom', ...FILES } },
        agent: { tool_permissions: { tools: { 'mcp:files:write': { default: 'deny' } } } },
      }),
      [{ pattern: ['files:write'], enabled: false }],
    ],
    [
      'windsurf',
      '.codeium/windsurf/mcp_config.json',
      text({ mcpServers: { files: { ...FILES, disabledTools: ['write'] } } }),
      [{ pattern: ['files:write'], enabled: false }],
    ],
    [
      'copilot-cli',
      '.copilot/mcp-config.json',
      text({ mcpServers: { files: { type: 'local', ...FILES, tools: ['read'] } } }),
      [
        { pattern: ['files:*'], enabled: false },
        { pattern: ['files:read'], enabled: true },
      ],
    ],
  ];

  test.each(FILTERS)(
    'keeps the rules of %s for tools, and gives its file back',
    async (client, file, content, toolRules) => {
      const home = new Home();
      home.write(file, content);
      expect((await losing(home, client)).lost).toEqual([]);
      expect(rulesOf(home)).toEqual([{ match: { client }, toolRules }]);
      await home.uninstall(client);
      expect([home.read(file), home.read(OWN)]).toEqual([content, undefined]);
    },
  );

  test('keeps Cursor’s denials, and names the tools that it allowed without asking', async () => {
    const home = new Home();
    home.write('.cursor/mcp.json', text({ mcpServers: { files: { ...FILES, alwaysAllow: ['read'] } } }));
    home.write(
      '.cursor/cli-config.json',
      text({ permissions: { allow: ['Mcp(files:read)'], deny: ['Mcp(files:w*)'] } }),
    );
    home.write('.cursor/permissions.json', text({ mcpAllowlist: ['files:*'] }));
    const { lost } = await losing(home, 'cursor');
    expect(rulesOf(home)?.[0]?.toolRules).toEqual([{ pattern: ['files:w*'], enabled: false }]);
    expect(lost.map(({ isDangerous }) => isDangerous)).toEqual([false, false, false]);
  });

  test('has a client go on to call its server by its own name, and the other one by another', async () => {
    const home = new Home();
    home.write('.claude.json', text({ mcpServers: { memory: { command: 'claudes' } } }));
    home.write('.cursor/mcp.json', text({ mcpServers: { memory: { command: 'cursors' } } }));
    await losing(home, 'cursor');
    expect(rulesOf(home)).toEqual([
      { match: { client: 'cursor' }, names: { memory: 'memory-cursor', 'memory-claude-code': 'memory' } },
    ]);
  });

  test('leaves the rest of the config, with its comments, and removes its own changes', async () => {
    const config =
      '{\n  // mine\n  "clients": [\n    { "match": { "client": "codex" }, "view": "all" } // keep\n  ]\n}\n';
    const home = claude({ permissions: { deny: ['mcp__filesystem__write_file'] } });
    home.write(OWN, config);
    await losing(home, 'claude-code');
    expect(home.read(OWN)).toContain('"view": "all" }');
    expect(home.read(OWN)).toContain('// keep');
    home.write(OWN, `${home.read(OWN) ?? ''}// changed since\n`);
    await home.uninstall('claude-code');
    const left = home.read(OWN) ?? '';
    expect(left).not.toContain('claude-code');
    expect(left).toContain('// mine');
    expect(left).toContain('"view": "all" }');
  });

  test('writes no entry that another one stands before, and says that the rules are lost', async () => {
    const home = claude({ permissions: { deny: ['mcp__filesystem__write_file'] } });
    home.write(OWN, text({ clients: [{ match: { name: '*' }, view: 'all' }] }));
    const { lost } = await losing(home, 'claude-code');
    expect(rulesOf(home)).toEqual([{ match: { name: '*' }, view: 'all' }]);
    expect(lost.map(({ line, isDangerous }) => [line.includes('clients[0]'), isDangerous])).toEqual([[true, true]]);
  });

  test('adds to the rules of an earlier one', async () => {
    const home = claude({ permissions: { deny: ['mcp__filesystem__write_file'] } });
    await losing(home, 'claude-code');
    const moved = home.json('.claude.json') as { mcpServers: Record<string, object> };
    home.write('.claude.json', text({ mcpServers: { ...moved.mcpServers, web: { command: 'web' } } }));
    home.write('.claude/settings.json', text({ permissions: { deny: ['mcp__web'] } }));
    await losing(home, 'claude-code');
    expect(rulesOf(home)?.map(({ toolRules }) => toolRules?.map(({ pattern }) => pattern))).toEqual([
      [['filesystem:write_file'], ['web:*']],
    ]);
    await home.uninstall('claude-code');
    expect(home.read(OWN)).toBeUndefined();
  });
});
