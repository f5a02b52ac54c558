// A client of 2025, made with the SDK of that time, through `connect` to a server that speaks the revision 2026-07-28 alone.

import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { cleanUp, PROGRAM, ROOT, TestDaemon } from '../support/test-daemon.ts';

const TWO_ERAS = join(ROOT, 'test/fixtures/servers/two-eras.mjs');
const ABLE = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };

let daemon: TestDaemon;
let atUrl: ChildProcess;
/** Has servers that are reached in other ways. */
let reached: TestDaemon;
const children: ChildProcess[] = [];
const socketServer = new WebSocketServer({ port: 0, host: '127.0.0.1' });
const clients: Client[] = [];

beforeAll(async () => {
  atUrl = spawn(process.execPath, [TWO_ERAS, 'only-2026', 'http'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const [port] = (await once(atUrl.stdout ?? atUrl, 'data')) as [Buffer];
  const two = { command: process.execPath, args: [TWO_ERAS, 'only-2026', 'stdio'] };
  const far = { url: `http://127.0.0.1:${String(port).trim()}/mcp` };
  daemon = await TestDaemon.start({ mcpServers: { two, far }, discovery: { enabled: false } });
  socketServer.on('connection', (socket) => {
    const child = spawned();
    socket.on('message', (data) => child.stdin.write(`${String(data)}\n`));
    socket.on('close', () => child.kill());
    createInterface({ input: child.stdout }).on('line', (line) => socket.send(line));
  });
  const socket = { url: `ws://127.0.0.1:${(socketServer.address() as AddressInfo).port}` };
  reached = await TestDaemon.start({ mcpServers: { socket }, dialIn: { dialled: {} } });
  await dialIn('dialled');
});

function spawned(): ChildProcessByStdio<Writable, Readable, null> {
  const child = spawn(process.execPath, [TWO_ERAS, 'only-2026', 'stdio'], { stdio: ['pipe', 'pipe', 'ignore'] });
  children.push(child);
  return child;
}

/** Has the server connect to the bridge: behind its registration it speaks as it does on its stdio. */
async function dialIn(name: string): Promise<void> {
  const link = connect(reached.path);
  const meta = { 'mcp-bridge/role': 'server', 'mcp-bridge/serverName': name };
  const clientInfo = { name: 'two-eras', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo, _meta: meta };
  link.write(`${JSON.stringify({ jsonrpc: '2.0', id: 'hello', method: 'initialize', params })}\n`);
  const [first] = (await once(link, 'data')) as [Buffer];
  const child = spawned();
  child.stdin.write(first.subarray(first.indexOf('\n') + 1));
  link.pipe(child.stdin);
  child.stdout.pipe(link);
}
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(async () => {
  await daemon.stop();
  await reached.stop();
  socketServer.close();
  for (const child of children) child.kill();
  atUrl.kill();
  expect(cleanUp()).toEqual([]);
});

async function connected(view: string, capabilities: object = ABLE): Promise<Client> {
  const client = new Client({ name: 'of-2025', version: '1' }, { capabilities });
  const { path, dir } = /socket|dialled/.test(view) ? reached : daemon;
  const args = [PROGRAM, 'connect', '--mcp-bridge-socket', path, '--view', view];
  clients.push(client);
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args,
      env: { ...process.env, XDG_CONFIG_HOME: dir } as Record<string, string>,
      stderr: 'ignore',
    }),
  );
  return client;
}

const textOf = (result: unknown): string =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join();

