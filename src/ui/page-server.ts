// The dashboard's own port. It listens on loopback only, and serves its page and that page's requests, nothing else. A
// request for data must be from this user and from the page itself, with the cookie and the key of a session. It
// reaches the daemon only through the functions that it is given.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { collectBody } from '../front/http/body.ts';
import { Connections } from '../front/http/connections.ts';
import { SERVER_OPTIONS } from '../front/http/server.ts';
import { peerUser } from '../local/peer-user.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { type PageAsset, plainPage } from './page-assets.ts';
import { hostRefusal, pageRefusal } from './page-gate.ts';
import type { LiveMessage, PageAnswer } from './page-protocol.ts';
import { CODE_MS, cookieIn, cookieName, type PageSession, PageSessions } from './page-sessions.ts';
import { PageStream } from './page-stream.ts';

/** Allows exactly what our page needs. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'";
const HEAD: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};
const KEY_HEADER = 'x-mcp-bridge-key';
const MOST_BODY_BYTES = 1024 * 1024;
const MOST_STREAMS = 32;
/**
 * The maximum number of connections. Beyond it the oldest one without a page is closed: other users of this machine may
 * open as many as they want.
 */
const MOST_CONNECTIONS = 256;
/** The maximum number of open requests of all pages. */
const MOST_ASKED = 64;
/** Long enough for a reload: the page is gone for a moment. */
const GRACE_MS = 10_000;
/** The longest wait for a page's first message; the page shows nothing before it. */
const MOST_OPENING_MS = 200;
const NO_SESSION = 'This page is not open any more, or was opened without a code.';

export interface PageServerOptions {
  readonly assets: ReadonlyMap<string, PageAsset>;
  readonly clock: Clock;
  /** The user who may open the dashboard; undefined where users have no number. */
  readonly uid: number | undefined;
  /** Answers a page's request. Rejects with a BridgeError. */
  readonly ask: (method: string, params: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<unknown>;
  /** Everything that a new page needs. */
  readonly opening: () => LiveMessage;
  /** Resolves once `opening` knows the daemon's state. */
  readonly known?: () => Promise<void>;
  /** Called when a page has come, or is about to. */
  readonly opened?: () => void;
  readonly graceMs?: number;
}

/** The reason why a dashboard has ended. */
export type PageServerEnd = 'no-page' | 'last-page' | 'told';

export class PageServer {
  readonly ended: Promise<PageServerEnd>;
  readonly #options: PageServerOptions;
  readonly #sessions: PageSessions;
  readonly #server: Server;
  readonly #connections: Connections;
  readonly #streams = new Set<PageStream>();
  readonly #room = { bytes: 0, most: 8 * MOST_BODY_BYTES };
  #asked = 0;
  #port = 0;
  #leaving: Timer | undefined;
  #end: (end: PageServerEnd) => void = () => undefined;

  constructor(options: PageServerOptions) {
    this.#options = options;
    this.#sessions = new PageSessions(() => options.clock.now());
    this.#server = createServer(SERVER_OPTIONS, (request, response) => void this.#answer(request, response));
    this.#connections = new Connections(this.#server, {
      ...{ clock: options.clock, isTls: false, most: MOST_CONNECTIONS },
      hasRoom: () => true,
      refused: () => undefined,
    });
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Listens on a port that the kernel chooses. Ends if no page comes while a code is valid. */
  async listen(): Promise<number> {
    try {
      await new Promise<void>((resolve, reject) => {
        this.#server.once('error', reject).listen({ host: '127.0.0.1', port: 0 }, resolve);
      });
    } catch (error) {
      throw new BridgeError('SOCKET_UNUSABLE', `The dashboard cannot listen on 127.0.0.1: ${messageOf(error)}`, {
        cause: error,
      });
    }
    this.#server.on('error', () => undefined); // a failed accept concerns only that client
    const address = this.#server.address();
    this.#port = typeof address === 'object' && address !== null ? address.port : 0;
    this.#leaving = this.#options.clock.after(CODE_MS, () => this.close('no-page'));
    return this.#port;
  }

  /**
   * The address of a page, with a code for it. The code is in the fragment, which never gets into a log or a Referer.
   */
  newUrl(): string {
    return `http://127.0.0.1:${this.#port}/#code=${this.#sessions.newCode()}`;
  }

  get pages(): number {
    return this.#streams.size;
  }

