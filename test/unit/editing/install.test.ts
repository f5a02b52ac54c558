import { chmodSync, linkSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { KeptInputs } from '../../../src/discovery/inputs.ts';
import { targetNamed } from '../../../src/editing/client-config.ts';
import { foundServers } from '../../../src/editing/found-servers.ts';
import { openOwnConfig } from '../../../src/editing/own-config.ts';
import { addServer } from '../../../src/editing/own-servers.ts';
import { DIRECTLY, Home, REPLACING, UNDOING } from '../../support/editing-host.ts';

const CURSOR = '.cursor/mcp.json';
const CODE = '.config/Code/User/mcp.json';
const OWN = '.config/mcp-bridge/config.json';
const SERVERS = {
  github: { command: 'npx', args: ['-y', 'github'], env: { TOKEN: 'sekrit' } },
  web: { url: 'https://example.com/mcp', headers: { Authorization: `Bearer \${env:WEB_TOKEN}` } },
};
const text = (servers: object): string => `${JSON.stringify({ mcpServers: servers }, undefined, 2)}\n`;
const entryOf = (home: Home) => ({ command: '/usr/bin/node', args: [home.host.program, 'connect'] });

describe('the view that is written', () => {
  const argsOf = (home: Home, file: string): string[] =>
    (home.json(file) as { mcpServers: { 'mcp-bridge': { args: string[] } } }).mcpServers['mcp-bridge'].args;

  test('is all for a client that finds tools by itself, and none for one that gets discover anyway', async () => {
    const home = new Home();
    const { lines } = await home.install('claude-code');
    expect(argsOf(home, '.claude.json').slice(1)).toEqual(['connect', '--view', 'all']);
    expect(lines.join('\n')).toContain('It sees the view all, because it finds tools among many by itself');
    home.write(CURSOR, text(SERVERS));
    const cursor = await home.install('cursor');
    expect(argsOf(home, CURSOR).slice(1)).toEqual(['connect']);
    expect(cursor.lines.join('\n')).toContain('because it takes only so many tools at once');
  });

  test('is the one that the user wants, or none', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    await home.install('cursor', { ...DIRECTLY, view: 'toolset:few' });
    expect(argsOf(home, CURSOR).slice(1)).toEqual(['connect', '--view', 'toolset:few']);
    await home.install('claude-code', { ...DIRECTLY, view: 'config' });
    expect(argsOf(home, '.claude.json').slice(1)).toEqual(['connect']);
  });
});

