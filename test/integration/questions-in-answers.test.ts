// Clients of 2026-07-28 and servers of 2025 that ask something: the official SDK's client, in each view, over the socket and through
// `connect`.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { SocketTransport } from '../support/socket-transport.ts';
import { PROGRAM, ROOT, TestDaemon } from '../support/test-daemon.ts';

const FULL = join(ROOT, 'test/fixtures/servers/full.mjs');
const EVERYTHING = join(ROOT, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const FORM = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await TestDaemon.start({
    client: { view: 'server:full' },
    mcpServers: {
      full: { command: process.execPath, args: [FULL] },
      everything: { command: process.execPath, args: [EVERYTHING] },
    },
  });
});
afterAll(() => daemon.stop());

type Transport = Parameters<Client['connect']>[0];
type Negotiation = 'auto' | { readonly pin: '2026-07-28' };

/** Names the view in each request. */
class ViewTransport extends SocketTransport {
  readonly #view: string;

  constructor(view: string) {
    super(daemon.path);
    this.#view = view;
  }
  override send(message: { readonly params?: { readonly _meta?: object } }): Promise<void> {
    const _meta = { ...message.params?._meta, 'mcp-bridge/view': this.#view };
    return super.send({ ...message, params: { ...message.params, _meta } });
  }
}

const overSocket = (): Transport => new SocketTransport(daemon.path) as unknown as Transport;
const inView = (view: string) => (): Transport => new ViewTransport(view) as unknown as Transport;
const throughConnect = (): Transport =>
  new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, 'connect', '--mcp-bridge-socket', daemon.path],
  });

/** A client that answers what it is asked, and keeps it. */
async function connected(transport: Transport, mode: Negotiation): Promise<{ client: Client; asked: unknown[] }> {
  const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
  const client = new Client({ name: 'asked', version: '1' }, { capabilities, versionNegotiation: { mode } });
  const asked: unknown[] = [];
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params);
    return { action: 'accept', ...(params.mode !== 'url' && { content: { name: 'Ann' } }) };
  });
  client.setRequestHandler('sampling/createMessage', ({ params }) => {
    asked.push(params);
    return { role: 'assistant', model: 'm', content: { type: 'text', text: 'Hm.' } };
  });
  client.setRequestHandler('roots/list', () => {
    asked.push('roots');
    return { roots: [{ uri: 'file:///work', name: 'work' }] };
  });
  await client.connect(transport);
  return { client, asked };
}

const textOf = (result: unknown): string => (result as { content: { text: string }[] }).content[0]?.text ?? '';

interface Run {
  readonly title: string;
  readonly transport: () => Transport;
  readonly mode: Negotiation;
  readonly call: (client: Client, tool: string, args: Record<string, unknown>) => Promise<unknown>;
}

const byName =
  (prefix: string): Run['call'] =>
  (client, tool, args) =>
    client.callTool({ name: `${prefix}${tool}`, arguments: args });
const byExecution: Run['call'] = (client, tool, args) =>
  client.callTool({ name: 'execute_tool', arguments: { server: 'full', tool, arguments: args } });

const RUNS: readonly Run[] = [
  { title: 'over the socket', transport: overSocket, mode: { pin: '2026-07-28' }, call: byName('') },
  { title: 'over the socket, with auto', transport: overSocket, mode: 'auto', call: byName('') },
  { title: 'through connect', transport: throughConnect, mode: { pin: '2026-07-28' }, call: byName('') },
  { title: 'in the view all', transport: inView('all'), mode: { pin: '2026-07-28' }, call: byName('full__') },
  { title: 'in the view discover', transport: inView('discover'), mode: { pin: '2026-07-28' }, call: byExecution },
];

describe.each(RUNS)('the client of @modelcontextprotocol/client $title', ({ transport, mode, call }) => {
  test('answers questions of a server during its calls', async () => {
    const { client, asked } = await connected(transport(), mode);
    const form = await call(client, 'ask', { method: 'elicitation/create', params: FORM });
    expect(JSON.parse(textOf(form))).toEqual({ action: 'accept', content: { name: 'Ann' } });
    const sampling = { messages: [], maxTokens: 3 };
    const sampled = await call(client, 'ask', { method: 'sampling/createMessage', params: sampling });
    expect(JSON.parse(textOf(sampled))).toMatchObject({ content: { text: 'Hm.' } });
    expect(asked).toMatchObject([FORM, sampling]);
    await client.close();
  });

  test('shows a page that a server wants to be visited first, and makes the call again', async () => {
    const { client, asked } = await connected(transport(), mode);
    // The server asks for the page each time, so the SDK gives up after some rounds.
    await expect(call(client, 'visit', { elicitationId: 'e-1' })).rejects.toThrow();
    expect(asked.length).toBeGreaterThan(1);
    expect(asked[0]).toEqual({ mode: 'url', url: 'https://example.com/e-1', message: 'Sign in' });
    await client.close();
  });
});

