// The commands that show definitions and decide about them, as the real command in a home of its own.

import { chmodSync, existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { type CommandResult, runCommand } from '../support/command.ts';
import { treeBelow, writeFiles } from '../support/file-tree.ts';
import { tempDir } from '../support/test-daemon.ts';

let home: string;
let env: Record<string, string>;
beforeEach(() => {
  home = realpathSync(tempDir());
  const xdg = { XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', XDG_CACHE_HOME: '' };
  env = { ...xdg, HOME: home, MCP_BRIDGE_SOCKET: join(home, 'b.sock') };
  writeFiles(home, { 'p/.git/HEAD': '' });
});

const run = (...args: string[]): Promise<CommandResult> => runCommand(args, { env, cwd: join(home, 'p') });

/** A program that leaves a mark when somebody runs it. */
function trap(name: string): string {
  writeFiles(home, { [name]: `#!/bin/sh\ntouch '${home}/${name}-was-run'\n` });
  chmodSync(join(home, name), 0o755);
  return join(home, name);
}

interface Report {
  readonly servers: readonly Record<string, unknown>[];
  readonly diagnostics: readonly { readonly code: string; readonly message: string }[];
}

describe('discover', () => {
  test('finds the servers of nine clients, starts nothing, and changes nothing', async () => {
    const server = { command: trap('program'), args: ['x'] };
    const servers = (name: string) => ({ mcpServers: { [name]: server } });
    writeFiles(home, {
      '.claude.json': servers('of-claude'),
      '.cursor/mcp.json': {
        mcpServers: { helped: { type: 'http', url: 'https://h.example/', headersHelper: trap('helper') } },
      },
      '.config/Code/User/mcp.json': { servers: { 'of-code': server } },
      '.codex/config.toml': `[mcp_servers.of-codex]\ncommand = "${server.command}"\nargs = ["y"]\n`,
      '.gemini/settings.json': servers('of-gemini'),
      '.config/opencode/opencode.json': { mcp: { 'of-opencode': { type: 'local', command: [server.command, 'z'] } } },
      '.config/goose/config.yaml': `extensions:\n  of-goose:\n    type: stdio\n    cmd: ${server.command}\n    args: [g]\n`,
      '.config/zed/settings.json': `{ /* mine */ "context_servers": { "of-zed": ${JSON.stringify(server)}, } }`,
      'p/.mcp.json': servers('of-project'),
      'p/mcp-bridge.config.js': `require('fs').writeFileSync('${home}/config-was-run', '')`,
    });
    const before = treeBelow(home);
    const { code, stdout, stderr } = await run('discover', '--all');
    expect([code, stderr]).toEqual([0, '']);
    for (const client of ['claude', 'code', 'codex', 'gemini', 'opencode', 'goose', 'zed', 'project'])
      expect(stdout).toMatch(new RegExp(`^of-${client} `, 'm'));
    expect(stdout).toMatch(/^helped +ready +http/m);
    for (const args of [
      ['discover', '--json'],
      ['discover', '--explain', 'helped'],
      ['policy', 'explain', 'helped'],
      ['approve'],
    ])
      expect((await run(...args)).code).toBe(0);
    expect(treeBelow(home)).toEqual(before);
  });

  test('one broken file, entry or variable hides nothing else, and each is told with its place', async () => {
    writeFiles(home, {
      '.claude.json': '{"mcpServers": {"lost": {"command": "s3cret-in-a-broken-file"',
      '.codex/config.toml': '[mcp_servers.lost]\ncommand = "s3cret\n',
      '.config/goose/config.yaml': 'extensions: [s3cret: : \n',
      '.cursor/mcp.json': {
        mcpServers: { bad: { args: 's3cret' }, good: { command: 'node', env: { N: { a: 's3cret' } } } },
      },
      '.config/Code/User/mcp.json': { servers: ['s3cret'] },
      '.gemini/settings.json/dir': '',
    });
    const { code, stdout } = await run('discover');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^good +ready/m);
    expect(stdout).toMatch(/^! ~\/\.claude\.json:1:\d+: /m);
    expect(stdout).toMatch(/^! ~\/\.codex\/config\.toml:2:\d+: /m);
    expect(stdout).toMatch(/^! ~\/\.config\/goose\/config\.yaml:\d+:\d+: /m);
    expect(stdout).toMatch(/^! ~\/\.cursor\/mcp\.json: "bad" cannot be used/m);
    expect(stdout).toMatch(/^! ~\/\.cursor\/mcp\.json: "good" has a value for N that is no text/m);
    expect(stdout).toMatch(/^! ~\/\.config\/Code\/User\/mcp\.json: \/servers must be an object/m);
    expect(stdout).toMatch(/^! ~\/\.gemini\/settings\.json is not a file/m);
    expect(stdout).not.toContain('s3cret');
    const report = JSON.parse((await run('discover', '--json')).stdout) as Report;
    expect(report.diagnostics.length).toBeGreaterThanOrEqual(7);
  });

  test('wrong usage is 2 with a hint', async () => {
    expect(await run('discover', '--client', 'cursr')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('cursor'),
    });
    expect(await run('discover', '--clients')).toMatchObject({ code: 2 });
    expect(await run('policy')).toMatchObject({ code: 2 });
    expect(await run('discover', '--explain', 'nobody')).toMatchObject({ code: 1, stdout: '' });
  });
});