describe('install', () => {
  test('twice is said, and changes nothing', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    await home.install('cursor');
    const after = home.read(CURSOR);
    const again = await home.install('cursor');
    expect(again.lines.slice(0, 1)).toEqual([`The bridge is in ${home.path(CURSOR)} already: "mcp-bridge"`]);
    expect(home.read(CURSOR)).toBe(after);
  });

  test('says of a client that is not here that it was not found, and to restart only one that is', async () => {
    const home = new Home();
    const { lines } = await home.install('kiro');
    const file = home.path('.kiro/settings/mcp.json');
    expect(lines).toEqual([
      `Kiro was not found here: "mcp-bridge" is in ${file}, for when it comes`,
      expect.stringContaining('It sees the view discover, unless the config says otherwise, because'),
    ]);
    home.write(CURSOR, text(SERVERS));
    expect((await home.install('cursor')).lines).toContain('Restart Cursor to use it.');
  });

  test('knows a client by the name that is shown of it, too', () => {
    for (const name of ['vscode', 'VS Code', 'VS CODE', 'vs-code']) expect(targetNamed(name).client).toBe('vscode');
    expect(targetNamed('Cursor').client).toBe('cursor');
    expect(() => targetNamed('claude')).toThrow('install does not know the client claude'); // it may be either
  });

  test('recognizes the bridge by the command, whatever its name', async () => {
    for (const entry of [
      { command: 'mcp-bridge', args: ['connect', '--view', 'all'] },
      { command: 'npx', args: ['-y', 'mcp-bridge', 'connect'] },
      { command: '/bin/sh', args: ['-c', 'mcp-bridge connect'] },
    ]) {
      const home = new Home();
      home.write(CURSOR, text({ tools: entry }));
      expect((await home.install('cursor')).lines[0]).toContain('already: "tools"');
      expect(home.read(CURSOR)).toBe(text({ tools: entry }));
    }
  });

  test('knows the bridge through a link to the program', async () => {
    const home = new Home();
    home.write('bin/x', '');
    symlinkSync(home.host.program, home.path('bin/mcpb'));
    home.write(CURSOR, text({ tools: { command: 'node', args: [home.path('bin/mcpb'), 'connect'] } }));
    expect((await home.install('cursor')).lines[0]).toContain('already: "tools"');
  });

  test('brings an entry up to date that starts this program where it was', async () => {
    const home = new Home();
    const old = { command: '/old/node', args: ['/old/mcp-bridge.cjs', 'connect'] };
    home.write(CURSOR, text({ a: { command: 'a' }, 'mcp-bridge': old }));
    await home.install('cursor');
    expect(home.json(CURSOR)).toEqual({ mcpServers: { a: { command: 'a' }, 'mcp-bridge': entryOf(home) } });
  });

  test('leaves a server alone that has the name and is something else', async () => {
    const home = new Home();
    home.write(CURSOR, text({ 'mcp-bridge': { command: 'other' } }));
    await expect(home.install('cursor')).rejects.toMatchObject({ code: 'SERVER_EXISTS' });
    expect(home.read(CURSOR)).toBe(text({ 'mcp-bridge': { command: 'other' } }));
  });

  test('names the config for the client too, where one is named', async () => {
    const home = new Home();
    await home.install('cursor', { ...REPLACING, config: 'my.json' });
    const { args } = entryOf(home);
    const entry = { command: '/usr/bin/node', args: [...args, '--config', home.path('my.json')] };
    expect(home.json(CURSOR)).toEqual({ mcpServers: { 'mcp-bridge': entry } });
  });

  test('says that other links to the file keep its old content', async () => {
    const home = new Home();
    linkSync(home.write(CURSOR, text(SERVERS)), home.path('other.json'));
    const { lines } = await home.install('cursor');
    expect(lines).toContain(`${home.path(CURSOR)} has another name by hard links, which keep what was in it before`);
    expect(home.read('other.json')).toBe(text(SERVERS));
  });

  test('names the socket for the client that would come to another one', async () => {
    const home = new Home();
    const { args } = entryOf(home);
    await home.install('cursor', { ...REPLACING, socket: '/run/b.sock' });
    const entry = { command: '/usr/bin/node', args: [...args, '--mcp-bridge-socket', '/run/b.sock'] };
    expect(home.json(CURSOR)).toEqual({ mcpServers: { 'mcp-bridge': entry } });
    const { lines } = await home.install('cursor', { ...REPLACING, socket: '/run/c.sock' });
    expect(lines.join()).toContain('It does not name the socket /run/c.sock: mcp-bridge uninstall cursor');
  });

  test('says that the client’s own servers stay, and appear twice', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    const { lines } = await home.install('cursor');
    expect(lines).toContain(
      "Cursor's own 2 servers stay too, and the bridge offers them as well; to move them behind it: mcp-bridge install cursor --replace",
    );
    expect((await home.install('kiro')).lines.join()).not.toContain('stay');
  });

  test('in a dry run shows the difference, and writes nothing at all', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    const { lines, diff } = await home.install('cursor', { ...REPLACING, dryRun: true });
    expect(lines[0]).toContain('would use');
    expect(diff).toContain('+    "mcp-bridge": {');
    expect(diff).toContain('-    "github": {');
    expect(diff).not.toContain('sekrit');
    expect(readdirSync(home.dir).sort()).toEqual(['.cursor', 'opt']);
  });

  test('keeps mode and link of the file, and copies it for its user alone', async () => {
    const home = new Home();
    home.write('dotfiles/mcp.json', text(SERVERS), 0o640);
    home.write('.cursor/x', '');
    symlinkSync('../dotfiles/mcp.json', home.path(CURSOR));
    await home.install('cursor');
    expect(statSync(home.path('dotfiles/mcp.json')).mode & 0o777).toBe(0o640);
    expect(home.read('dotfiles/mcp.json')).toContain('mcp-bridge.cjs');
    const backups = home.path('.local/state/mcp-bridge/backups');
    expect(statSync(backups).mode & 0o777).toBe(0o700);
    const [copy = ''] = readdirSync(backups);
    expect(statSync(`${backups}/${copy}`).mode & 0o777).toBe(0o600);
    expect(readFileSync(`${backups}/${copy}`, 'utf8')).toBe(text(SERVERS));
    await home.uninstall('cursor');
    expect(home.read('dotfiles/mcp.json')).toBe(text(SERVERS));
    expect(readdirSync(backups)).toEqual([]);
  });

  test.each([
    ['.cursor/mcp.json', '{ "mcpServers": {', 'cursor', ':1:'],
    ['.codex/config.toml', 'a = [', 'codex', ':1:'],
    ['.config/goose/config.yaml', 'a: 1\n---\nb: 2\n', 'goose', 'second document'],
    ['.config/zed/settings.json', '{"context_servers":[]}', 'zed', '"context_servers" must be an object'],
  ])('a broken %s is refused, and nothing is written', async (name, content, client, problem) => {
    const home = new Home();
    home.write(name, content);
    for (const change of [
      () => home.install(client),
      () => home.install(client, REPLACING),
      () => home.uninstall(client),
    ])
      await expect(change()).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(problem),
        hint: expect.stringContaining('nothing was changed'),
      });
    expect(home.read(name)).toBe(content);
    expect(home.read(OWN)).toBeUndefined();
  });

  test('a config of the bridge that is broken, or a program, stops a replacement before anything is written', async () => {
    for (const [name, code] of [
      ['config.json', '{'],
      ['config.js', 'export default {}'],
    ] as const) {
      const home = new Home();
      home.write(CURSOR, text(SERVERS));
      home.write(`.config/mcp-bridge/${name}`, code);
      await expect(home.install('cursor', REPLACING)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
      expect(home.read(CURSOR)).toBe(text(SERVERS));
    }
  });
});

