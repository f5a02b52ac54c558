import { statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { KeptInputs } from '../../../src/discovery/inputs.ts';
import { ApprovalFile } from '../../../src/discovery/own-discovery.ts';
import { foundServers } from '../../../src/editing/found-servers.ts';
import { openOwnConfig } from '../../../src/editing/own-config.ts';
import { addServer, importServers, removeServers } from '../../../src/editing/own-servers.ts';
import { Home } from '../../support/editing-host.ts';

const OWN = '.config/mcp-bridge/config.json';
const HERE = { config: undefined };
const TEXT = '// mine\n{\n  "mcpServers": {\n    "a": { "command": "a" }, // a\n  },\n  "limits": {}\n}\n';

describe('the config of the bridge', () => {
  test('is made with the first server, for its user alone', async () => {
    const home = new Home();
    await addServer('x', { command: 'x' }, HERE, home.host);
    expect(home.json(OWN)).toEqual({ mcpServers: { x: { command: 'x' } } });
    expect(statSync(home.ownConfig).mode & 0o777).toBe(0o600);
  });

  test('gets a server and loses it again, and keeps everything else', async () => {
    const home = new Home();
    home.write(OWN, TEXT);
    expect(await addServer('x', { command: 'x' }, HERE, home.host)).toEqual([`"x" was added to ${home.ownConfig}`]);
    expect(home.read(OWN)).toContain('"a": { "command": "a" }, // a\n    "x": {\n      "command": "x"\n    },\n  },');
    expect(await removeServers(['x'], HERE, home.host)).toEqual([`"x" was removed from ${home.ownConfig}`]);
    expect(home.read(OWN)).toBe(TEXT);
  });

  test('is the one that the daemon finds first, or the one that is named', async () => {
    const home = new Home({ environment: { XDG_CONFIG_HOME: '' } });
    home.write('.config/mcp-bridge/config.jsonc', '{}');
    home.write('other.json', '{}');
    await addServer('x', { command: 'x' }, HERE, home.host);
    await addServer('y', { command: 'y' }, { config: 'other.json' }, home.host);
    expect(home.json('.config/mcp-bridge/config.jsonc')).toEqual({ mcpServers: { x: { command: 'x' } } });
    expect(home.json('other.json')).toEqual({ mcpServers: { y: { command: 'y' } } });
    expect(home.read(OWN)).toBeUndefined();
  });

  test.each<[string, Record<string, unknown>]>([
    ['neither a command nor a URL', {}],
    ['a URL that is none', { url: 'x' }],
    ['a key that is not known', { command: 'x', wrong: 1 }],
  ])('takes no server with %s', async (_, entry) => {
    const home = new Home();
    await expect(addServer('x', entry, HERE, home.host)).rejects.toMatchObject({ code: 'USAGE' });
    expect(home.read(OWN)).toBeUndefined();
  });

  test('has each name once, and says which there are', async () => {
    const home = new Home();
    home.write(OWN, TEXT);
    await expect(addServer('a', { command: 'x' }, HERE, home.host)).rejects.toMatchObject({
      code: 'SERVER_EXISTS',
      hint: 'Remove it first: mcp-bridge remove a',
    });
    await expect(removeServers(['b'], HERE, home.host)).rejects.toMatchObject({
      code: 'SERVER_NOT_FOUND',
      hint: 'There are: a',
    });
    home.write('.cursor/mcp.json', JSON.stringify({ mcpServers: { b: { command: 'b' } } }));
    await expect(removeServers(['b'], HERE, home.host)).rejects.toMatchObject({
      hint: 'It is defined in ~/.cursor/mcp.json (cursor): remove it there.',
    });
    expect(home.read(OWN)).toBe(TEXT);
  });

  test('that is a program is left to its author', async () => {
    const home = new Home();
    home.write('.config/mcp-bridge/config.ts', 'export default {}');
    await expect(addServer('x', { command: 'x' }, HERE, home.host)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      hint: expect.stringContaining('by hand'),
    });
  });
});

