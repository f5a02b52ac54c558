// What a frame of a client means, and where it goes. One function a kind of frame; all state is in Session and Backend.

import { BridgeError, messageOf } from '../util/bridge-error.ts';
import type { Logger } from '../util/logger.ts';
import { Envelope, Field, type FrameFault } from '../wire/envelope.ts';
import type { Limits } from '../wire/limits.ts';
import { type RequestId, readRequestId } from '../wire/request-id.ts';
import { Splice } from '../wire/splice.ts';
import type { Upstream } from './backend.ts';
import type { ConnectionManager } from './connection-manager.ts';
import type { Counters } from './counters.ts';
import { type Method, methodOf } from './era/era-2025.ts';
import { bridgeHello, type Hello, readHello, writeServerHello } from './era/hello.ts';
import { INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, rpcError, rpcErrorOf } from './rpc-error.ts';
import type { HeldFrame, Session } from './session.ts';
import { resolveView, type ServerDirectory } from './view.ts';

/** Answers what a session of the role `control` asks, frame by frame. */
export type ControlHandler = (request: Buffer, answer: (json: string) => void) => void;

export interface RouterContext {
  readonly limits: Limits;
  readonly counters: Counters;
  readonly logger: Logger;
  readonly servers: ServerDirectory;
  readonly control: ControlHandler;
  /** The bridge's own version. */
  readonly version: string;
}

interface Request extends HeldFrame {
  readonly id: RequestId;
  readonly idText: string;
}

/** What came behind an unanswered `initialize`, before its client is no longer read. */
const MOST_HELD = 64;

/** Shared by all sessions: a frame is dealt with before the next one is looked at. */
const envelope = new Envelope();
const splice = new Splice();

export class Router {
  readonly #context: RouterContext;
  readonly #connections: ConnectionManager;

  constructor(context: RouterContext, connections: ConnectionManager) {
    this.#context = context;
    this.#connections = connections;
  }

  frame(session: Session, bytes: Buffer, start: number, end: number): void {
    session.hasSpoken = true;
    if (!session.isOpen) return;
    if (!envelope.scan(bytes, start, end, this.#context.limits.maxDepth)) return this.#refuseFrame(session, bytes);
    switch (envelope.kind) {
      case 'response':
        return this.#onResponse(session, bytes);
      case 'notification':
        return this.#onNotification(session, bytes, start, end);
      case 'request':
        return this.#onRequest(session, bytes, start, end);
    }
  }

  notUtf8(session: Session): void {
    session.hasSpoken = true;
    if (!session.isOpen) return;
    this.#context.counters.badFrames++;
    session.answerError('null', rpcError(PARSE_ERROR, 'Parse error: not valid UTF-8'));
  }

  overflowed(session: Session): void {
    if (!session.isOpen) return;
    this.#context.counters.oversizedFrames++;
    const most = this.#context.limits.maxMessageBytes;
    session.answerError('null', rpcError(INVALID_REQUEST, `A message may have at most ${most} bytes`));
    this.#connections.cutOff(session, 'it sent a message over the limit');
  }

  #refuseFrame(session: Session, bytes: Buffer): void {
    this.#context.counters.badFrames++;
    const { code, message } = refusalOf(envelope.fault ?? 'not-json', this.#context.limits.maxDepth);
    session.answerError(code === PARSE_ERROR ? 'null' : this.#certainId(bytes), rpcError(code, message));
  }

  /** The id of a frame that is refused, where there can be no doubt about it. */
  #certainId(bytes: Buffer): string {
    if (!envelope.has(Field.id) || (envelope.ambiguous & (1 << Field.id)) !== 0) return 'null';
    const from = envelope.from(Field.id);
    const to = envelope.to(Field.id);
    return readRequestId(bytes, from, to) === undefined ? 'null' : bytes.latin1Slice(from, to);
  }

  #onResponse(session: Session, bytes: Buffer): void {
    const id = envelope.has(Field.id)
      ? readRequestId(bytes, envelope.from(Field.id), envelope.to(Field.id))
      : undefined;
    if (id !== undefined && session.unansweredPings.delete(id)) {
      session.unansweredPings.clear();
      session.hasAnsweredPing = true;
    } else this.#context.counters.strayResponses++;
  }

  // --- notifications ---

  #onNotification(session: Session, bytes: Buffer, start: number, end: number): void {
    const method = methodOf(bytes, envelope);
    if (this.#refusesAmbiguous(session, method, 'null')) return;
    if (session.state === 'connecting') return;
    if (session.held !== undefined) return this.#hold(session, { bytes, start, end });
    switch (method.role) {
      case 'initialized':
        session.state = 'ready';
        return;
      case 'cancelled':
        return this.#onCancelled(session, bytes, start, end);
      case 'progress':
        // It could only be about a request of the server's, and none was passed on to this client.
        this.#context.counters.strayProgress++;
        return;
      default:
        session.backend?.notify(bytes, start, end);
    }
  }

  #onCancelled(session: Session, b: Buffer, start: number, end: number): void {
    const id = envelope.has(Field.requestId)
      ? readRequestId(b, envelope.from(Field.requestId), envelope.to(Field.requestId))
      : undefined;
    const slot = id === undefined ? undefined : session.slots.get(id);
    if (slot === undefined) this.#context.counters.strayCancels++;
    else slot.backend.cancel(slot, { b, start, end }, envelope);
  }