const CANARIES = Array.from({ length: 20 }, (_, i) => `Canary${i}x${'abcdefghijklmnopqrst'[i]}Zq`);

/** Twenty secrets in all the places that people write them. */
function planted([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t]: readonly string[]): Record<
  string,
  unknown
> {
  return {
    process: {
      command: 'run',
      args: [
        '--api-key',
        a,
        `--token=${b}`,
        '-e',
        `ANY=${c}`,
        `MY_SECRET=${d}`,
        '-H',
        `X-Key: ${e}`,
        `https://u:${f}@h.example/`,
      ],
      env: { TOKEN: g, PLAIN: h, DATABASE_URL: `postgres://u:${i}@db/x` },
    },
    again: { command: 'sh', args: ['-c', `API_KEY=${j} run --password "${k}" -H 'Authorization: Bearer ${l}'`] },
    json: { command: 'run', args: ['--config', JSON.stringify({ clientSecret: m })], description: `Bearer ${n}` },
    remote: {
      type: 'http',
      url: `https://${o}@h.example/mcp?access_token=${p}&mode=fast#key=${q}`,
      headers: { Authorization: `Bearer ${r}`, 'X-Any': s },
      headersHelper: `curl -H "X-Auth-Token: ${t}" https://h.example`,
      oauth: { clientId: 'c', clientSecret: t },
    },
  };
}

describe('no secret', () => {
  test('is in the output or files of any of these commands', async () => {
    writeFiles(home, {
      '.cursor/mcp.json': { mcpServers: planted(CANARIES) },
      'p/.mcp.json': { mcpServers: planted(CANARIES) },
    });
    const names = ['process', 'again', 'json', 'remote'];
    const said = async (...args: string[]): Promise<void> => {
      const { stdout, stderr } = await run(...args);
      for (const canary of CANARIES) expect(`${stdout}${stderr}`, args.join(' ')).not.toContain(canary);
    };
    await said('discover', '--all');
    await said('discover', '--json');
    await said('approve');
    await said('approve', '--json');
    for (const name of names) {
      await said('discover', '--explain', name);
      await said('policy', 'explain', name);
      await said('approve', `claude-code:${name}`);
    }
    await said('approve', '--all-from', '.mcp.json', '--yes');
    writeFiles(home, { 'p/.mcp.json': { mcpServers: planted([...CANARIES].reverse()) } });
    for (const name of names) await said('approve', `claude-code:${name}`);
    await said('discover', '--json');
    const kept = readFileSync(join(home, '.local/state/mcp-bridge/approvals.json'), 'utf8');
    for (const canary of CANARIES) expect(kept).not.toContain(canary);
  }, 60_000);
});

describe('approve and reject', () => {
  test('two at once lose nothing, and a change asks again', async () => {
    writeFiles(home, {
      'p/.mcp.json': { mcpServers: { a: { command: 'a' }, b: { command: 'b' }, c: { command: 'c' } } },
    });
    const results = await Promise.all([run('approve', 'a', '--yes'), run('reject', 'b'), run('approve', 'c', '--yes')]);
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0]);
    const states = async (): Promise<unknown> => {
      const { servers } = JSON.parse((await run('discover', '--json')).stdout) as Report;
      return Object.fromEntries(servers.map(({ name, state }) => [name, state]));
    };
    expect(await states()).toEqual({ a: 'ready', b: 'rejected', c: 'ready' });

    writeFiles(home, { 'p/.mcp.json': { mcpServers: { a: { command: 'a', args: ['--more'] } } } });
    expect(await states()).toEqual({ a: 'pending-approval' });
    const shown = await run('approve', 'a');
    expect(shown).toMatchObject({ code: 1, stdout: expect.stringContaining('+ argument --more') });
    expect(shown.stderr).toBe(
      'mcp-bridge: Nothing was approved: there is no terminal to ask on. Having looked at it, add --yes.\n',
    );
    writeFiles(home, { 'p/.mcp.json': { mcpServers: { a: { command: 'a' } } } });
    expect(await states()).toEqual({ a: 'ready' });
  });

  test('decisions about a project are stored outside of it', async () => {
    writeFiles(home, { 'p/.mcp.json': { mcpServers: { a: { command: 'a' } } } });
    const before = treeBelow(join(home, 'p'));
    await run('approve', 'a', '--yes');
    expect(treeBelow(join(home, 'p'))).toEqual(before);
    expect(existsSync(join(home, '.local/state/mcp-bridge/approvals.json'))).toBe(true);
  });

  test('several of one name are listed, as wrong usage', async () => {
    writeFiles(home, {
      'p/.mcp.json': { mcpServers: { a: { command: 'a' } } },
      'p/.cursor/mcp.json': { mcpServers: { a: { command: 'b' } } },
    });
    expect(await run('approve', 'a', '--yes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('claude-code:a or cursor:a'),
    });
    expect(await run('approve', 'cursor:a', '--yes')).toMatchObject({ code: 0 });
  });
});