describe('import', () => {
  const servers = {
    a: { command: 'other' },
    b: { command: 'b', env: { K: 'sekrit' } },
    off: { command: 'x', disabled: true },
  };

  test('takes what is ready of the clients that are named, and says why the rest is left out', async () => {
    const home = new Home();
    home.write('.cursor/mcp.json', JSON.stringify({ mcpServers: servers }));
    home.write('.kiro/settings/mcp.json', JSON.stringify({ mcpServers: { c: { command: 'c' } } }));
    const dry = await importServers(['cursor'], { ...HERE, dryRun: true }, home.host);
    expect(dry.diff).not.toContain('sekrit');
    expect(dry.lines[0]).toBe(`"a" of cursor would go to ${home.ownConfig}`);
    expect(home.read(OWN)).toBeUndefined();
    const { lines } = await importServers(['cursor'], { ...HERE, dryRun: false }, home.host);
    expect(lines).toEqual([
      `"a" of cursor went to ${home.ownConfig}`,
      `"b" of cursor went to ${home.ownConfig}`,
      '"off" of cursor is left out: it is switched off in its client',
    ]);
    const cwd = home.dir;
    expect(home.json(OWN)).toEqual({ mcpServers: { a: { ...servers.a, cwd }, b: { ...servers.b, cwd } } });
    const again = await importServers('all', { ...HERE, dryRun: false }, home.host);
    expect(home.json(OWN)).toEqual({
      mcpServers: { a: { ...servers.a, cwd }, b: { ...servers.b, cwd }, c: { command: 'c', cwd } },
    });
    expect(again.lines).toContain('"a" of cursor is there already');
    expect(again.lines.filter((line) => line.includes('left out'))).toHaveLength(1);
  });

  test('takes what a project brings once it is approved, and nothing that the policy of the bridge blocks', async () => {
    const home = new Home();
    const project = { ...home.host, cwd: home.path('p') };
    home.write('p/.mcp.json', JSON.stringify({ mcpServers: { mine: { command: './run.sh' } } }));
    home.write('p/mcp-bridge.config.json', JSON.stringify({ mcpServers: { evil: { command: 'evil' } } }));
    home.write('.claude.json', JSON.stringify({ mcpServers: { bad: { command: 'bad' } } }));
    home.write(OWN, JSON.stringify({ policy: { deniedMcpServers: [{ serverName: 'bad' }] } }));
    const waiting = await importServers(['claude-code'], { ...HERE, dryRun: true }, project);
    expect(waiting.lines).toEqual([
      '"mine" of claude-code is left out: it comes with the project, and nobody has approved it yet',
      expect.stringMatching(/^"bad" of claude-code is left out: .*denied/),
    ]);
    const { others } = await foundServers(
      await openOwnConfig(undefined, project),
      { cwd: project.cwd, keepsNames: false },
      project,
    );
    const mine = others.filter(({ name, state }) => state === 'pending-approval' && name === 'mine');
    await new ApprovalFile(project.environment, home.dir).decide(mine, 'approved', new Date(0));
    await importServers(['claude-code'], { ...HERE, dryRun: false }, project);
    expect(home.json(OWN)).toMatchObject({ mcpServers: { mine: { command: './run.sh', cwd: home.path('p') } } });
    expect(Object.keys((home.json(OWN) as { mcpServers: object }).mcpServers)).toEqual(['mine']);
  });

  test('takes what another client has too, once', async () => {
    const home = new Home();
    const same = JSON.stringify({ mcpServers: { x: { command: 'npx', args: ['-y', 'x'] } } });
    home.write('.cursor/mcp.json', same);
    home.write('.kiro/settings/mcp.json', same);
    home.write('.claude.json', same);
    expect((await importServers(['kiro'], { ...HERE, dryRun: true }, home.host)).lines).toEqual([
      `"x" of kiro would go to ${home.ownConfig}`,
    ]);
    await importServers('all', { ...HERE, dryRun: false }, home.host);
    expect(Object.keys((home.json(OWN) as { mcpServers: object }).mcpServers)).toEqual(['x']);
  });

  test('writes a reference to an input, and never its value', async () => {
    const home = new Home();
    const entry = { command: 'gh', env: { TOKEN: `\${input:api-key}` } };
    home.write('.config/Code/User/mcp.json', JSON.stringify({ servers: { gh: entry } }));
    await new KeptInputs(home.host.environment, home.host.homedir).set('api-key', 'sekrit');
    const { lines } = await importServers('all', { ...HERE, dryRun: false }, home.host);
    expect(lines).toEqual([`"gh" of vscode went to ${home.ownConfig}`]);
    expect(home.json(OWN)).toEqual({ mcpServers: { gh: { ...entry, cwd: home.dir } } });
  });

  test('writes a reference to a variable of the environment, which is the same server the next time', async () => {
    const home = new Home({ environment: { TOKEN: 'sekrit' } });
    const entry = { command: 'gh', env: { TOKEN: `\${env:TOKEN}`, KEY: 'a text' } };
    home.write('.cursor/mcp.json', JSON.stringify({ mcpServers: { gh: entry } }));
    const { lines } = await importServers('all', { ...HERE, dryRun: false }, home.host);
    expect(lines).toEqual([`"gh" of cursor went to ${home.ownConfig}`]);
    expect(home.json(OWN)).toEqual({ mcpServers: { gh: { ...entry, cwd: home.dir } } });
    const again = await importServers('all', { ...HERE, dryRun: false }, home.host);
    expect(again.lines).toEqual(['"gh" of cursor is there already']);
  });

  test('does not know every name', async () => {
    const home = new Home();
    const attempt = async () => importServers(['curser'], { ...HERE, dryRun: false }, home.host);
    await expect(attempt()).rejects.toMatchObject({ code: 'USAGE', hint: 'Did you mean cursor?' });
    const other = async () => importServers(['0'], { ...HERE, dryRun: false }, home.host);
    await expect(other()).rejects.toMatchObject({ hint: expect.stringMatching(/: mcp-bridge discover --all$/) });
  });
});