test('server-everything asks a client of 2026 for a form and for a message', async () => {
  const { client, asked } = await connected(inView('server:everything')(), { pin: '2026-07-28' });
  const form = await client.callTool({ name: 'trigger-elicitation-request', arguments: {} });
  expect(JSON.stringify(form)).toContain('Ann');
  const message = await client.callTool({
    name: 'trigger-sampling-request',
    arguments: { prompt: 'Well?', maxTokens: 5 },
  });
  expect(JSON.stringify(message)).toContain('Hm.');
  expect(asked).toHaveLength(2);
  await client.close();
});

test('a retry of the same user may come on another connection, and each request is in the audit log', async () => {
  const audited = await TestDaemon.start({
    client: { view: 'server:full' },
    audit: {},
    mcpServers: { full: { command: process.execPath, args: [FULL] } },
  });
  const first = await RawRequests.open(audited.path);
  const params = { name: 'ask', arguments: { method: 'elicitation/create', params: FORM } };
  const { result } = await first.ask(1, params);
  expect(result).toMatchObject({ resultType: 'input_required' });
  first.close();
  const second = await RawRequests.open(audited.path);
  const retry = { ...params, requestState: result?.requestState, inputResponses: { q1: { action: 'decline' } } };
  const answer = await second.ask(1, retry);
  expect(textOf(answer.result)).toBe('{"action":"decline"}');
  expect(await second.ask(2, retry)).toMatchObject({ error: { code: -32602, data: { reason: 'used' } } });
  second.close();
  const file = join(audited.dir, '.local/state/mcp-bridge/audit.jsonl');
  const lines = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);
  await vi.waitFor(() => expect(lines()).toHaveLength(3));
  const records = lines().map((line) => JSON.parse(line) as { readonly outcome: string; readonly tool: string });
  expect(records.map(({ outcome }) => outcome)).toEqual(['asked', 'ok', 'refused']);
  for (const { tool } of records) expect(tool).toBe('ask');
  await audited.stop();
});

test('a retry may come in another view, where the tool has another name', async () => {
  const requests = await RawRequests.open(daemon.path);
  const args = { method: 'elicitation/create', params: FORM };
  const answers = { inputResponses: { q1: { action: 'decline' } } };
  const first = await requests.ask(1, { name: 'ask', arguments: args });
  const inAll = { name: 'full__ask', arguments: args, requestState: first.result?.requestState, ...answers };
  expect(textOf((await requests.ask(2, inAll, 'all')).result)).toBe('{"action":"decline"}');
  const second = await requests.ask(3, { name: 'full__ask', arguments: args }, 'all');
  const executed = { server: 'full', tool: 'ask', arguments: args };
  const inDiscover = {
    name: 'execute_tool',
    arguments: executed,
    requestState: second.result?.requestState,
    ...answers,
  };
  expect(textOf((await requests.ask(4, inDiscover, 'discover')).result)).toBe('{"action":"decline"}');
  requests.close();
});

interface Answer {
  readonly id?: unknown;
  readonly result?: { readonly requestState?: unknown };
  readonly error?: unknown;
}

/** Requests of 2026-07-28, written by hand. */
class RawRequests {
  readonly #transport: SocketTransport;
  readonly #waiting = new Map<unknown, (answer: Answer) => void>();

  private constructor(path: string) {
    this.#transport = new SocketTransport(path);
    this.#transport.onmessage = (message: Answer) => this.#waiting.get(message.id)?.(message);
  }
  static async open(path: string): Promise<RawRequests> {
    const requests = new RawRequests(path);
    await requests.#transport.start();
    return requests;
  }
  ask(id: number, params: object, view = 'server:full'): Promise<Answer> {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
      'mcp-bridge/view': view,
    };
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    void this.#transport.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { ...params, _meta } });
    return answered;
  }
  close(): void {
    void this.#transport.close();
  }
}
