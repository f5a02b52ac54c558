// A server over Streamable HTTP, as small as can be, that says what it was asked and refuses as a test wants it.

import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  readonly id?: number | string;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly cursor?: string };
  readonly headers: IncomingHttpHeaders;
  /** Which of its sessions this was asked in, from 1 on; 0 for none. */
  readonly session: number;
}

/** What it answers instead; undefined to answer as always. */
export type Refusal = (asked: Asked) => Refused | Promise<Refused>;
type Refused = { readonly status: number; readonly body?: object | string } | 'silence' | undefined;

const HELLO = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'sessions', version: '1' },
};
const open = new Set<Server>();

/** Ends those that are still there. */
export function endSessionServers(): void {
  for (const server of open) {
    server.close();
    server.closeAllConnections();
  }
  open.clear();
}

export class SessionServer {
  readonly asked: Asked[] = [];
  refuses: Refusal = () => undefined;
  readonly #server: Server;
  #sessions = 0;
  /** Calls of the tool `hold`. */
  #held: ServerResponse[] = [];

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
    open.add(this.#server);
  }

  static async start(): Promise<SessionServer> {
    const made = new SessionServer();
    await once(made.#server.listen(0, '127.0.0.1'), 'listening');
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  /** How many sessions were begun. */
  get sessions(): number {
    return this.#sessions;
  }

  callsOf(name: string): Asked[] {
    return this.asked.filter(({ method, params }) => method === 'tools/call' && params?.name === name);
  }

  async untilAsked(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /** Hangs up on the calls that it holds. */
  dropHeld(): void {
    for (const response of this.#held.splice(0)) response.socket?.destroy();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    if (request.method !== 'POST') return response.writeHead(405).end();
    const message = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Omit<Asked, 'session' | 'headers'>;
    const { headers } = request;
    const asked = { ...message, headers, session: Number(request.headers['mcp-session-id'] ?? 0) };
    this.asked.push(asked);
    const refusal = await this.refuses(asked);
    if (refusal === 'silence') return this.#held.push(response);
    if (refusal !== undefined) return this.#refuse(response, refusal);
    if (asked.id === undefined) return response.writeHead(202).end();
    if (asked.params?.name === 'hold') return this.#held.push(response);
    const session = asked.method === 'initialize' ? { 'mcp-session-id': `${++this.#sessions}` } : {};
    const answer = { jsonrpc: '2.0', id: asked.id, result: resultOf(asked) };
    return response.writeHead(200, { 'content-type': 'application/json', ...session }).end(JSON.stringify(answer));
  }

  #refuse(response: ServerResponse, { status, body = '' }: { status: number; body?: object | string }): void {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  }
}

function resultOf({ method, params }: Asked): object {
  if (method === 'initialize') return HELLO;
  if (method === 'tools/list') return { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] };
  return { content: [{ type: 'text', text: params?.name ?? method }] };
}
