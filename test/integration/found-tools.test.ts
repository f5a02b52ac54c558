// The view `discover` with real servers behind it and a real client in front: search, details, execution.

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterEach, expect, test } from 'vitest';
import { textOf } from '../support/raw-client.ts';
import { fixtureServer, PROGRAM, ROOT, TestDaemon, tempDir } from '../support/test-daemon.ts';

const EVERYTHING = {
  command: process.execPath,
  args: [join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js'), 'stdio'],
};

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function bridge(config: object): Promise<TestDaemon> {
  const daemon = await TestDaemon.start({ client: { view: 'discover' }, ...config });
  ends.push(() => daemon.stop());
  return daemon;
}

async function sdkClient(daemon: TestDaemon): Promise<Client> {
  const client = new Client({ name: 'agent', version: '1' });
  const args = [PROGRAM, 'connect', '--mcp-bridge-socket', daemon.path];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }));
  ends.push(() => client.close());
  return client;
}

function textIn(result: object): string {
  const [content] = (result as { content: { text?: string }[] }).content;
  return content?.text ?? '';
}

async function say<Result>(client: Client, name: string, args: Record<string, unknown>): Promise<Result> {
  return JSON.parse(textIn(await client.callTool({ name, arguments: args }))) as Result;
}

interface Found {
  readonly results: readonly { server: string; tool: string; relevance: number }[];
}

test('an agent goes from a question to the answer of a tool that it has never heard of', async () => {
  const client = await sdkClient(await bridge({ mcpServers: { everything: EVERYTHING, fixture: fixtureServer() } }));
  expect((await client.listTools()).tools).toHaveLength(6);
  const { results } = await say<Found>(client, 'search_tools', { query: 'add two numbers' });
  const [best] = results;
  expect(best).toMatchObject({ server: 'everything', tool: 'get-sum' });
  const details = await say<{ inputSchema: { required: string[] } }>(client, 'get_tool_details', {
    server: 'everything',
    tool: 'get-sum',
  });
  expect(details.inputSchema.required).toEqual(['a', 'b']);
  const execute = (tool: string, args: object) =>
    client.callTool({ name: 'execute_tool', arguments: { server: 'everything', tool, arguments: args } });
  expect(textIn(await execute('get-sum', { a: 2, b: 40 }))).toContain('42');
  const { content } = (await execute('get-tiny-image', {})) as { content: { type: string }[] };
  expect(content.map(({ type }) => type)).toEqual(['text', 'image', 'text']);
  await expect(execute('get-sum', { a: 'x' })).rejects.toMatchObject({
    code: -32602,
    data: { success: false, error: { code: 'TOOL_ARGUMENTS_INVALID', server: 'everything', tool: 'get-sum' } },
  });
});

test('progress comes, and a cancellation goes, through execute_tool', async () => {
  const daemon = await bridge({ mcpServers: { fixture: fixtureServer() } });
  const client = await sdkClient(daemon);
  const seen: number[] = [];
  const execute = (tool: string, args: object, options: object) =>
    client.callTool(
      { name: 'execute_tool', arguments: { server: 'fixture', tool, arguments: args } },
      undefined,
      options,
    );
  // The SDK drops progress that comes together with the answer, so the answer waits until all has been heard.
  let hasHeard = (): void => undefined;
  const heard = new Promise<void>((resolve) => {
    hasHeard = resolve;
  });
  const onprogress = ({ progress }: { progress: number }): void => {
    if (seen.push(progress) === 2) hasHeard();
  };
  const answer = execute('hold', { steps: 2 }, { onprogress });
  await heard;
  expect(seen).toEqual([1, 2]);
  await execute('release', {}, {});
  expect(textIn(await answer)).toBe('released');
  const stop = new AbortController();
  const held = execute('hold', { steps: 1 }, { signal: stop.signal, onprogress: () => stop.abort() });
  await expect(held).rejects.toThrow();
  const { cancelled } = JSON.parse(textIn(await execute('seen', {}, {}))) as { cancelled: unknown[] };
  expect(cancelled).toHaveLength(1);
});

