// What is found in the files of clients, in the words of the bridge.

import { describe, expect, test } from 'vitest';
import { discoverServers } from '../../../src/discovery/discovery.ts';
import { ownEntryOf } from '../../../src/editing/own-entry.ts';
import { memoryHost } from '../../support/memory-host.ts';

const ENV = { TOKEN: 'sekrit', BASE: 'https://base.example', MCP_BRIDGE_INPUT_API_KEY: 'sekrit' };

async function ownOf(path: string, content: unknown): Promise<unknown> {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  const host = memoryHost({
    platform: 'linux',
    homedir: '/home/me',
    cwd: '/home/me',
    env: ENV,
    files: { [`/home/me/${path}`]: { text } },
  });
  const { servers } = await discoverServers(host, { isToBeWritten: true });
  const [server] = servers;
  if (server === undefined) return undefined;
  if (server.state !== 'ready') return server.reason;
  const own = ownEntryOf(server);
  return own.kind === 'entry' ? own.entry : own.reason;
}

const cursor = (entry: object) => ownOf('.cursor/mcp.json', { mcpServers: { x: entry } });
const claude = (entry: object) => ownOf('.claude.json', { mcpServers: { x: entry } });
const URL = 'https://x.example/mcp';

describe('a server of a client', () => {
  test('keeps its command, its arguments, its variables and its directory', async () => {
    const entry = { command: '~/bin/x', args: ['a', '--b'], env: { A: '1' }, cwd: 'work' };
    expect(await cursor(entry)).toEqual({
      command: '/home/me/bin/x',
      args: ['a', '--b'],
      env: { A: '1' },
      cwd: '/home/me/work',
    });
  });

  test('runs in the directory that it ran in, though its client did not name one', async () => {
    expect(await cursor({ command: './x' })).toEqual({ command: './x', cwd: '/home/me' });
    const project = { '/home/me/p/.mcp.json': { text: '{"mcpServers":{"x":{"command":"./run.sh"}}}' } };
    const host = memoryHost({ platform: 'linux', homedir: '/home/me', cwd: '/home/me/p', env: ENV, files: project });
    const [server] = (await discoverServers(host)).servers;
    expect(server && ownEntryOf(server)).toMatchObject({ entry: { command: './run.sh', cwd: '/home/me/p' } });
  });

  test('has the directory of each client for its data, where the client would have started it there', async () => {
    const [here, fs] = [`\${PWD}`, '@modelcontextprotocol/server-filesystem'];
    const args = ['-y', fs, '.', './data', '../x', 'a/b'];
    expect(await claude({ command: 'npx', args })).toEqual({
      command: 'npx',
      args: ['-y', fs, here, `${here}/data`, `${here}/../x`, 'a/b'],
      cwd: '/home/me',
    });
    expect(await claude({ command: 'node', args: ['./server.js', '.'] })).toEqual({
      command: 'node',
      args: ['./server.js', here],
      cwd: '/home/me',
    });
    expect(await claude({ command: 'npx', args, cwd: '/srv' })).toEqual({ command: 'npx', args, cwd: '/srv' });
  });

  test('has the folder of VS Code left open in a user’s file, where one folder would stand for all', async () => {
    const [folder, token] = [`\${workspaceFolder}`, `\${env:TOKEN}`];
    const entry = { command: 'x', args: [`${folder}/a`], env: { ROOT: folder, T: token } };
    const text = JSON.stringify({ servers: { x: entry } });
    const files = { '/home/me/.config/Code/User/mcp.json': { text }, '/home/me/p/.git/HEAD': { text: '' } };
    const host = memoryHost({ platform: 'linux', homedir: '/home/me', cwd: '/home/me/p', env: ENV, files });
    const [server] = (await discoverServers(host, { isToBeWritten: true })).servers;
    expect(server && ownEntryOf(server)).toEqual({
      kind: 'entry',
      entry: { command: 'x', args: [`${folder}/a`], env: { ROOT: folder, T: token }, cwd: '/home/me' },
      filled: [],
    });
  });

  test.each<[string, () => Promise<unknown>, object]>([
    [
      'Cursor',
      () => cursor({ command: 'x', args: [`--t=\${env:TOKEN}`], env: { T: `\${env:TOKEN}`, L: 'text' } }),
      { args: [`--t=\${env:TOKEN}`], env: { T: `\${env:TOKEN}`, L: 'text' } },
    ],
    [
      'Claude Code',
      () => claude({ command: 'x', env: { T: `\${TOKEN}`, O: `\${NONE:-other}`, N: `a\${NONE}` } }),
      { env: { T: `\${env:TOKEN}`, O: `\${env:NONE:-other}`, N: `a\${env:NONE}` } },
    ],
    [
      'Gemini',
      () => ownOf('.gemini/settings.json', { mcpServers: { x: { command: 'x', env: { T: '$TOKEN', N: '$NONE' } } } }),
      { env: { T: `\${env:TOKEN}`, N: '' } },
    ],
    [
      'OpenCode',
      () =>
        ownOf('.config/opencode/opencode.json', {
          mcp: { x: { type: 'local', command: ['x'], environment: { T: '{env:TOKEN}' } } },
        }),
      { env: { T: `\${env:TOKEN:-}` } },
    ],
    [
      'Codex',
      () => ownOf('.codex/config.toml', '[mcp_servers.x]\ncommand = "x"\nenv_vars = ["TOKEN"]\n'),
      { env: { TOKEN: `\${env:TOKEN}` } },
    ],
    [
      'VS Code, where the environment gives an input,',
      () => ownOf('.config/Code/User/mcp.json', { servers: { x: { command: 'x', env: { T: `\${input:api-key}` } } } }),
      { env: { T: `\${env:MCP_BRIDGE_INPUT_API_KEY}` } },
    ],
    [
      'Claude Code, in a URL,',
      () => claude({ type: 'http', url: `https://x.example/mcp?key=\${TOKEN}` }),
      { type: 'http', url: `https://x.example/mcp?key=\${env:TOKEN}` },
    ],
  ])('of %s refers to a variable of the environment, and has a text as it is written', async (_, own, entry) => {
    const found = await own();
    expect(found).toMatchObject(entry);
    expect(JSON.stringify(found)).not.toContain('sekrit');
  });

  test.each<[string, () => Promise<unknown>, string]>([
    ['Cursor', () => cursor({ url: URL, headers: { A: `Bearer \${env:TOKEN}` } }), `Bearer \${TOKEN}`],
    ['Claude Code', () => claude({ type: 'sse', url: URL, headers: { A: `\${TOKEN:-none}` } }), `\${TOKEN:-none}`],
    [
      'Gemini',
      () => ownOf('.gemini/settings.json', { mcpServers: { x: { httpUrl: URL, headers: { A: '$TOKEN' } } } }),
      `\${TOKEN}`,
    ],
    [
      'OpenCode',
      () =>
        ownOf('.config/opencode/opencode.json', {
          mcp: { x: { type: 'remote', url: URL, headers: { A: 'Bearer {env:TOKEN}' } } },
        }),
      `Bearer \${TOKEN}`,
    ],
    [
      'Codex',
      () => ownOf('.codex/config.toml', `[mcp_servers.x]\nurl = "${URL}"\nenv_http_headers = { A = "TOKEN" }\n`),
      `\${TOKEN}`,
    ],
  ])('of %s keeps variables in headers as variables', async (_, own, header) => {
    expect(await own()).toMatchObject({ url: URL, headers: { A: header } });
  });

  test('has the place filled in where a header names a variable and a place, and not the variable', async () => {
    const headers = { A: `\${env:TOKEN} of \${userHome}` };
    expect(await cursor({ url: URL, headers })).toMatchObject({ headers: { A: `\${env:TOKEN} of /home/me` } });
  });

  test.each<[string, () => Promise<unknown>, RegExp]>([
    [
      'a header that is no variable there',
      () => cursor({ url: URL, headers: { A: `\${TOKEN}` } }),
      /take for a variable/,
    ],
    [
      'variables in a file that it names',
      () => ownOf('.config/Code/User/mcp.json', { servers: { x: { command: 'x', envFile: '/home/me/.env' } } }),
      /stand in \/home\/me\/\.env/,
    ],
    [
      'a value from another file',
      () =>
        ownOf('.config/opencode/opencode.json', {
          mcp: { x: { type: 'local', command: ['x'], environment: { T: '{file:~/token}' } } },
        }),
      /a value from a file/,
    ],
    ['a variable for its address', () => claude({ type: 'http', url: `\${BASE}/mcp` }), /written out/],
    [
      'a text that would be a variable there',
      () => claude({ command: 'x', env: { T: `\${env:TOKEN}` } }),
      /take for an input or a variable/,
    ],
    ['only some of its tools', () => cursor({ command: 'x', disabledTools: ['rm'] }), /only some of its tools/],
    ['OAuth settings of its own', () => claude({ type: 'http', url: URL, oauth: { other: 1 } }), /OAuth/],
    ['a control character in its name', () => ownOf('.cursor/mcp.json', '{"mcpServers":{"a\\tb":{}}}'), /^$/],
  ])('with %s is not one for the bridge', async (_, own, reason) => {
    expect((await own()) ?? '').toMatch(reason);
  });

  test('keeps what OAuth settings the bridge has too, a description and a timeout', async () => {
    const oauth = { clientId: 'me', scopes: 'a b', callbackPort: 4000 };
    expect(await claude({ type: 'http', url: URL, oauth, timeout: 5000, description: 'Mine' })).toEqual({
      type: 'http',
      url: URL,
      oauth: { clientId: 'me', scope: 'a b', callbackPort: 4000 },
      timeoutMs: 5000,
      description: 'Mine',
    });
  });

  test('keeps the time that it is given to start', async () => {
    expect(await ownOf('.codex/config.toml', '[mcp_servers.x]\ncommand = "x"\nstartup_timeout_sec = 40\n')).toEqual({
      command: 'x',
      cwd: '/home/me',
      startTimeoutMs: 40_000,
    });
  });

  test('with all tools named has no filter', async () => {
    const entry = { type: 'local', command: 'x', args: [], tools: ['*'] };
    expect(await ownOf('.copilot/mcp-config.json', { mcpServers: { x: entry } })).toEqual({
      command: 'x',
      cwd: '/home/me',
    });
  });
});