  // --- requests ---

  #onRequest(session: Session, bytes: Buffer, start: number, end: number): void {
    const from = envelope.from(Field.id);
    const to = envelope.to(Field.id);
    const id = readRequestId(bytes, from, to);
    if (id === undefined) {
      this.#context.counters.badFrames++;
      const message = 'Invalid request: an id is a string of at most 256 bytes or a safe integer';
      return session.answerError('null', rpcError(INVALID_REQUEST, message));
    }
    this.#context.counters.requests++;
    const method = methodOf(bytes, envelope);
    if (this.#refusesFields(session, method, bytes, from, to)) return;
    if (method.role === 'ping') return session.answer(bytes.latin1Slice(from, to), '{}');
    if (method.role === 'other' && session.isServed && session.backend !== undefined) {
      session.state = 'ready';
      return session.backend.submit(session, { id, b: bytes, start, end }, envelope);
    }
    if (session.held !== undefined) return this.#hold(session, { bytes, start, end });
    this.#onRareRequest(session, method, { id, idText: bytes.latin1Slice(from, to), bytes, start, end });
  }

  /** Fields that the router reads must mean one thing, and a token must be one that it can give back. */
  #refusesFields(session: Session, method: Method, b: Buffer, idFrom: number, idTo: number): boolean {
    if (this.#refusesAmbiguous(session, method, b.latin1Slice(idFrom, idTo))) return true;
    const token = envelope.from(Field.metaProgressToken);
    if (token < 0 || readRequestId(b, token, envelope.to(Field.metaProgressToken)) !== undefined) return false;
    this.#context.counters.badFrames++;
    const message = 'Invalid request: a progress token is a string of at most 256 bytes or a safe integer';
    session.answerError(b.latin1Slice(idFrom, idTo), rpcError(INVALID_REQUEST, message));
    return true;
  }