describe('install --replace', () => {
  test('moves servers to the config of the bridge, in its words', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    const { lines } = await home.install('cursor', REPLACING);
    expect(lines).toContain(`"github" went to ${home.ownConfig}`);
    expect(home.json(CURSOR)).toEqual({ mcpServers: { 'mcp-bridge': entryOf(home) } });
    const web = { url: 'https://example.com/mcp', headers: { Authorization: `Bearer \${WEB_TOKEN}` } };
    expect(home.json(OWN)).toEqual({ mcpServers: { github: { ...SERVERS.github, cwd: home.dir }, web } });
    expect(statSync(home.ownConfig).mode & 0o777).toBe(0o600);
  });

  test('says which servers clients share from now on, which they do not, and why', async () => {
    const home = new Home();
    const npx = (name: string): object => ({ command: 'npx', args: ['-y', name] });
    const thinking = npx('@modelcontextprotocol/server-sequential-thinking');
    const memory = npx('@modelcontextprotocol/server-memory');
    home.write(CURSOR, text({ ...SERVERS, thinking, memory }));
    const { lines } = await home.install('cursor', REPLACING);
    expect(lines.filter((line) => line.includes(' process of ') || line.includes('at a time'))).toEqual([
      'Clients share one process of each of these: "github", "memory"',
      'Each client gets its own process of "thinking": it adds the thoughts of all its clients to one list',
      '"memory" gets one call at a time: it writes its whole file in each call, so that calls at the same time lose what the others write',
    ]);
  });

  test('says which servers only clients in the same directory share', async () => {
    const home = new Home();
    const inFolder = { command: 'x', args: [`\${workspaceFolder}/data`] };
    const at = { type: 'http', url: `https://h.example/\${workspaceFolder}` };
    home.write(CODE, `${JSON.stringify({ servers: { anywhere: { command: 'x' }, inFolder, at } })}\n`);
    const { lines } = await home.install('vscode', REPLACING);
    expect(lines.filter((line) => line.includes(' share one '))).toEqual([
      'Clients share one process of each of these: "anywhere"',
      'Clients that work in the same directory share one process of each of these: "inFolder"',
      'Clients that work in the same directory share one connection of each of these: "at"',
    ]);
  });

  test('moves a server with a stored input, as a reference, and one that names the open folder', async () => {
    const home = new Home();
    const { environment, homedir } = home.host;
    const servers = {
      kept: { command: 'gh', env: { TOKEN: `\${input:api-key}` } },
      at: { type: 'http', url: 'https://h.example/', headers: { Authorization: `Bearer \${input:api-key}` } },
      here: { command: 'x', args: [`\${workspaceFolder}/data`], cwd: `\${workspaceFolder}` },
      asks: { command: 'x', args: [`\${input:other}`] },
    };
    home.write(CODE, `${JSON.stringify({ servers })}\n`);
    await new KeptInputs(environment, homedir).set('api-key', 'sekrit');
    const { lines } = await home.install('vscode', REPLACING);
    expect(lines.filter((line) => line.includes('stays') || line.includes('written out'))).toEqual([
      '"asks" stays: it needs other',
    ]);
    const { mcpServers } = home.json(OWN) as { mcpServers: Record<string, object> };
    expect(mcpServers).toMatchObject({
      kept: { env: { TOKEN: `\${input:api-key}` } },
      at: { headers: { Authorization: `Bearer \${input:api-key}` } },
      here: { args: [`\${workspaceFolder}/data`], cwd: `\${workspaceFolder}` },
    });
    expect(home.read(OWN)).not.toContain('sekrit');
    expect((await home.install('vscode', REPLACING)).lines.filter((line) => line.includes('went'))).toEqual([]);
    await home.uninstall('vscode');
    expect(home.json(CODE)).toEqual({ servers });
  });

  test('does not move a text that the bridge would take for an input, and its client does not', async () => {
    const home = new Home();
    await new KeptInputs(home.host.environment, home.host.homedir).set('key', 'sekrit');
    home.write(CURSOR, text({ odd: { command: 'x', args: [`\${input:key}`] } }));
    expect((await home.install('cursor', REPLACING)).lines).toContain(
      '"odd" stays: it has a text that the bridge would take for an input or a variable',
    );
  });

  test('and uninstall list what is added and removed', async () => {
    const home = new Home();
    home.write(CURSOR, text({ ...SERVERS, memory: { command: 'one' } }));
    const { lines } = await home.install('cursor', REPLACING);
    expect(lines).toContain('Clients share one process of each of these: "github", "memory"');
    expect(lines).toContain('Clients share one connection of each of these: "web"');
    const planned = await home.uninstall('cursor', { ...UNDOING, dryRun: true });
    expect(planned.lines).toContain('"memory" would be there again');
    expect(planned.lines).toContain(`"memory" would be removed from ${home.ownConfig}`);
    const undone = await home.uninstall('cursor');
    for (const name of ['github', 'web', 'memory']) expect(undone.lines).toContain(`"${name}" is there again`);
    for (const name of ['github', 'web', 'memory'])
      expect(undone.lines).toContain(`"${name}" was removed from ${home.ownConfig}`);
  });

  test('leaves entries that it cannot move, and says why', async () => {
    const home = new Home();
    const odd = {
      off: { command: 'x', disabled: true },
      asks: { command: 'x', args: [`\${input:key}`, `\${workspaceFolder}`] },
      broken: { args: ['x'] },
      some: { command: 'x', disabledTools: ['rm'] },
    };
    home.write(CURSOR, text({ ...odd, tools: { command: 'mcp-bridge', args: ['connect'] } }));
    const { lines } = await home.install('cursor', REPLACING);
    expect(lines.filter((line) => !line.includes('"some"'))).toEqual([
      expect.stringContaining('already: "tools"'),
      '"off" stays: it is switched off in its client',
      '"asks" stays: it has a text that the bridge would take for an input or a variable',
      '"broken" stays: it has neither a command nor a URL',
      'Restart Cursor to use it.',
    ]);
    expect(Object.keys((home.json(OWN) as { mcpServers: object }).mcpServers)).toEqual(['some']);
  });

  test('names the other places that keep their servers, and copies no environment variable', async () => {
    const home = new Home({ environment: { TOKEN: 'sekrit' } });
    const uses = { command: 'x', env: { T: `\${env:TOKEN}`, H: `\${userHome}/h` } };
    home.write(CURSOR, text({ uses, home: { command: '~/x' }, web: SERVERS.web }));
    const { lines } = await home.install('cursor', REPLACING);
    expect(lines.filter((line) => line.includes('written out'))).toEqual([
      `"uses" went to ${home.ownConfig}, with userHome written out as now`,
    ]);
    expect(home.read(OWN)).not.toContain('sekrit');
    expect(home.json(OWN)).toMatchObject({
      mcpServers: { uses: { env: { T: `\${env:TOKEN}`, H: `${home.dir}/h` } } },
    });
    expect((await home.install('cursor', REPLACING)).lines.filter((line) => line.includes('went'))).toEqual([]);
  });

  test('renames a server that differs from the one of that name here, and keeps equal ones', async () => {
    const home = new Home();
    home.write(CURSOR, text({ ...SERVERS, 'a b': { command: 'a' } }));
    const before = text({ github: { command: 'other' }, 'a b': { command: 'a', cwd: home.dir } });
    home.write(OWN, before);
    const { lines } = await home.install('cursor', REPLACING);
    expect(lines).toContain(
      `"github" went to ${home.ownConfig} as "github-cursor", because the config has another "github"`,
    );
    expect(lines).toContain(`"a b" went: ${home.ownConfig} has the same`);
    expect(Object.keys((home.json(OWN) as { mcpServers: object }).mcpServers)).toEqual([
      'github',
      'a b',
      'github-cursor',
      'web',
    ]);
    await home.uninstall('cursor');
    expect(home.read(OWN)).toBe(before);
  });

  test('after a plain one moves the servers, and one uninstall undoes both', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    await home.install('cursor');
    await home.install('cursor', REPLACING);
    expect(home.json(CURSOR)).toEqual({ mcpServers: { 'mcp-bridge': entryOf(home) } });
    await home.uninstall('cursor');
    expect(home.read(CURSOR)).toBe(text(SERVERS));
    expect(home.read(OWN)).toBeUndefined();
  });

  test('of two clients in turn, each gets back its own', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    home.write('.kiro/settings/mcp.json', text({ github: { command: 'kiro' } }));
    await home.install('cursor', REPLACING);
    await home.install('kiro', REPLACING);
    await home.uninstall('cursor');
    expect(home.read(CURSOR)).toBe(text(SERVERS));
    expect(home.json(OWN)).toMatchObject({ mcpServers: { 'github-kiro': { command: 'kiro', cwd: home.dir } } });
    await home.uninstall('kiro');
    expect(home.read('.kiro/settings/mcp.json')).toBe(text({ github: { command: 'kiro' } }));
    expect(home.read(OWN)).toBeUndefined();
    expect(readdirSync(home.dir)).not.toContain('.config');
  });

  test('of two clients with the same server, neither takes it from the other', async () => {
    for (const [first, last] of [
      ['cursor', 'windsurf'],
      ['windsurf', 'cursor'],
    ] as const) {
      const home = new Home();
      const shared = { x: { command: 'npx', args: ['x'] } };
      home.write(CURSOR, text(shared));
      home.write('.codeium/windsurf/mcp_config.json', text({ ...shared, y: { command: 'y' } }));
      await home.install('cursor', REPLACING);
      await home.install('windsurf', REPLACING);
      const { lines } = await home.uninstall(first);
      expect(home.json(OWN)).toMatchObject({ mcpServers: { x: { command: 'npx' } } });
      if (first === 'cursor') expect(lines).toContain(`"x" stays in ${home.ownConfig}: windsurf uses it too`);
      await home.uninstall(last);
      expect(home.read(OWN)).toBeUndefined();
      expect(home.read(CURSOR)).toBe(text(shared));
    }
  });

  test('keeps a config of the bridge that was there, or that somebody has written into', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    await home.install('cursor', REPLACING);
    home.write(OWN, home.read(OWN)?.replace('{', '{ // mine') ?? '');
    await home.uninstall('cursor');
    expect(home.read(OWN)).toContain('// mine');
  });

  test('keeps ten copies of a file, and those that an uninstall needs', async () => {
    const home = new Home();
    const dir = home.path('.local/state/mcp-bridge/backups');
    const at = (n: number) => ({ ...home.host, now: () => new Date(n * 1000) });
    home.write(OWN, text({ mine: { command: 'mine' } }));
    home.write(CURSOR, text(SERVERS));
    await home.install('cursor', REPLACING, at(0));
    const needed = readdirSync(dir);
    for (let n = 1; n <= 20; n++) await addServer(`n${n}`, { command: 'x' }, { config: undefined }, at(n));
    expect(readdirSync(dir)).toHaveLength(needed.length + 10);
    expect(readdirSync(dir)).toEqual(expect.arrayContaining(needed));
  });

  test('keeps the copy that it has just made, also by a clock that has gone back', async () => {
    const home = new Home();
    const at = (n: number) => ({ ...home.host, now: () => new Date(n * 1000) });
    // One that somebody has changed since is not given its copy back, which stays.
    for (let n = 1; n <= 20; n++) {
      home.write(CURSOR, text({ [`n${n}`]: { command: 'x' } }));
      await home.install('cursor', DIRECTLY, at(100 + n));
      home.write(CURSOR, `${home.read(CURSOR)}\n`);
      await home.uninstall('cursor', UNDOING, at(100 + n));
    }
    expect(readdirSync(home.path('.local/state/mcp-bridge/backups'))).toHaveLength(10);
    home.write(CURSOR, '{"a":1}');
    await home.install('cursor', DIRECTLY, at(0));
    await home.uninstall('cursor', UNDOING, at(1));
    expect(home.read(CURSOR)).toBe('{"a":1}');
  });

  test('makes the config of the bridge readable for its user alone when secrets come into it', async () => {
    for (const [servers, mode] of [
      [{ a: { command: 'a' } }, 0o644],
      [SERVERS, 0o600],
    ] as const) {
      const home = new Home();
      home.write(CURSOR, text(servers));
      home.write(OWN, '{}', 0o644);
      const { lines } = await home.install('cursor', REPLACING);
      expect(statSync(home.ownConfig).mode & 0o777).toBe(mode);
      expect(lines.some((line) => line.includes('readable for you alone'))).toBe(mode === 0o600);
      expect(statSync(home.path(CURSOR)).mode & 0o777).toBe(0o644);
    }
  });

  test('takes no name that means something else to another client, and says so', async () => {
    const home = new Home();
    home.write('.codex/config.toml', '[mcp_servers.memory]\ncommand = "npx"\nargs = ["-y", "codex-memory"]\n');
    home.write(CURSOR, text({ memory: { command: 'npx', args: ['-y', 'memory'] } }));
    const { lines } = await home.install('codex', REPLACING);
    expect(lines).toContain(
      `"memory" went to ${home.ownConfig} as "memory-codex", because cursor has another "memory"`,
    );
    const args = ['-y', 'codex-memory'];
    expect(home.json(OWN)).toMatchObject({ mcpServers: { 'memory-codex': { command: 'npx', args, cwd: home.dir } } });
  });

  test('keeps the meaning of each name, for every client', async () => {
    for (const [client, own] of [
      ['claude-code', 'memory'],
      ['cursor', 'memory-cursor'],
    ] as const) {
      const home = new Home();
      home.write('.claude.json', text({ memory: { command: 'claudes-database' } }));
      home.write(CURSOR, text({ memory: { command: 'cursors-database' } }));
      await home.install(client, REPLACING);
      expect(Object.keys((home.json(OWN) as { mcpServers: object }).mcpServers)).toEqual([own]);
      const config = await openOwnConfig(undefined, home.host);
      const { all } = await foundServers(config, { cwd: home.dir, keepsNames: false }, home.host);
      const offered = all.filter(({ state }) => state === 'ready').map(({ id, command }) => [id, command]);
      expect(new Map(offered as [string, string][])).toEqual(
        new Map([
          ['memory', 'claudes-database'],
          ['memory-cursor', 'cursors-database'],
        ]),
      );
    }
  });

  test('adds no second copy of a server that the bridge has under another name', async () => {
    const home = new Home();
    home.write(CURSOR, text({ fetch: { command: 'npx', args: ['-y', 'fetcher@1'] } }));
    home.write('.kiro/settings/mcp.json', text({ web: { command: 'npx', args: ['fetcher@1'], timeout: 5000 } }));
    await home.install('cursor', REPLACING);
    const { lines } = await home.install('kiro', REPLACING);
    expect(lines).toContain(`"web" went: ${home.ownConfig} has the same as "fetch"`);
    expect(Object.keys((home.json(OWN) as { mcpServers: object }).mcpServers)).toEqual(['fetch']);
  });

  test('a policy of the administrator keeps its denied servers in their place', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    home.write('.claude/settings.json', JSON.stringify({ deniedMcpServers: [{ serverName: 'github' }] }));
    home.write('.claude.json', text(SERVERS));
    const { lines } = await home.install('claude-code', REPLACING);
    expect(lines.find((line) => line.startsWith('"github"'))).toMatch(/^"github" stays: /);
  });
});

