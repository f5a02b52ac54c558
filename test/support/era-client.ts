// A client of one era or the other that calls tools in a view, for scenarios whose body is the same in both.

import { join } from 'node:path';
import type { Bridge } from './bridges.ts';
import type { Message, RawClient } from './raw-client.ts';
import { ROOT } from './test-daemon.ts';

export const ERAS = ['2025', '2026'] as const;
export type EraName = (typeof ERAS)[number];

/** The server whose results are what its caller says, of an era. */
const contentsServer = (era: EraName): object => ({
  command: process.execPath,
  args: [join(ROOT, 'test/fixtures/servers/contents.mjs'), era],
});

/** A server of each era, by name. */
export const BOTH_CONTENTS: Readonly<Record<string, object>> = {
  old: contentsServer('2025'),
  young: contentsServer('2026'),
};

export class EraClient {
  readonly raw: RawClient;
  readonly era: EraName;
  /** Undefined to ask for none. */
  readonly view: string | undefined;
  readonly #cwd: string | undefined;
  /** The answer to `initialize`. */
  answer: Message | undefined;
  #id = 0;

  constructor(raw: RawClient, era: EraName, view: string | undefined, cwd?: string) {
    this.raw = raw;
    raw.clientInfo = { name: 'era-client', version: '1' };
    this.era = era;
    this.view = view;
    this.#cwd = cwd;
  }

  static async connect(
    bridge: Pick<Bridge, 'connect'>,
    era: EraName,
    view: string | undefined,
    cwd?: string,
  ): Promise<EraClient> {
    const client = new EraClient(await bridge.connect(), era, view, cwd);
    if (era === '2025') client.answer = await client.raw.initialize(client.#asks);
    return client;
  }

  get #asks(): object {
    return {
      ...(this.view !== undefined && { 'mcp-bridge/view': this.view }),
      ...(this.#cwd !== undefined && { 'mcp-bridge/cwd': this.#cwd }),
    };
  }

  request(method: string, params: object = {}): Promise<Message> {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'era-client', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
      ...this.#asks,
    };
    return this.raw.request(++this.#id, method, this.era === '2025' ? params : { ...params, _meta });
  }

  callTool(name: string, args: object = {}): Promise<Message> {
    return this.request('tools/call', { name, arguments: args });
  }

  /** Calls a tool of a server as the view has it. */
  call(server: string, tool: string, args: object = {}): Promise<Message> {
    if (this.view === 'discover') return this.callTool('execute_tool', { server, tool, arguments: args });
    return this.callTool(this.view === 'all' ? `${server}__${tool}` : tool, args);
  }
}
