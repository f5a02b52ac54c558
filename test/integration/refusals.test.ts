// One decision about a tool, whichever way somebody comes to it: the same table over all of them, with a real daemon.

import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

let daemon: TestDaemon;
let project: string;

beforeAll(async () => {
  const dir = realpathSync(tempDir());
  project = join(dir, 'project');
  mkdirSync(join(project, '.git'), { recursive: true });
  writeFileSync(join(project, '.git/HEAD'), '');
  writeFileSync(join(project, '.mcp.json'), JSON.stringify({ mcpServers: { pending: fixtureServer() } }));
  const config = {
    client: { view: 'discover' },
    mcpServers: { fixture: fixtureServer(), denied: fixtureServer() },
    discovery: { enabled: true, toolRules: [{ pattern: ['fixture:raw'], enabled: false }] },
    policy: { deniedMcpServers: [{ serverName: 'denied' }] },
  };
  daemon = await TestDaemon.start(config, { dir });
});
afterAll(() => daemon.stop());

/** What is called: a server, and one of its tools. */
const CASES = {
  allowed: ['fixture', 'echo'],
  disabled: ['fixture', 'raw'],
  'denied by policy': ['denied', 'echo'],
  'not approved': ['pending', 'echo'],
  'a tool that there is not': ['fixture', 'nope'],
  'a server that there is not': ['nowhere', 'echo'],
} as const;
type Case = keyof typeof CASES;

/** What a client in the project gets: an error's codes, or `answered`. */
async function inView(view: string, name: string, args: object): Promise<string> {
  const client = await daemon.connect();
  const greeting = await client.initialize({ 'mcp-bridge/view': view, 'mcp-bridge/cwd': project });
  const { error } = greeting.error === undefined ? await client.callTool(1, name, args) : greeting;
  client.destroy();
  return error === undefined ? 'answered' : `${error.code} ${error.data?.code ?? 'in the words of the server'}`;
}

async function inShell(...words: string[]): Promise<string> {
  const { code, stderr } = await runCommand([...words, '--mcp-bridge-socket', daemon.path], { cwd: project });
  return code === 0
    ? 'answered'
    : `${code} ${/is disabled|has no tool|There is no server|waits for approval/.exec(stderr)?.[0] ?? stderr}`;
}

const WAYS: Readonly<Record<string, (server: string, tool: string) => Promise<string>>> = {
  'server:NAME': (server, tool) => inView(`server:${server}`, tool, { text: 'x' }),
  all: (server, tool) => inView('all', `${server}__${tool}`, { text: 'x' }),
  execute_tool: (server, tool) => inView('discover', 'execute_tool', { server, tool, arguments: { text: 'x' } }),
  'execute_tool, arguments as a text': (server, tool) =>
    inView('discover', 'execute_tool', { server, tool, arguments: '{"text":"x"}' }),
  get_tool_details: (server, tool) => inView('discover', 'get_tool_details', { server, tool }),
  call: (server, tool) => inShell('call', server, tool, 'text=x'),
  'call --args': (server, tool) => inShell('call', server, tool, '--args', '{"text":"x"}'),
  describe: (server, tool) => inShell('describe', server, tool),
};

const NO_SERVER = { rpc: '-32601 SERVER_NOT_FOUND', shell: '1 There is no server' };
const DECISIONS: Readonly<Record<Case, { readonly rpc: string; readonly shell: string }>> = {
  allowed: { rpc: 'answered', shell: 'answered' },
  disabled: { rpc: '-32602 TOOL_DISABLED', shell: '1 is disabled' },
  // Nobody is told of a server that may not be used.
  'denied by policy': NO_SERVER,
  'not approved': { ...NO_SERVER, shell: '1 waits for approval' },
  'a tool that there is not': { rpc: '-32601 TOOL_NOT_FOUND', shell: '1 has no tool' },
  'a server that there is not': NO_SERVER,
};
const IN_A_SHELL = ['call', 'call --args', 'describe'];

/** The same decision everywhere; two ways say of what in other words. */
function expected(one: Case, way: string): string {
  const { rpc, shell } = DECISIONS[one];
  if (IN_A_SHELL.includes(way)) return shell;
  // A name in `all` is the name of a tool, and the protocol has -32602 for a tool that there is not.
  if (way === 'all') return rpc.replace(/^-32601 \w+_NOT_FOUND$/, '-32602 TOOL_NOT_FOUND');
  // A client that sees one server gets that one's own answer to what it does not have.
  if (way === 'server:NAME' && one === 'a tool that there is not') return '-32602 in the words of the server';
  return rpc;
}

describe.each(Object.keys(WAYS))('by %s', (way) => {
  test.each(Object.keys(CASES) as Case[])('%s', async (one) => {
    const [server, tool] = CASES[one];
    expect(await WAYS[way]?.(server, tool)).toBe(expected(one, way));
  });
});

test('forbidden tools are in no list, and no search finds them', async () => {
  const asked = async (view: string, method: string, params: object): Promise<string> => {
    const client = await daemon.client({ 'mcp-bridge/view': view, 'mcp-bridge/cwd': project });
    const { result } = await client.request(1, method, params);
    client.destroy();
    return JSON.stringify(result).replaceAll('\\"', '"');
  };
  const tool = (name: string, args: object) => asked('discover', 'tools/call', { name, arguments: args });
  const shell = async (...words: string[]): Promise<string> =>
    (await runCommand([...words, '--json', '--mcp-bridge-socket', daemon.path], { cwd: project })).stdout;
  const lists = {
    'server:fixture': await asked('server:fixture', 'tools/list', {}),
    all: await asked('all', 'tools/list', {}),
    list_tools: await tool('list_tools', { server: 'fixture' }),
    search_tools: await tool('search_tools', { query: 'echo', limit: 100 }),
    'search_tools for what is disabled': `echo ${await tool('search_tools', { query: 'raw', limit: 100 })}`,
    tools: await shell('tools'),
    search: await shell('search', 'echo', '--limit', '100'),
  };
  for (const [list, text] of Object.entries(lists))
    expect([list, text.includes('echo'), /"(?:fixture__)?raw"|denied|pending/.test(text)]).toEqual([list, true, false]);
  expect(await tool('list_mcp_servers', {})).not.toMatch(/"denied"|"pending"/);
  expect(await tool('list_tools', { server: 'fixture', includeDisabled: true })).toContain('"raw"');
});

test('the call of a server that may not be used has started nothing', async () => {
  const { instances } = await daemon.status();
  expect(instances.filter(({ pid }) => pid !== null).map(({ server }) => server)).toEqual(['fixture']);
});