describe('install --replace that is stopped', () => {
  const isThere = (home: Home, file: string, name: string): boolean =>
    Object.hasOwn((home.json(file) as { mcpServers?: object } | null)?.mcpServers ?? {}, name);

  test('at any moment loses no server, and can be done again or undone', async () => {
    for (let stop = 0; ; stop++) {
      const home = new Home();
      home.write(CURSOR, text(SERVERS));
      let steps = 0;
      const before = (): void => {
        if (steps++ === stop) throw new Error('stopped');
      };
      const stopped = await home.install('cursor', REPLACING, { ...home.host, before }).catch((error: Error) => error);
      for (const name of Object.keys(SERVERS))
        expect(isThere(home, CURSOR, name) || isThere(home, OWN, name)).toBe(true);
      if (stop % 2 === 0) {
        await home.install('cursor', REPLACING);
        expect(home.json(CURSOR)).toEqual({ mcpServers: { 'mcp-bridge': entryOf(home) } });
        expect(Object.keys((home.json(OWN) as { mcpServers: object }).mcpServers)).toEqual(['github', 'web']);
      }
      await home.uninstall('cursor');
      expect(home.read(CURSOR)).toBe(text(SERVERS));
      expect(home.read(OWN)).toBeUndefined();
      if (!(stopped instanceof Error)) return expect(stop).toBeGreaterThan(4);
    }
  });

  test('uninstall that is stopped loses none either, and can be done again', async () => {
    for (let stop = 0; ; stop++) {
      const home = new Home();
      home.write(CURSOR, text(SERVERS));
      await home.install('cursor', REPLACING);
      let steps = 0;
      const before = (): void => {
        if (steps++ === stop) throw new Error('stopped');
      };
      const stopped = await home.uninstall('cursor', UNDOING, { ...home.host, before }).catch((error: Error) => error);
      for (const name of Object.keys(SERVERS))
        expect(isThere(home, CURSOR, name) || isThere(home, OWN, name)).toBe(true);
      await home.uninstall('cursor');
      expect(home.read(CURSOR)).toBe(text(SERVERS));
      expect(home.read(OWN)).toBeUndefined();
      if (!(stopped instanceof Error)) return expect(stop).toBeGreaterThan(2);
    }
  });

  test('a file that somebody changes in between is left to them, and their change stays', async () => {
    for (const changed of [CURSOR, OWN]) {
      const home = new Home();
      home.write(CURSOR, text(SERVERS));
      home.write(OWN, '{}');
      const before = (step: string, path: string): void => {
        if (step === 'rename' && path === home.path(changed)) home.write(changed, text({ theirs: { command: 'x' } }));
      };
      const attempt = home.install('cursor', REPLACING, { ...home.host, before });
      await expect(attempt).rejects.toMatchObject({ code: 'FILE_CHANGED' });
      expect(home.read(changed)).toBe(text({ theirs: { command: 'x' } }));
      if (changed === OWN) expect(home.read(CURSOR)).toBe(text(SERVERS));
    }
  });

  test('two at once do not write over each other', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    const both = await Promise.allSettled([home.install('cursor'), home.install('kiro')]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(both[1]).toMatchObject({ reason: { hint: 'Try again when it is done.' } });
  });
});

