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
  readonly view: string;
  #id = 0;

  constructor(raw: RawClient, era: EraName, view: string) {
    this.raw = raw;
    this.era = era;
    this.view = view;
  }

  static async connect(bridge: Bridge, era: EraName, view: string): Promise<EraClient> {
    const raw = await bridge.connect();
    if (era === '2025') await raw.initialize({ 'mcp-bridge/view': view });
    return new EraClient(raw, era, view);
  }

  request(method: string, params: object = {}): Promise<Message> {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'era-client', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
      'mcp-bridge/view': this.view,
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