describe.each([
  ['server:two', ''],
  ['all', 'two__'],
  ['server:far', ''],
  ['server:socket', ''],
  ['server:dialled', ''],
])('in the view %s', (view, prefix) => {
  const call = (client: Client, name: string, args: object = {}, options = {}): Promise<unknown> =>
    client.callTool({ name: `${prefix}${name}`, arguments: args as Record<string, unknown> }, undefined, options);

  test('it shakes hands, and the server is told in each request who asks (D1, D2)', async () => {
    const client = await connected(view, { sampling: {} });
    if (prefix === '') {
      expect(client.getServerVersion()).toMatchObject({ name: 'two-eras', title: 'Two eras' });
      expect(client.getServerCapabilities()).toMatchObject({ extensions: { 'com.example/x': { y: 1 } } });
      expect(client.getInstructions()).toBe('Speaks both eras.');
    }
    const asker = JSON.parse(textOf(await call(client, 'asker'))) as Record<string, unknown>;
    expect(Object.values(asker)).toEqual(
      expect.arrayContaining(['2026-07-28', { name: 'of-2025', version: '1' }, { sampling: {} }]),
    );
    expect(await client.ping()).toEqual({});
  });

  test('a result has the members of its own era, and content that fits the schema it was shown (D3, D4)', async () => {
    const client = await connected(view);
    const { tools } = await client.listTools(); // from now on the SDK checks structured content
    const numbers = tools.find(({ name }) => name === `${prefix}numbers`);
    expect(numbers?.outputSchema).toMatchObject({ type: 'object', required: ['result'] });
    const result = (await call(client, 'numbers', { count: 3 })) as Record<string, unknown>;
    expect(result.structuredContent).toEqual({ result: [0, 1, 2] });
    expect(Object.keys(result)).not.toContain('resultType');
    expect(await call(client, 'add', { a: 1, b: 2 })).toMatchObject({ structuredContent: { sum: 3 } });
    const read = await client.readResource({ uri: 'note://one' });
    expect(read.contents).toMatchObject([{ uri: 'note://one', text: 'What note://one says' }]);
    expect(Object.keys(read)).toEqual(['contents']);
  });

  test('questions of the server reach it, in one round or several, and the call gets one answer (D5, D6)', async () => {
    const client = await connected(view);
    const asked: unknown[] = [];
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params);
      const { message } = params;
      const name = /first|last/.exec(message)?.[0] ?? 'answer';
      return { action: 'accept' as const, content: { [name]: `<${name}>` } };
    });
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      role: 'assistant' as const,
      model: 'm',
      content: { type: 'text' as const, text: 'sampled' },
    }));
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///work' }] }));
    expect(textOf(await call(client, 'confirm', { what: 'delete' }))).toBe('accept <answer>');
    expect(textOf(await call(client, 'both_names'))).toBe('<first> <last>');
    expect(textOf(await call(client, 'rounds', { count: 3 }))).toBe('3 rounds');
    expect(textOf(await call(client, 'later', { times: 2 }))).toBe('later, after 2');
    expect(textOf(await call(client, 'visit', { url: 'https://example.com/' }))).toBe('accept');
    expect(asked.at(-1)).toMatchObject({ mode: 'url', elicitationId: expect.stringMatching(/./) });
    expect(textOf(await call(client, 'sample', { text: 'hi' }))).toContain('sampled');
    expect(textOf(await call(client, 'roots'))).toContain('file:///work');
    expect(asked).toHaveLength(1 + 2 + 3 + 1);
  });

  test('it is told why, if it cannot be asked or refuses (D7)', async () => {
    const client = await connected(view, { elicitation: {} });
    const refused = await call(client, 'sample', { text: 'hi' });
    expect([(refused as { isError?: boolean }).isError, textOf(refused)]).toEqual([
      true,
      expect.stringMatching(/sampling/),
    ]);
    client.setRequestHandler(ElicitRequestSchema, () => {
      throw new Error('no time');
    });
    const failed = await call(client, 'confirm', { what: 'x' });
    expect([(failed as { isError?: boolean }).isError, textOf(failed)]).toEqual([
      true,
      expect.stringMatching(/no time/),
    ]);
    await expect(client.getPrompt({ name: `${prefix}ask` })).rejects.toThrow(/no time/);
  });

  test('it may cancel a call at the server, and one for which it is being asked (D8)', async () => {
    const client = await connected(view);
    const before = (JSON.parse(textOf(await call(client, 'seen'))) as { cancelled: unknown[] }).cancelled.length;
    const abort = new AbortController();
    const slow = call(client, 'slow', { ms: 60_000 }, { signal: abort.signal });
    await call(client, 'echo', { text: 'the slow one is there by now' });
    abort.abort();
    await expect(slow).rejects.toThrow();
    for (;;) {
      const seen = JSON.parse(textOf(await call(client, 'seen'))) as { cancelled: unknown[] };
      if (seen.cancelled.length > before) break;
    }
    const asking = new AbortController();
    const isAsked = new Promise<AbortSignal>((resolve) =>
      client.setRequestHandler(ElicitRequestSchema, (_, { signal }) => {
        resolve(signal);
        return new Promise((__, reject) => signal.addEventListener('abort', () => reject(new Error('cancelled'))));
      }),
    );
    const confirmed = call(client, 'confirm', { what: 'x' }, { signal: asking.signal });
    confirmed.catch(() => undefined);
    const question = await isAsked;
    const isTakenBack = new Promise((resolve) => question.addEventListener('abort', resolve));
    asking.abort();
    await isTakenBack;
    await expect(confirmed).rejects.toThrow();
  });

  test('it hears of lists that change and of resources that it has subscribed to (D9)', async () => {
    const client = await connected(view);
    const updated = new Promise((resolve) =>
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => resolve(params)),
    );
    const changed = new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));
    await client.listTools();
    await client.subscribeResource({ uri: 'note://two' });
    await call(client, 'touch', { uri: 'note://one' });
    await call(client, 'touch', { uri: 'note://two' });
    expect(await updated).toEqual({ uri: 'note://two' });
    await client.unsubscribeResource({ uri: 'note://two' });
    const name = `grown-${prefix}x`;
    await call(client, 'grow', { name });
    await changed;
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain(`${prefix}${name}`);
  });

  test('it sets the level of logs, and hears of progress (D11, D12)', async () => {
    const client = await connected(view);
    const logs: unknown[] = [];
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logs.push(params.data));
    await call(client, 'log', { level: 'error', data: 'before a level is set' });
    await client.setLoggingLevel('warning');
    await call(client, 'log', { level: 'info', data: 'too quiet' });
    await call(client, 'log', { level: 'error', data: 'loud' });
    expect(logs).toEqual(['loud']);
    // The SDK itself forgets progress that comes in one chunk with the answer, so what comes in is looked at.
    const steps: unknown[] = [];
    const { transport } = client;
    const take = transport?.onmessage;
    if (transport !== undefined)
      transport.onmessage = (message, extra) => {
        if ('method' in message && message.method === 'notifications/progress') steps.push(message.params?.progress);
        take?.(message, extra);
      };
    await call(client, 'progress', { steps: 3 }, { onprogress: () => undefined });
    expect(steps).toEqual([1, 2, 3]);
  });

  test('an unknown resource is an error that its era may have (D13)', async () => {
    const client = await connected(view);
    await expect(client.readResource({ uri: 'nothing://here' })).rejects.toMatchObject({
      code: prefix === '' ? -32602 : expect.any(Number),
    });
  });
});
