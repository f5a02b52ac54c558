// The HTTP front: Streamable HTTP of both eras at one URL. It checks what HTTP adds to the protocol, and hands messages
// to the core in their original bytes, on links like any other client's. It is loaded with the first HTTP connection.

import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { HttpSettings, TcpAddress } from '../../model/http-settings.ts';
import type { Limits } from '../../model/limits.ts';
import type { Places } from '../../model/places.ts';
import { type Grant, grantOf, type Principal, principalKey } from '../../model/principal.ts';
import { ERA_2025 } from '../../protocol/era-2025.ts';
import { ERA_2026 } from '../../protocol/era-2026.ts';
import { levelRefusal, versionRefusal } from '../../protocol/requester.ts';
import {
  batchRefusal,
  certainId,
  INVALID_REQUEST,
  PARSE_ERROR,
  refusalOf,
  rpcError,
} from '../../protocol/rpc-error.ts';
import { isSpoken } from '../../protocol/versions.ts';
import type { Clock, Timer } from '../../util/clock.ts';
import { cutBatch, messageIn } from '../../wire/batch.ts';
import { Envelope, Field } from '../../wire/envelope.ts';
import type { Carrier } from '../../wire/link.ts';
import type { FlushTurn } from '../../wire/outbox.ts';
import type { Authorization } from './authorization.ts';
import { type BodyRoom, collectBody } from './body.ts';
import { Callers2026 } from './callers-2026.ts';
import { Connections } from './connections.ts';
import { accept, type HttpRefusal, refuse } from './http-error.ts';
import { mirrorRefusal } from './mirrored-check.ts';
import {
  accepts,
  type Endpoint,
  endpointAt,
  type HostRules,
  hostRefusal,
  isAllowedOrigin,
  mediaRefusal,
  refusal,
} from './request-gate.ts';
import { bind, SERVER_OPTIONS, serverFor } from './server.ts';
import { HttpSession2025 } from './session-2025.ts';
import { isFromHere, principalOver, type TcpAccess } from './tcp-access.ts';
import { UnreadAnswers } from './unread-answers.ts';

const [VERSION_2026 = ''] = ERA_2026.versions;
const TICK_MS = 1000;
const SESSION_ID_BYTES = 16;
const COUNTED_MS = 1000;
const METRICS_HEAD: Readonly<Record<string, string>> = {
  'content-type': 'text/plain; version=0.0.4; charset=utf-8',
  'cache-control': 'no-store',
};
/** How long the rest of a refused body is read and dropped. */
const LINGER_MS = 2000;

/** The parts of the core's session that are used here. */
interface FrontSession {
  readonly protocolVersion: string | undefined;
  readonly mayBatch: boolean;
}

export interface HttpFrontOptions {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly turn: FlushTurn;
  readonly version: string;
  /** Makes a session for a link; `fixedView` is its view, whatever it asks for. */
  readonly accept: (link: Carrier, principal: Principal, fixedView: string | undefined) => FrontSession;
  /** The places of clients that have no connection of their own. */
  readonly places: Places;
  /** The daemon's user, the only one who can use its Unix socket. */
  readonly local: Principal;
  /** Returns the present rules for hosts and origins; a new config may change them. */
  readonly rules: () => HostRules;
  /** The counters, as Prometheus reads them. */
  readonly metrics: () => Promise<string>;
  /** True while enough file descriptors are left for one more client. */
  readonly hasRoom: () => boolean;
  /** Called when a request was refused. */
  readonly refused: () => void;
  /** Called with a fault of the bridge; it costs one connection. */
  readonly failed: (error: unknown) => void;
}

const MOST_HEADERS = 100;
/** The room for arriving bodies and unread answers of all clients, as a multiple of the largest message. */
const MOST_BODIES = 16;

/** The rules for the peers of a server's connections. */
interface Peer {
  readonly principalOf: (request: IncomingMessage) => Principal | HttpRefusal | Promise<Principal | HttpRefusal>;
  /** The authorization server whose tokens are valid here. */
  readonly authorization?: Authorization | undefined;
  /** True if the request comes from this machine. */
  readonly isHere: (request: IncomingMessage) => boolean;
  readonly isTls: boolean;
  readonly mostConnections: number;
}

interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly principal: Principal;
  readonly view: string | undefined;
}