test('with rules, tools without a valid name are left out', async () => {
  const daemon = await TestDaemon.start({
    mcpServers: { fixture: fixtureServer() },
    discovery: { toolRules: [{ pattern: ['crash'], enabled: false }] },
  });
  const client = await daemon.client();
  for (const name of [['crash'], null, 7, { toString: 'crash' }, undefined]) {
    const { error } = await client.request(JSON.stringify(name) ?? 'none', 'tools/call', { name, arguments: {} });
    expect(error?.code).toBe(-32602);
  }
  const { methods } = JSON.parse(textOf(await client.callTool('seen', 'seen'))) as { methods: string[] };
  expect(methods.filter((method) => method === 'tools/call')).toHaveLength(1);
  client.destroy();
  await daemon.stop();
});

test('a rule that is new holds for clients that are connected, without a restart', async () => {
  const dir = tempDir();
  const config = (rules: object[]) => ({
    mcpServers: { fixture: fixtureServer() },
    client: { view: 'server:fixture' },
    discovery: { toolRules: rules },
  });
  const daemon = await TestDaemon.start(config([]), { dir });
  const client = await daemon.client();
  await client.request(1, 'tools/list');
  expect((await client.callTool(2, 'echo', { text: 'x' })).result).toBeDefined();
  mkdirSync(join(dir, 'new'));
  writeFileSync(join(dir, 'new/config.json'), JSON.stringify(config([{ pattern: ['fixture:ec*'], enabled: false }])));
  renameSync(join(dir, 'new/config.json'), join(dir, 'config.json'));
  for (let method: unknown; method !== 'notifications/tools/list_changed'; ) ({ method } = await client.next());
  expect((await client.callTool(3, 'echo', { text: 'x' })).error).toMatchObject({ data: { code: 'TOOL_DISABLED' } });
  const { result } = await client.request(4, 'tools/list');
  expect(JSON.stringify(result)).not.toContain('"echo"');
  expect((await daemon.status()).instances).toMatchObject([{ restarts: 0, state: 'ready' }]);
  client.destroy();
  await daemon.stop();
});

const RANKER = `export default (question, tools) => tools.map(({ tool }) => (tool === 'get-sum' ? 1 : undefined));`;

test('a configured ranker finds tools without matching words, and a faulty one is reported once', async () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'ranker.mjs'), RANKER);
  const search = { ranker: './ranker.mjs' };
  const daemon = await TestDaemon.start(
    { client: { view: 'discover' }, search, mcpServers: { everything: EVERYTHING } },
    { dir },
  );
  ends.push(() => daemon.stop());
  const client = await sdkClient(daemon);
  const { results } = await say<Found>(client, 'search_tools', { query: 'zebras' });
  expect(results.map(({ tool }) => tool)).toEqual(['get-sum']);
  const broken = await bridge({ mcpServers: { everything: EVERYTHING }, search: { ranker: './none.mjs' } });
  const other = await sdkClient(broken);
  for (const query of ['add two numbers', 'add numbers'])
    expect((await say<Found>(other, 'search_tools', { query })).results[0]?.tool).toBe('get-sum');
  expect(broken.log.match(/search\.ranker cannot be used/g)).toHaveLength(1);
});

test('a ranker in the config of a directory is not run, which the log says once', async () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'ranker.mjs'), RANKER);
  const config = { search: { ranker: './ranker.mjs' }, mcpServers: { everything: EVERYTHING } };
  writeFileSync(join(dir, 'mcp-bridge.config.json'), JSON.stringify({ ...config, client: { view: 'discover' } }));
  const daemon = await TestDaemon.start(undefined, { dir });
  ends.push(() => daemon.stop());
  const client = await sdkClient(daemon);
  expect((await say<Found>(client, 'search_tools', { query: 'zebras' })).results).toEqual([]);
  expect((await say<Found>(client, 'search_tools', { query: 'add numbers' })).results[0]?.tool).toBe('get-sum');
  expect(daemon.log.match(/only your own config may name one/g)).toHaveLength(1);
});
