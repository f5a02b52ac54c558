// The clients of both lines of the SDK, at servers of both eras, in every view and over every way: the same tools are listed
// and called, make progress, and ask.

import { join } from 'node:path';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { BRIDGES, type Bridge } from '../support/bridges.ts';
import type { RawClient } from '../support/raw-client.ts';
import { ROOT } from '../support/test-daemon.ts';

const SERVERS = { old: 'main.mjs', new: 'era-2026.mjs' };
const CONFIG = {
  mcpServers: Object.fromEntries(
    Object.entries(SERVERS).map(([name, file]) => [
      name,
      { command: process.execPath, args: [join(ROOT, 'test/conformance/server', file)] },
    ]),
  ),
};

interface Message {
  readonly method?: string;
  readonly params?: { readonly _meta?: Readonly<Record<string, unknown>> };
}

/** The SDK's transport over a connection that is there; it says which view the client wants. */
class ViewTransport {
  onclose?: () => void;
  // The two lines of the SDK disagree on this type, and agree on what it holds.
  onmessage?: (message: never) => void;
  readonly #raw: RawClient;
  readonly #view: string;

  constructor(raw: RawClient, view: string) {
    this.#raw = raw;
    this.#view = view;
  }

  start(): Promise<void> {
    void this.#read();
    return Promise.resolve();
  }

  async #read(): Promise<void> {
    try {
      for (;;) {
        const message = (await this.#raw.next()) as never;
        this.onmessage?.(message); // which the SDK sets anew when it has found out the era
      }
    } catch {
      this.onclose?.(); // the connection has ended
    }
  }

  send(message: Message): Promise<void> {
    const own = message.params?._meta;
    const saysWho = message.method === 'initialize' || own?.['io.modelcontextprotocol/protocolVersion'] !== undefined;
    const _meta = { ...own, 'mcp-bridge/view': this.#view };
    this.#raw.send(saysWho ? { ...message, params: { ...message.params, _meta } } : message);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#raw.destroy();
    return Promise.resolve();
  }
}

/** As much of a client as both lines of the SDK have. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string; arguments: Record<string, unknown> }, onprogress?: () => void): Promise<unknown>;
}

const INFO = { name: 'scenario', version: '1' };
const CAPABILITIES = { elicitation: {}, sampling: {} };
const ANSWER = { action: 'accept' as const, content: { username: 'ada', email: 'ada@example.com' } };
const SAID = { role: 'assistant' as const, content: { type: 'text' as const, text: 'Bern' }, model: 'm' };

async function v1(raw: RawClient, view: string): Promise<AnyClient> {
  const client = new ClientV1(INFO, { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, () => ANSWER);
  client.setRequestHandler(CreateMessageRequestSchema, () => SAID);
  await client.connect(new ViewTransport(raw, view) as unknown as Parameters<ClientV1['connect']>[0]);
  return {
    listTools: () => client.listTools(),
    callTool: (params, onprogress) => client.callTool(params, undefined, onprogress && { onprogress }),
  };
}

const v2 =
  (mode: 'auto' | 'legacy' | { readonly pin: '2026-07-28' }) =>
  async (raw: RawClient, view: string): Promise<AnyClient> => {
    const client = new ClientV2(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode } });
    client.setRequestHandler('elicitation/create', () => ANSWER);
    client.setRequestHandler('sampling/createMessage', () => SAID);
    await client.connect(new ViewTransport(raw, view) as unknown as Parameters<ClientV2['connect']>[0]);
    return {
      listTools: () => client.listTools(),
      callTool: (params, onprogress) => client.callTool(params, onprogress && { onprogress }),
    };
  };

const CLIENTS: readonly (readonly [string, (raw: RawClient, view: string) => Promise<AnyClient>])[] = [
  ['v1', v1],
  ['v2 in the era of 2025', v2('legacy')],
  ['v2 in the era of 2026', v2({ pin: '2026-07-28' })],
  ['v2 that finds out', v2('auto')],
];

/** How a tool of a server is called in a view. */
const VIEWS: readonly (readonly [string, (server: string) => string, typeof named])[] = [
  ['one server', (server) => `server:${server}`, named],
  ['all', () => 'all', (server, tool, args) => named('', `${server}__${tool}`, args)],
  [
    'discover',
    () => 'discover',
    (server, tool, args) => ({ name: 'execute_tool', arguments: { server, tool, arguments: args } }),
  ],
];

function named(_server: string, name: string, args: Record<string, unknown>) {
  return { name, arguments: args };
}

const textOf = (called: unknown): string => (called as { content?: { text: string }[] }).content?.[0]?.text ?? '';

describe.each(BRIDGES)('%s', (_, open) => {
  let bridge: Bridge;
  beforeAll(async () => {
    bridge = await open(CONFIG);
  });
  afterAll(() => bridge.stop());

  describe.each(VIEWS)('in the view of %s', (view, viewOf, paramsOf) => {
    test.each(CLIENTS.flatMap(([client, make]) => Object.keys(SERVERS).map((server) => ({ client, make, server }))))(
      '$client at the server of the $server era',
      async ({ make, server }) => {
        const raw = await bridge.connect();
        onTestFinished(() => raw.destroy());
        const client = await make(raw, viewOf(server));
        const call = (tool: string, args: Record<string, unknown> = {}, onprogress?: () => void) =>
          client.callTool(paramsOf(server, tool, args), onprogress);

        expect(textOf(await call('test_simple_text'))).toBe('This is a simple text response for testing.');
        const { tools } = await client.listTools();
        const listed = view === 'discover' ? 'execute_tool' : paramsOf(server, 'test_simple_text', {}).name;
        expect(tools.map(({ name }) => name)).toContain(listed);
        let steps = 0;
        await call('test_tool_with_progress', {}, () => steps++);
        expect(steps).toBe(3);
        expect(textOf(await call('test_elicitation', { message: 'Who are you?' }))).toBe(
          `User response: action=accept, content=${JSON.stringify(ANSWER.content)}`,
        );
        expect(textOf(await call('test_sampling', { prompt: 'Which capital?' }))).toBe('LLM response: Bern');
      },
    );
  });
});