describe('uninstall', () => {
  test('where the bridge is not has nothing to do', async () => {
    const home = new Home();
    expect((await home.uninstall('cursor')).lines).toEqual([`The bridge is not in ${home.path(CURSOR)}`]);
    expect(home.read(CURSOR)).toBeUndefined();
  });

  test.each([
    ['.config/zed/settings.json', 'zed', '// mine\n{\n  "theme": "One", // c\n}\n', ['One', 'Two']],
    ['.config/goose/config.yaml', 'goose', '# mine\nmodel: One\n', ['One', 'Two']],
    ['.codex/config.toml', 'codex', 'model = "One"\n', ['One', 'Two']],
  ] as const)('of a changed %s leaves no trace', async (name, client, before, [from, to]) => {
    const home = new Home();
    home.write(name, before);
    await home.install(client);
    home.write(name, home.read(name)?.replace(from, to) ?? '');
    await home.uninstall(client);
    expect(home.read(name)).toBe(before.replace(from, to));
  });

  test('without a record removes exactly the entries that lead to the bridge', async () => {
    const home = new Home();
    home.write(CURSOR, text({ a: { command: 'a' }, tools: { command: 'mcp-bridge', args: ['connect'] } }));
    await home.uninstall('cursor');
    expect(home.read(CURSOR)).toBe(text({ a: { command: 'a' } }));
  });

  test('after changes by others restores what is missing, and keeps their changes', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    await home.install('cursor', REPLACING);
    const { mcpServers } = home.json(CURSOR) as { mcpServers: object };
    home.write(CURSOR, text({ ...mcpServers, web: { url: 'https://new.example/' }, more: { command: 'more' } }));
    home.write(OWN, home.read(OWN)?.replace('"-y"', '"--yes"') ?? '');
    const { lines } = await home.uninstall('cursor');
    expect(home.json(CURSOR)).toEqual({
      mcpServers: { web: { url: 'https://new.example/' }, more: { command: 'more' }, github: SERVERS.github },
    });
    expect(Object.keys((home.json(OWN) as { mcpServers: object }).mcpServers)).toEqual(['github']);
    expect(lines).toContain(`"github" stays in ${home.ownConfig}: it was changed since`);
  });

  test.each([
    [
      '.cursor/mcp.json',
      'cursor',
      '{\n  "theme": "One",\n  "mcpServers": {\n    "a": { // why\n      "command" : "a" /* b */\n    }\n  }\n}\n',
    ],
    [
      '.codex/config.toml',
      'codex',
      'theme = "One"\n\n[mcp_servers.a]\ncommand = "a" # why\n[mcp_servers.a.env]\nK = \'1\' # c\n',
    ],
    [
      '.config/goose/config.yaml',
      'goose',
      'theme: One\nextensions:\n  a: # why\n    type: stdio\n    cmd: a # b\n    args: []\n',
    ],
  ])('after changes by others restores the content of %s with its comments', async (file, client, before) => {
    const home = new Home();
    home.write(file, before);
    await home.install(client, REPLACING);
    expect(home.read(file)).not.toMatch(/why/);
    home.write(file, home.read(file)?.replace('One', 'Two') ?? '');
    await home.uninstall(client);
    expect(home.read(file)).toBe(before.replace('One', 'Two'));
  });

  test('keeps the servers in the bridge if the client’s file is gone', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    await home.install('cursor', REPLACING);
    rmSync(home.path(CURSOR));
    const own = home.read(OWN);
    const { lines } = await home.uninstall('cursor');
    expect(home.read(OWN)).toBe(own);
    expect(lines.join()).toContain('the client has no file any more');
  });

  test('in a dry run says what it would do, and does nothing', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    await home.install('cursor', REPLACING);
    const [client, own] = [home.read(CURSOR), home.read(OWN)];
    const { diff } = await home.uninstall('cursor', { ...UNDOING, dryRun: true });
    expect(diff).toContain('-    "mcp-bridge": {');
    expect(diff).not.toContain('sekrit');
    expect([home.read(CURSOR), home.read(OWN)]).toEqual([client, own]);
  });

  test('does without a copy that somebody has removed', async () => {
    const home = new Home();
    home.write(CURSOR, text(SERVERS));
    await home.install('cursor', REPLACING);
    rmSync(home.path('.local/state/mcp-bridge/backups'), { recursive: true });
    await home.uninstall('cursor');
    expect(home.json(CURSOR)).toEqual({ mcpServers: SERVERS });
  });

  test('refuses a record that others could have written', async () => {
    const home = new Home();
    await home.install('cursor');
    const dir = home.path('.local/state/mcp-bridge/installs');
    for (const name of readdirSync(dir)) chmodSync(`${dir}/${name}`, 0o666);
    await expect(home.uninstall('cursor', { ...UNDOING, dryRun: true })).rejects.toMatchObject({
      code: 'FILE_UNUSABLE',
    });
  });
});

describe('OpenCode', () => {
  test('of the second version has its servers one level deeper', async () => {
    const home = new Home();
    const file = '.config/opencode/opencode.jsonc';
    const before = '{\n  "mcp": {\n    "servers": {\n      "a": { "type": "local", "command": ["a"] }\n    }\n  }\n}\n';
    home.write(file, before);
    await home.install('opencode', REPLACING);
    expect(home.json(file)).toEqual({
      mcp: {
        servers: { 'mcp-bridge': { type: 'local', command: ['/usr/bin/node', ...entryOf(home).args], enabled: true } },
      },
    });
    expect(home.json(OWN)).toEqual({ mcpServers: { a: { command: 'a', cwd: home.dir } } });
    await home.uninstall('opencode', UNDOING);
    expect(home.read(file)).toBe(before);
  });
});