  /** Sends a message to all pages. */
  tell(message: LiveMessage): void {
    for (const stream of this.#streams) stream.tell(message);
  }

  close(end: PageServerEnd = 'told'): void {
    this.#leaving?.cancel();
    for (const stream of this.#streams) stream.end();
    this.#server.close();
    this.#connections.close();
    this.#end(end);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#route(request, response);
    } catch (error) {
      // Our own fault costs one request. Its text may hold data that a page must not see.
      const failure = {
        code: 'REQUEST_REFUSED',
        message: 'The dashboard failed at this',
        hint: 'See: mcp-bridge status',
      };
      if (!response.headersSent) json(response, 500, { error: failure });
      else response.destroy();
      if (!(error instanceof Error)) throw error;
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#connections.begin(request, response)) return;
    const { headers, method } = request;
    const path = (request.url ?? '').split('?')[0] ?? '';
    const foreign = hostRefusal(headers, this.#port);
    if (foreign !== undefined) return page(response, foreign.status, foreign.reason);
    if (path.startsWith('/api/')) return this.#data(path, request, response);
    const asset = this.#options.assets.get(path);
    if (asset === undefined) return page(response, 404, 'There is no such page.');
    if (method !== 'GET' && method !== 'HEAD') return page(response, 405, 'This page can only be looked at.');
    response.writeHead(200, { ...HEAD, 'content-type': asset.type, 'content-length': asset.body.length });
    response.end(method === 'HEAD' ? undefined : asset.body);
  }

  async #data(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { headers, method } = request;
    const foreign = pageRefusal(headers);
    if (foreign !== undefined) return page(response, foreign.status, foreign.reason);
    const wanted = DATA[path];
    if (wanted === undefined) return page(response, 404, 'There is no such page.');
    if (method !== wanted) return page(response, 405, 'It cannot be asked for like this.');
    if (path === '/api/enter') return this.#enter(request, response);
    if (this.#sessionOf(request) === undefined) return page(response, 401, NO_SESSION);
    this.#connections.known(request);
    if (path === '/api/live') return this.#live(response);
    return this.#ask(request, response);
  }

  #sessionOf({ headers }: IncomingMessage): PageSession | undefined {
    const key = headers[KEY_HEADER];
    return this.#sessions.find(
      cookieIn(headers.cookie, cookieName(this.#port)),
      typeof key === 'string' ? key : undefined,
    );
  }

  /**
   * Trades a code for a cookie and a key. Other users of this machine can reach the port, so it asks the kernel which
   * user this is.
   */
  async #enter(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { uid } = this.#options;
    const body = await bodyOf(request, response, this.#room);
    if (body === undefined) return;
    const peer = await peerUser(request.socket);
    if (uid !== undefined && peer !== undefined && peer !== uid)
      return page(response, 403, 'Another user of this machine has asked.');
    const session = this.#sessions.enter(textOf(membersOf(body).code));
    if (session === undefined)
      return page(response, 401, 'This code was used already, is older than a minute, or wrong.');
    this.#connections.known(request);
    this.#options.opened?.();
    const cookie = `${cookieName(this.#port)}=${session.cookie}; HttpOnly; SameSite=Strict; Path=/`;
    json(response, 200, { key: session.key }, { 'set-cookie': cookie });
  }

  #live(response: ServerResponse): void {
    if (this.#streams.size >= MOST_STREAMS) return page(response, 503, `${MOST_STREAMS} pages are open already.`);
    const stream = new PageStream(response, HEAD, this.#options.clock);
    this.#streams.add(stream);
    this.#leaving?.cancel();
    this.#options.opened?.();
    this.#begin(stream);
    response.on('close', () => {
      // A stream may close twice: with its connection, and by itself.
      if (!this.#streams.delete(stream) || this.#streams.size > 0) return;
      const graceMs = this.#options.graceMs ?? GRACE_MS;
      this.#leaving = this.#options.clock.after(graceMs, () => this.close('last-page'));
    });
  }

  #begin(stream: PageStream): void {
    const { opening, known, clock } = this.#options;
    const begin = (): void => stream.begin(opening());
    if (known === undefined) return begin();
    const late = clock.after(MOST_OPENING_MS, begin);
    void known().then(() => {
      late.cancel();
      begin();
    });
  }

  async #ask(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request, response, this.#room);
    if (body === undefined) return;
    if (this.#asked >= MOST_ASKED) return json(response, 200, { error: BUSY });
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    this.#asked += 1;
    try {
      const { method, params } = membersOf(body);
      const result = await this.#options.ask(textOf(method), isRecord(params) ? params : {}, gone.signal);
      json(response, 200, { result });
    } catch (error) {
      if (!(error instanceof BridgeError)) throw error;
      const { code, message, hint = '' } = error;
      json(response, 200, { error: { code, message, hint } });
    } finally {
      this.#asked -= 1;
    }
  }
}

const DATA: Readonly<Record<string, 'GET' | 'POST'>> = { '/api/enter': 'POST', '/api/ask': 'POST', '/api/live': 'GET' };
const BUSY = {
  code: 'REQUEST_REFUSED',
  message: 'The dashboard answers too many questions already',
  hint: 'Try again.',
};

/** Reads the body as JSON. Returns undefined if there is none; then it has answered already. */
function bodyOf(
  request: IncomingMessage,
  response: ServerResponse,
  room: { bytes: number; readonly most: number },
): Promise<unknown> {
  return new Promise((resolve) => {
    const refuse = (status: number, reason: string): void => {
      if (!response.destroyed) page(response, status, reason);
      resolve(undefined);
    };
    if (request.headers['content-type'] !== 'application/json') return refuse(415, 'It is not asked for in JSON.');
    collectBody(request, { most: MOST_BODY_BYTES, room }, (body, fault) => {
      if (body === undefined) return refuse(413, `It is too long to be taken (${fault}).`);
      try {
        resolve(JSON.parse(body.toString()) as unknown);
      } catch {
        refuse(400, 'It is no JSON.');
      }
    });
  });
}

function page(response: ServerResponse, status: number, reason: string): void {
  const body = plainPage(reason);
  const close = status === 413 ? { connection: 'close' } : {};
  response.writeHead(status, {
    ...HEAD,
    ...close,
    'content-type': 'text/html; charset=utf-8',
    'content-length': body.length,
  });
  response.end(body);
}

function json(response: ServerResponse, status: number, answer: PageAnswer | object, head: object = {}): void {
  if (response.destroyed) return;
  const body = Buffer.from(JSON.stringify(answer));
  response.writeHead(status, { ...HEAD, ...head, 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
}
