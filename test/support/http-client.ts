// A client over HTTP that shows everything that is on the wire: status, headers, and each event of a stream as it comes. It speaks
// to a Unix socket or to a port.

import { Agent, type IncomingHttpHeaders, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { Readable } from 'node:stream';
import type { Message } from './core-in-memory.ts';

type Where = Pick<RequestOptions, 'socketPath' | 'host' | 'port'>;
type Headers = Readonly<Record<string, string | readonly string[]>>;

export interface Asking {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Headers;
  readonly body?: string | Buffer | object;
}

export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly data: string;
  readonly message: Message | undefined;
}

const E = 'io.modelcontextprotocol/';
const VERSION_2026 = '2026-07-28';

/** The `_meta` of a request without a handshake. */
function metaOf2026(more: object = {}): object {
  return { [`${E}protocolVersion`]: VERSION_2026, [`${E}clientCapabilities`]: {}, ...more };
}

/** A request without a handshake, with the headers that go with it. */
export function asking2026(
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  id: string | number = 1,
): Asking {
  const { _meta, ...others } = params;
  const name = params.name ?? params.uri ?? params.taskId;
  return {
    headers: {
      'mcp-protocol-version': VERSION_2026,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
    body: { jsonrpc: '2.0', id, method, params: { ...others, _meta: metaOf2026(_meta as object | undefined) } },
  };
}

/** An answer whose body has not come, or not all of it. */
export class Reply {
  readonly #response: IncomingMessage;
  readonly #chunks: AsyncIterator<string>;
  #text = '';
  #isEnded = false;

  constructor(response: IncomingMessage) {
    this.#response = response;
    response.setEncoding('utf8');
    this.#chunks = response[Symbol.asyncIterator]() as AsyncIterator<string>;
  }

  get status(): number {
    return this.#response.statusCode ?? 0;
  }

  get headers(): IncomingHttpHeaders {
    return this.#response.headers;
  }

  /** All of the body. */
  async text(): Promise<string> {
    while (await this.#more());
    return this.#text;
  }

  async json(): Promise<Message> {
    return JSON.parse(await this.text()) as Message;
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#chunks.next();
    if (done === true) this.#isEnded = true;
    else this.#text += value;
    return done !== true;
  }

  /** The next event, without comments; undefined at the end of the stream. */
  async event(): Promise<ServerSentEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end < 0) {
        if (this.#isEnded || !(await this.#more())) return undefined;
        continue;
      }
      const lines = this.#text.slice(0, end).split('\n');
      this.#text = this.#text.slice(end + 2);
      const field = (name: string): string | undefined =>
        lines
          .find((line) => line.startsWith(`${name}:`))
          ?.slice(name.length + 1)
          .trimStart();
      const data = field('data');
      if (data === undefined) continue;
      return { id: field('id'), data, message: data === '' ? undefined : (JSON.parse(data) as Message) };
    }
  }

  /** The next event that has a message. */
  async message(): Promise<Message | undefined> {
    for (let event = await this.event(); event !== undefined; event = await this.event())
      if (event.message !== undefined) return event.message;
    return undefined;
  }

  async messages(): Promise<Message[]> {
    const found: Message[] = [];
    for (let message = await this.message(); message !== undefined; message = await this.message()) found.push(message);
    return found;
  }

  hangUp(): void {
    this.#response.destroy();
  }
}

export class HttpClient {
  readonly #where: Where;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #headers: Headers;

  /** `headers` go with each request. */
  constructor(where: Where, headers: Headers = {}) {
    this.#where = where;
    this.#headers = headers;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** Resolves when the headers of the answer have come. */
  ask({ method = 'POST', path = '/mcp', headers = {}, body }: Asking): Promise<Reply> {
    const bytes = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const asked = request({
        ...this.#where,
        ...{ agent: this.#agent, method, path },
        headers: {
          host: 'localhost',
          accept: 'application/json, text/event-stream',
          ...(bytes !== undefined && { 'content-type': 'application/json' }),
          ...this.#headers,
          ...headers,
        } as Record<string, string>,
      });
      asked.on('response', (response) => resolve(new Reply(response))).on('error', reject);
      asked.end(bytes);
    });
  }

  /** Begins a session of 2025; the client sends its id from here on. */
  async begin(params: Readonly<Record<string, unknown>> = {}, path = '/mcp'): Promise<SessionClient> {
    const initialize = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'http-client', version: '1' },
      ...params,
    };
    const reply = await this.ask({ path, body: { jsonrpc: '2.0', id: 0, method: 'initialize', params: initialize } });
    const answer = await reply.json();
    const id = reply.headers['mcp-session-id'];
    if (typeof id !== 'string') throw new Error(`There is no session: ${reply.status} ${JSON.stringify(answer)}`);
    const session = new SessionClient(this, { path, id, version: initialize.protocolVersion, answer });
    await (await session.say({ jsonrpc: '2.0', method: 'notifications/initialized' })).text();
    return session;
  }

  /** For those who take a function like the global one. */
  readonly fetch = async (input: string | URL | globalThis.Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input instanceof globalThis.Request ? input.url : input);
    const { method = 'GET', body, signal } = init;
    return new Promise((resolve, reject) => {
      const asked = request({
        ...this.#where,
        ...{ agent: this.#agent, method, path: url.pathname + url.search, ...(signal && { signal }) },
        headers: { host: url.host, ...this.#headers, ...Object.fromEntries(new Headers(init.headers)) } as Record<
          string,
          string
        >,
      });
      asked.on('error', reject).on('response', (response) => {
        const status = response.statusCode ?? 0;
        const headers = Object.entries(response.headers).map(([name, value]): [string, string] => [
          name,
          String(value),
        ]);
        const hasBody = status !== 202 && status !== 204;
        if (!hasBody) response.resume();
        const stream = hasBody ? (Readable.toWeb(response) as ReadableStream<Uint8Array>) : null;
        resolve(new Response(stream, { status, headers }));
      });
      asked.end(typeof body === 'string' ? body : undefined);
    });
  };
}

/** A client with a session of 2025. */
export class SessionClient {
  readonly #client: HttpClient;
  readonly #path: string;
  readonly id: string;
  readonly version: string;
  /** The answer to `initialize`. */
  readonly answer: Message;
  #lastId = 0;

  constructor(
    client: HttpClient,
    {
      path,
      id,
      version,
      answer,
    }: { readonly path: string; readonly id: string; readonly version: string; readonly answer: Message },
  ) {
    this.#client = client;
    this.#path = path;
    this.id = id;
    this.version = version;
    this.answer = answer;
  }

  /** Sends a message, or something else as a body. */
  say(body: object | string | Buffer, headers: Headers = {}): Promise<Reply> {
    return this.#ask({ body, headers });
  }

  #ask(asking: Asking): Promise<Reply> {
    const headers = { 'mcp-session-id': this.id, 'mcp-protocol-version': this.version, ...asking.headers };
    return this.#client.ask({ path: this.#path, ...asking, headers });
  }

  request(method: string, params: object = {}, id: string | number = ++this.#lastId): Promise<Reply> {
    return this.say({ jsonrpc: '2.0', id, method, params });
  }

  call(name: string, args: object = {}, more: object = {}): Promise<Reply> {
    return this.request('tools/call', { name, arguments: args, ...more });
  }

  listen(headers: Headers = {}): Promise<Reply> {
    return this.#ask({ method: 'GET', headers: { accept: 'text/event-stream', ...headers } });
  }

  end(): Promise<Reply> {
    return this.#ask({ method: 'DELETE' });
  }
}