  #refusesAmbiguous(session: Session, method: Method, idText: string): boolean {
    if ((envelope.ambiguous & method.reads) === 0) return false;
    this.#context.counters.badFrames++;
    session.answerError(idText, rpcError(INVALID_REQUEST, refusalOf('ambiguous-key', 0).message));
    return true;
  }

  #onRareRequest(session: Session, method: Method, request: Request): void {
    if (method.role === 'discover') {
      // Clients of the next era probe with this; the answer lets them fall back without a timeout.
      return session.answerError(request.idText, rpcError(METHOD_NOT_FOUND, 'Method not found: server/discover'));
    }
    if (method.role === 'initialize') return this.#onInitialize(session, request);
    if (session.state === 'connecting') {
      const message = session.hasTriedInitialize
        ? 'initialize has failed, so there is nothing to ask; its error says why'
        : 'The first request is initialize';
      return session.answerError(request.idText, rpcError(INVALID_REQUEST, message));
    }
    if (session.role === 'control') {
      const { bytes, start, end } = request;
      return this.#context.control(bytes.subarray(start, end), (json) => {
        if (!session.isOpen) return;
        session.link.outbox.utf8(json);
        session.link.outbox.endFrame();
      });
    }
    session.answerError(request.idText, rpcError(METHOD_NOT_FOUND, 'Method not found'));
  }

  #hold(session: Session, frame: HeldFrame): void {
    session.held?.push(frame);
    if ((session.held?.length ?? 0) >= MOST_HELD) session.pause();
  }

  // --- the handshake ---

  #onInitialize(session: Session, request: Request): void {
    if (session.state !== 'connecting') {
      return session.answerError(request.idText, rpcError(INVALID_REQUEST, 'This connection is initialized already'));
    }
    const hello = readHello(this.#paramsOf(request.bytes));
    if (typeof hello === 'string') return session.answerError(request.idText, rpcError(INVALID_PARAMS, hello));
    session.hasTriedInitialize = true;
    session.state = 'initializing';
    session.held = [];
    session.initializeId = request.idText;
    this.#welcome(session, hello, request.idText)
      .catch((error: unknown) => this.#failInitialize(session, request.idText, error))
      .finally(() => this.#release(session));
  }

  #paramsOf(bytes: Buffer): unknown {
    if (!envelope.has(Field.params)) return undefined;
    return JSON.parse(bytes.toString('utf8', envelope.from(Field.params), envelope.to(Field.params)));
  }

  async #welcome(session: Session, hello: Hello, idText: string): Promise<void> {
    if (hello.role === 'server') {
      throw new BridgeError('REQUEST_REFUSED', 'This bridge does not take servers that dial in');
    }
    if (hello.role === 'control') {
      session.greet(hello, this.#connections.nameClient(session, hello.clientId));
      const meta = { 'mcp-bridge/clientId': session.clientId };
      session.view = 'control';
      return session.answer(idText, bridgeHello(hello.protocolVersion, this.#context.version, meta));
    }
    const { view, backend } = resolveView(hello.view, this.#context.servers);
    const upstream = await backend.whenOpen();
    if (!session.isOpen) return;
    session.greet(hello, this.#connections.nameClient(session, hello.clientId));
    session.view = view;
    backend.attach(session);
    this.#answerInitialize(session, hello, idText, upstream);
  }

  #answerInitialize(session: Session, hello: Hello, idText: string, upstream: Upstream): void {
    const { outbox } = session.link;
    outbox.latin1(`{"jsonrpc":"2.0","id":${idText},"result":`);
    writeServerHello(outbox, splice, {
      result: upstream.hello,
      protocolVersion: hello.protocolVersion,
      meta: { 'mcp-bridge/clientId': session.clientId, 'mcp-bridge/instanceId': upstream.instanceId },
    });
    outbox.latin1('}');
    outbox.endFrame();
    this.#context.counters.responses++;
  }

  #failInitialize(session: Session, idText: string, error: unknown): void {
    if (!session.isOpen) return;
    session.state = 'connecting';
    if (error instanceof BridgeError) return session.answerError(idText, rpcErrorOf(error));
    this.#context.logger.error('initialize failed', { error: messageOf(error) });
    session.answerError(idText, rpcError(-32603, 'The bridge failed to initialize this connection'));
  }

  /** Lets in what came behind `initialize`. */
  #release(session: Session): void {
    const held = session.held ?? [];
    session.held = undefined;
    if (!session.isOpen) return;
    session.resume(); // first, because these frames may have it paused again
    const { hasEnded } = session;
    session.hasEnded = false; // the end came behind them
    for (const { bytes, start, end } of held) this.frame(session, bytes, start, end);
    session.hasEnded = hasEnded;
    if (hasEnded) session.endWhenAnswered();
  }

  /** Answers an `initialize` that is still waiting, and all requests behind it, with one error. */
  failHeld(session: Session, error: string): void {
    const { held } = session;
    if (held === undefined) return;
    session.held = undefined;
    session.answerError(session.initializeId, error);
    for (const { bytes, start, end } of held) {
      envelope.scan(bytes, start, end, this.#context.limits.maxDepth);
      if (envelope.kind === 'request') session.answerError(this.#certainId(bytes), error);
    }
  }
}

function refusalOf(fault: FrameFault, maxDepth: number): { code: number; message: string } {
  switch (fault) {
    case 'not-json':
      return { code: PARSE_ERROR, message: 'Parse error: not JSON' };
    case 'too-deep':
      return { code: INVALID_REQUEST, message: `Invalid request: nested deeper than ${maxDepth}` };
    case 'batch':
      return { code: INVALID_REQUEST, message: 'Invalid request: batches are not taken, send one message a line' };
    case 'not-an-object':
      return { code: INVALID_REQUEST, message: 'Invalid request: a message is an object' };
    case 'ambiguous-key':
      return {
        code: INVALID_REQUEST,
        message: 'Invalid request: a key that decides where it goes is there twice, or spelled in another way',
      };
    case 'not-jsonrpc-2.0':
      return { code: INVALID_REQUEST, message: 'Invalid request: "jsonrpc" is not "2.0"' };
    case 'method-not-a-string':
      return { code: INVALID_REQUEST, message: 'Invalid request: "method" is not a string' };
    case 'no-method':
      return { code: INVALID_REQUEST, message: 'Invalid request: neither a method nor an answer' };
  }
}