/** A request of 2026 as it arrived: the message is b[0, end). */
interface Message2026 {
  readonly b: Buffer;
  readonly end: number;
  /** Its id as the client spelled it. */
  readonly idText: string;
}

/** Shared: each message is handled before the next one is scanned. */
const envelope = new Envelope(ERA_2026.keys);

export class HttpFront {
  readonly #options: HttpFrontOptions;
  readonly #local: Server;
  #listening: Server | undefined;
  #access: TcpAccess | undefined;
  readonly #connections = new Set<Connections>();
  readonly #sessions = new Map<string, HttpSession2025>();
  /** Keys are principal and view. */
  readonly #callers = new Map<string, Callers2026>();
  #timer: Timer | undefined;
  readonly #room: BodyRoom;
  readonly #places: Places;
  readonly #unread: UnreadAnswers;
  #counted: { readonly atMs: number; readonly text: Promise<string> } | undefined;

  constructor(options: HttpFrontOptions) {
    this.#options = options;
    const { clock, limits, refused } = options;
    const mostBytes = MOST_BODIES * limits.maxMessageBytes;
    this.#room = { bytes: 0, most: mostBytes };
    this.#unread = new UnreadAnswers({ clock, refused, most: mostBytes, stallMs: limits.stallTimeoutMs });
    this.#places = options.places;
    this.#local = this.#serve(createServer(SERVER_OPTIONS), {
      ...{ principalOf: () => options.local, isHere: () => true },
      ...{ isTls: false, mostConnections: limits.maxClients },
    });
    // Node starts its connection timers when a server listens; this server gets its connections from the bridge's
    // socket.
    this.#local.emit('listening');
  }

  /** Serves a connection of the daemon's own socket. It is paused, and none of its bytes were taken. */
  take(socket: Duplex): void {
    this.#local.emit('connection', socket);
    socket.resume();
  }

  /** Listens on its own port; resolves to the port number. */
  async listen(address: TcpAddress, tls: HttpSettings['tls'], access: TcpAccess): Promise<number> {
    this.#access = access;
    const server = this.#serve(serverFor(tls), {
      principalOf: (request) => principalOver(request, access),
      ...{ isHere: isFromHere, authorization: access.authorization, isTls: tls !== undefined },
      mostConnections: Math.max(1, this.#options.limits.maxClients >> 1),
    });
    const port = await bind(server, address);
    this.#listening = server;
    return port;
  }

  /** Stops accepting connections on its own port. */
  stopListening(): void {
    this.#listening?.close();
    this.#listening = undefined;
  }

  /** Ends all connections. The core ends their sessions. */
  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#local.emit('close');
    this.stopListening();
    for (const connections of this.#connections) connections.close();
  }

  #serve(server: Server, peer: Peer): Server {
    const { clock, hasRoom, refused } = this.#options;
    const { mostConnections: most, isTls } = peer;
    const connections = new Connections(server, { clock, isTls, most, hasRoom, refused });
    this.#connections.add(connections);
    const take = (request: IncomingMessage, response: ServerResponse): void =>
      this.#contain(response, () => {
        if (connections.begin(request, response)) this.#onRequest(request, response, { ...peer, connections });
      });
    // A client that waits for permission to send its body gets it once the request is accepted.
    server.on('request', take).on('checkContinue', take);
    server.maxHeadersCount = MOST_HEADERS;
    return server;
  }

  #contain(response: ServerResponse, task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#options.failed(error);
      response.destroy();
    }
  }

  #onRequest(
    request: IncomingMessage,
    response: ServerResponse,
    peer: Peer & { readonly connections: Connections },
  ): void {
    const rules = this.#options.rules();
    const refused = hostRefusal(request.headers, rules);
    if (refused !== undefined) return this.#refuse(request, response, refused);
    this.#allowOrigin(request, response, rules);
    if (request.method === 'OPTIONS') return this.#onOptions(request, response, rules);
    const { principalOf, isHere, authorization, connections } = peer;
    if (authorization?.isMetadataPath(request.url ?? '') === true)
      return this.#onMetadata(request, response, authorization);
    const endpoint = endpointAt(request.url ?? '');
    if (endpoint === undefined) return this.#refuse(request, response, refusal(404, 'There is nothing at this path'));
    const mayKnowHealth = endpoint.is === 'health' && isHere(request);
    const principal = mayKnowHealth ? this.#options.local : principalOf(request);
    const asked = { endpoint, connections };
    if (!(principal instanceof Promise)) return this.#onKnown(request, response, { ...asked, principal });
    principal.then(
      (known) => this.#contain(response, () => this.#onKnown(request, response, { ...asked, principal: known })),
      (error: unknown) =>
        this.#contain(response, () => {
          throw error;
        }),
    );
  }

  #onKnown(
    request: IncomingMessage,
    response: ServerResponse,
    {
      endpoint,
      principal,
      connections,
    }: {
      readonly endpoint: Endpoint;
      readonly principal: Principal | HttpRefusal;
      readonly connections: Connections;
    },
  ): void {
    if (response.destroyed) return; // the client left while the token was checked
    if ('status' in principal) return this.#refuse(request, response, principal);
    if (endpoint.is !== 'health') connections.known(request);
    if (endpoint.is === 'health') return this.#onHealth(request, response);
    if (endpoint.is === 'metrics') return this.#onMetrics(request, response, principal);
    const view = viewFor(principal, endpoint.view);
    if (typeof view === 'object') return this.#refuse(request, response, view);
    this.#onMcp({ request, response, principal, view });
  }

  /** Answers without reading the body. */
  #refuse(request: IncomingMessage, response: ServerResponse, refused: HttpRefusal, idText?: string): void {
    this.#options.refused();
    refuse(response, refused, idText);
    if (request.complete) return;
    // If it were closed at once, the client would fail while sending, and never read the reason.
    request.resume();
    const rest = this.#options.clock.after(LINGER_MS, () => request.socket.destroy());
    request.once('end', () => rest.cancel());
  }

  #allowOrigin({ headers }: IncomingMessage, response: ServerResponse, rules: HostRules): void {
    if (rules.allowedOrigins.length === 0) return;
    response.setHeader('vary', 'Origin');
    if (headers.origin === undefined || !isAllowedOrigin(headers.origin, rules)) return;
    response.setHeader('access-control-allow-origin', headers.origin);
    response.setHeader('access-control-expose-headers', 'Mcp-Session-Id, WWW-Authenticate');
  }

  #onOptions(request: IncomingMessage, response: ServerResponse, rules: HostRules): void {
    if (!isAllowedOrigin(request.headers.origin, rules)) return this.#refuse(request, response, notAllowed('OPTIONS'));
    response.setHeader('access-control-allow-methods', 'GET, POST, DELETE');
    response.setHeader(
      'access-control-allow-headers',
      'Content-Type, Accept, Authorization, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id, Last-Event-ID',
    );
    response.writeHead(204).end();
  }

  #onHealth(request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return this.#refuse(request, response, notAllowed(request.method));
    const body = '{"status":"ok"}\n';
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(body);
  }

  #onMetrics(request: IncomingMessage, response: ServerResponse, principal: Principal): void {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return this.#refuse(request, response, notAllowed(request.method));
    if (!mayWatch(grantOf(principal)))
      return this.#refuse(request, response, refusal(403, 'The token is not for this path'));
    this.#countedNow().then(
      (text) => response.writeHead(200, METRICS_HEAD).end(text),
      (error: unknown) =>
        this.#contain(response, () => {
          throw error;
        }),
    );
  }

  /** The metrics, gathered at most once a second, however often they are requested. */
  #countedNow(): Promise<string> {
    const nowMs = this.#options.clock.now();
    if (this.#counted === undefined || nowMs - this.#counted.atMs >= COUNTED_MS)
      this.#counted = { atMs: nowMs, text: this.#options.metrics() };
    return this.#counted.text;
  }

  /** Answers which authorization server a client must ask. It is no secret, so everybody may read it. */
  #onMetadata(request: IncomingMessage, response: ServerResponse, { metadata }: Authorization): void {
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return this.#refuse(request, response, notAllowed(request.method));
    response.writeHead(200, { 'content-type': 'application/json' }).end(`${JSON.stringify(metadata)}\n`);
  }

  #onMcp(asked: Asked): void {
    const { request, response } = asked;
    const { method, headers } = request;
    if (method === 'POST') return this.#onPost(asked);
    if ((method !== 'GET' && method !== 'DELETE') || headers['mcp-protocol-version'] === VERSION_2026)
      return this.#refuse(request, response, notAllowed(method));
    const session = this.#sessionOf(asked);
    if ('status' in session) return this.#refuse(request, response, session);
    if (method === 'DELETE') {
      session.link.destroy();
      return void response.writeHead(200, { 'content-length': '0' }).end();
    }
    this.#onGet(asked, session);
  }

  #onGet({ request, response }: Asked, session: HttpSession2025): void {
    const { headers } = request;
    if (!accepts(headers, 'text/event-stream'))
      return this.#refuse(request, response, refusal(406, 'Accept needs text/event-stream'));
    const lastEventId = headers['last-event-id'];
    if (lastEventId === undefined) return session.listen(response);
    const isFound = typeof lastEventId === 'string' && session.goOn(response, lastEventId);
    if (!isFound) this.#refuse(request, response, refusal(400, 'Last-Event-ID is not known, or not any more'));
  }

  /** The session that a request of 2025 names. */
  #sessionOf({ request, principal, view }: Asked): HttpSession2025 | HttpRefusal {
    const { headers } = request;
    const version = headers['mcp-protocol-version'];
    if (version !== undefined && (typeof version !== 'string' || !isSpoken(version)))
      return refusal(400, 'MCP-Protocol-Version is not supported');
    const id = headers['mcp-session-id'];
    if (typeof id !== 'string') return refusal(400, 'Mcp-Session-Id is missing');
    const session = this.#sessions.get(id);
    // Another principal's session counts as missing.
    if (session === undefined || session.owner !== principalKey(principal) || session.view !== view || !session.isKnown)
      return refusal(404, 'There is no such session, or not any more');
    return session;
  }

  #onPost(asked: Asked): void {
    const { request, response } = asked;
    const refused = mediaRefusal(request);
    if (refused !== undefined) return this.#refuse(request, response, refused);
    const { maxMessageBytes } = this.#options.limits;
    if (request.headers.expect !== undefined) response.writeContinue();
    collectBody(request, { most: maxMessageBytes, room: this.#room }, (body, fault) => {
      if (body !== undefined) return this.#contain(response, () => this.#onBody(asked, body));
      if (fault === 'broken-off') return void response.destroy();
      if (fault === 'no-room') return this.#refuse(request, response, busy());
      this.#refuse(request, response, refusal(413, `A message may have at most ${maxMessageBytes} bytes`));
    });
  }

  #onBody(asked: Asked, body: Buffer): void {
    const { request, response } = asked;
    const { maxDepth } = this.#options.limits;
    const end = body.length - 1;
    if (!isUtf8(body))
      return this.#refuse(request, response, {
        status: 400,
        error: rpcError(PARSE_ERROR, 'Parse error: not valid UTF-8'),
      });
    const isOf2026 = request.headers['mcp-protocol-version'] === VERSION_2026;
    envelope.keys = ERA_2026.keys;
    if (!envelope.scan(body, 0, end, maxDepth)) {
      if (envelope.fault === 'batch' && !isOf2026) return this.#onBatch(asked, body);
      const { code, message } = refusalOf(envelope.fault ?? 'not-json', maxDepth);
      const idText = code === PARSE_ERROR ? 'null' : certainId(envelope, body);
      return this.#refuse(request, response, { status: 400, error: rpcError(code, message) }, idText);
    }
    if (isOf2026 || envelope.has(Field.protocolVersion)) this.#onMessage2026(asked, body, end);
    else this.#onMessage2025(asked, body, end);
  }

  // --- the era without a handshake ---

  #onMessage2026(asked: Asked, b: Buffer, end: number): void {
    const { request, response } = asked;
    if (envelope.kind === 'response')
      return this.#refuse(request, response, refusal(400, 'A client of this version has nothing to answer'));
    // A request ends with its response, so a notification cannot refer to one.
    if (envelope.kind === 'notification') return accept(response);
    const idText = certainId(envelope, b);
    const error =
      mirrorRefusal(request.headers, b, envelope) ?? versionRefusal(b, envelope) ?? levelRefusal(b, envelope);
    if (error !== undefined) return this.#refuse(request, response, { status: 400, error }, idText);
    if (idText === 'null')
      return this.#refuse(request, response, refusal(400, 'Invalid request: an id is a string or a safe integer'));
    const isCall = envelope.has(Field.arguments) && ERA_2026.methods.of(b, envelope).role === 'call';
    const message = { b, end, idText };
    const { parameters } = this.#callersFor(asked);
    const outcome = isCall ? parameters.refusalOf({ headers: request.headers, b, end }) : undefined;
    if (!(outcome instanceof Promise)) return this.#onChecked(asked, message, outcome);
    this.#awaitCheck(asked, message, outcome);
  }

  /** Keeps a message that waits for a list, and its share of the body memory, until the list is there. */
  #awaitCheck(asked: Asked, message: Message2026, outcome: Promise<string | undefined>): void {
    const { request, response } = asked;
    const { idText, end } = message;
    const room = this.#room;
    if (room.bytes + end > room.most) return this.#refuse(request, response, busy(), idText);
    room.bytes += end;
    const done = (task: () => void): void => {
      room.bytes -= end;
      this.#contain(response, task);
    };
    outcome.then(
      (error) => done(() => this.#onChecked(asked, message, error)),
      (failure: unknown) =>
        done(() => {
          throw failure;
        }),
    );
  }

  #onChecked(asked: Asked, { b, end, idText }: Message2026, error: string | undefined): void {
    const { request, response } = asked;
    if (response.destroyed) return; // the client left while the tools were listed
    if (error !== undefined) return this.#refuse(request, response, { status: 400, error }, idText);
    const isTaken = this.#callersFor(asked).ask(b, end, { idText, response });
    if (!isTaken) this.#refuse(request, response, full(), idText);
  }

  #callersFor({ principal, view }: Asked): Callers2026 {
    const key = JSON.stringify([principalKey(principal), view]);
    const known = this.#callers.get(key);
    if (known !== undefined) return known;
    const { clock, turn, limits } = this.#options;
    const callers = new Callers2026({
      ...{ clock, turn, mostQueued: limits.maxQueuedBytesPerClient, grant: grantOf(principal) },
      maxMessageBytes: limits.maxMessageBytes,
      ...this.#placesOf(principalKey(principal)),
      accept: (link) => void this.#options.accept(link, principal, view),
    });
    this.#callers.set(key, callers);
    this.#watch();
    return callers;
  }

  // --- the era with a handshake ---

  #onMessage2025(asked: Asked, b: Buffer, end: number): void {
    const { request, response } = asked;
    const { kind } = envelope;
    const idText = kind === 'request' ? certainId(envelope, b) : undefined;
    const isInitialize = kind === 'request' && ERA_2025.methods.of(b, envelope).role === 'initialize';
    if (isInitialize && request.headers['mcp-session-id'] === undefined)
      return this.#begin(asked, b, end, idText ?? 'null');
    const session = this.#sessionOf(asked);
    if ('status' in session) return this.#refuse(request, response, session, idText);
    if (idText === 'null')
      return this.#refuse(request, response, refusal(400, 'Invalid request: an id is a string or a safe integer'));
    this.#give(asked, session, {
      messages: [{ b, end }],
      idTexts: idText === undefined ? [] : [idText],
      isBatch: false,
    });
  }

  #begin({ request, response, principal, view }: Asked, b: Buffer, end: number, idText: string): void {
    if (idText === 'null')
      return this.#refuse(request, response, refusal(400, 'Invalid request: an id is a string or a safe integer'));
    const owner = principalKey(principal);
    const { hasPlace, opened, closed, unread } = this.#placesOf(owner);
    if (!hasPlace()) return this.#refuse(request, response, full(), idText);
    const id = randomBytes(SESSION_ID_BYTES).toString('hex');
    const { limits, clock, turn } = this.#options;
    const session = new HttpSession2025({
      ...{ id, view, limits, clock, turn, owner, unread, grant: grantOf(principal) },
      ended: () => {
        this.#sessions.delete(id);
        closed();
      },
    });
    this.#sessions.set(id, session);
    opened();
    this.#watch();
    session.session = this.#options.accept(session.link, principal, view);
    if (session.link.isClosed) return this.#refuse(request, response, full(), idText);
    session.begin(b, end, { response, idText });
  }

  #onBatch(asked: Asked, b: Buffer): void {
    const { request, response } = asked;
    const session = this.#sessionOf(asked);
    if ('status' in session) return this.#refuse(request, response, session);
    const batch = cutBatch(b, 0);
    const refused = session.mayBatch ? batchRefusal(batch) : refusalOf('batch', 0);
    if (refused !== undefined)
      return this.#refuse(request, response, { status: 400, error: rpcError(refused.code, refused.message) });
    const messages = batch.messages.map((place) => messageIn(b, place));
    const idTexts = messages.flatMap(({ b: message, start, end }) => {
      envelope.keys = ERA_2026.keys;
      const isRequest =
        envelope.scan(message, start, end, this.#options.limits.maxDepth) && envelope.kind === 'request';
      const idText = isRequest ? certainId(envelope, message) : 'null';
      return idText === 'null' ? [] : [idText];
    });
    this.#give(asked, session, { messages, idTexts, isBatch: true });
  }

  #give(
    { request, response }: Asked,
    session: HttpSession2025,
    post: {
      readonly messages: readonly { readonly b: Buffer; readonly end: number }[];
      readonly idTexts: readonly string[];
      readonly isBatch: boolean;
    },
  ): void {
    const { messages, idTexts, isBatch } = post;
    const open = idTexts.find((idText, i) => session.link.isOpen(idText) || idTexts.indexOf(idText) !== i);
    if (open !== undefined)
      return this.#refuse(
        request,
        response,
        { status: 400, error: rpcError(INVALID_REQUEST, `A request with id ${open} is still under way`) },
        open,
      );
    if (session.link.isFull) return this.#refuse(request, response, busy());
    session.take(messages, idTexts, { response, isBatch });
    if (idTexts.length === 0 && !response.headersSent) accept(response);
  }

  // --- maintenance ---

  /** The places of a principal, and its unread answers. */
  #placesOf(owner: string) {
    return {
      hasPlace: () => this.#places.hasRoom(owner) || this.#endOneUnused(owner),
      opened: () => this.#places.take(owner),
      closed: () => this.#places.giveBack(owner),
      unread: (response: ServerResponse) => {
        this.#unread.note(response, owner);
        this.#watch();
      },
    };
  }

  /** Ends the principal's least recently used session: its client may have forgotten it. */
  #endOneUnused(owner: string): boolean {
    const nowMs = this.#options.clock.now();
    const unused = [...this.#sessions.values()].filter((one) => one.owner === owner && one.isIdleFor(UNUSED_MS, nowMs));
    if (unused.length === 0) return false;
    unused.reduce((one, other) => (other.usedMs < one.usedMs ? other : one)).link.destroy();
    return true;
  }

  #watch(): void {
    this.#timer ??= this.#options.clock.every(TICK_MS, () => this.#tick());
  }

  /** False once a token was revoked or has expired: everything begun with it ends. */
  #isGood(grant: Grant | undefined): boolean {
    if (grant === undefined) return true;
    const { tokens, authorization } = this.#access ?? {};
    return authorization?.isGood(grant) ?? tokens?.isGood(grant) !== false;
  }

  #tick(): void {
    const nowMs = this.#options.clock.now();
    for (const session of [...this.#sessions.values()]) {
      session.tick(nowMs);
      if (!this.#isGood(session.grant)) session.link.destroy();
      if (session.isIdleFor(SESSION_IDLE_MS, nowMs)) session.link.destroy();
    }
    for (const [key, callers] of this.#callers) {
      if (this.#isGood(callers.grant)) callers.tick(nowMs);
      else for (const link of callers.links) link.destroy();
      if (callers.isEmpty) this.#callers.delete(key);
    }
    this.#unread.tick(nowMs);
    if (this.#sessions.size > 0 || this.#callers.size > 0 || !this.#unread.isEmpty) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}

/** A session unused for this long is ended if its principal needs a place. */
const UNUSED_MS = 10_000;
/** A session unused for this long ends. Its client starts another one. */
const SESSION_IDLE_MS = 30 * 60_000;

/**
 * True for tokens that may use all servers, because metrics name all of them. Tokens of an authorization server never
 * may.
 */
function mayWatch(grant: Grant | undefined): boolean {
  return grant === undefined || (grant.isForeign !== true && grant.view === undefined && grant.servers === undefined);
}

/** The view of a principal at a path. */
function viewFor(principal: Principal, wanted: string | undefined): string | undefined | HttpRefusal {
  const granted = principal.kind === 'http' ? principal.grant?.view : undefined;
  if (granted === undefined || wanted === undefined || wanted === granted) return wanted ?? granted;
  return refusal(403, 'The token is not for this path');
}

function notAllowed(method: string | undefined): HttpRefusal {
  return refusal(405, `Method not allowed: ${method ?? ''}`, { allow: 'GET, POST, DELETE' });
}

function full(): HttpRefusal {
  return refusal(503, 'The bridge takes no more clients at present', { 'retry-after': '1' });
}

function busy(): HttpRefusal {
  return refusal(503, 'Too many messages are coming in or waiting', { 'retry-after': '1' });
}
