// Decides what a client's frame means and where it goes, with one function for each kind of frame. All state is in
// Session and Instance.

import { isCall, type Method } from '../protocol/era.ts';
import { ERA_2025 } from '../protocol/era-2025.ts';
import { ERA_2026 } from '../protocol/era-2026.ts';
import {
  BAD_ID,
  BAD_TOKEN,
  batchRefusal,
  certainId,
  type FrameRefusal,
  INVALID_PARAMS,
  INVALID_REQUEST,
  idInUse,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
  refusalOf,
  rpcError,
  SHUTTING_DOWN,
} from '../protocol/rpc-error.ts';
import { declaresTasks, TASKS_NOT_DECLARED } from '../protocol/tasks-extension.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import { cutBatch, messageIn } from '../wire/batch.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { RequestId } from '../wire/request-id.ts';
import type { ConnectionManager } from './connection-manager.ts';
import { Handshake, type HandshakeContext } from './handshake.ts';
import type { Resumption } from './resumption.ts';
import type { Session } from './session.ts';
import { SessionParts, type SessionPartsPorts } from './session-parts.ts';

/** A session of the role `control`, as its handler sees it. */
export interface ControlPeer {
  readonly isOpen: boolean;
  /** True while it watches the daemon: then it may read slowly. */
  isWatching: boolean;
  readonly link: { readonly outbox: { readonly queuedBytes: number } };
  readonly output: { answerControl(json: string): void };
}

/** Handles each frame of a session of the role `control`. */
export type ControlHandler = (request: Buffer, peer: ControlPeer) => void;

export interface RouterContext extends HandshakeContext {
  readonly control: ControlHandler;
}

interface Request extends Frame {
  readonly id: RequestId;
  readonly idText: string;
}

/** Decoding megabytes would block the daemon. Real clients send some hundred bytes, or an icon at most. */
const MOST_HELLO_BYTES = 262_144;
const HELLO_TOO_LONG = rpcError(INVALID_PARAMS, `initialize is longer than ${MOST_HELLO_BYTES} bytes`);

const OTHER_ERA = 'This connection began with initialize: its requests do not say who asks';

/** The limit for the members of one `_meta`: a directory and some short names. */
const MOST_DEFAULTS_BYTES = 16_384;

/** Shared by all sessions: each frame is handled before the next one is scanned. */
const envelope = new Envelope(ERA_2025.keys);

/**
 * True if a request belongs to the era without a handshake. After such a request, all others on the connection must,
 * except `initialize`. `server/discover` exists only in that era.
 */
function speaksForItself(session: Session, method: Method, b: Buffer): boolean {
  if (envelope.has(Field.protocolVersion) || method.role === 'discover') return true;
  if (session.parts === undefined) return false;
  return method.role !== 'removed' || ERA_2025.methods.of(b, envelope).role !== 'initialize';
}

export class Router {
  readonly #context: RouterContext;
  readonly #connections: ConnectionManager;
  readonly #handshake: Handshake;
  readonly #resumption: Resumption;
  readonly #partsPorts: SessionPartsPorts;

  constructor(context: RouterContext, connections: ConnectionManager, resumption: Resumption) {
    this.#context = context;
    this.#resumption = resumption;
    this.#connections = connections;
    this.#partsPorts = {
      views: connections.views,
      makePart: (host, serverInfo) => connections.makePart(host, serverInfo),
      endPart: (session) => connections.endPart(session),
      nameClient: (session, wanted) => connections.nameClient(session, wanted),
      letIn: (session, frame) => this.#letIn(session, frame),
    };
    this.#handshake = new Handshake(context, {
      views: connections.views,
      nameClient: (session, wanted) => connections.nameClient(session, wanted),
      release: (session) => connections.release(session),
      letIn: (session, { b, start, end }) => connections.take(session, b, start, end),
      resumption,
    });
  }

  frame(session: Session, bytes: Buffer, start: number, end: number): void {
    session.liveness.speaks();
    if (!session.isOpen) return;
    // Until `initialize`, each request may name its own client.
    envelope.keys = session.state === 'connecting' ? ERA_2026.keys : session.era.keys;
    const isSound = envelope.scan(bytes, start, end, this.#context.limits.maxDepth);
    if (!isSound) return this.#onUnsound(session, { b: bytes, start, end });
    if (session.isLeaving && envelope.kind !== 'response') return;
    switch (envelope.kind) {
      case 'response':
        return this.#onResponse(session, bytes, start, end);
      case 'notification':
        return this.#onNotification(session, bytes, start, end);
      case 'request':
        return this.#onRequest(session, bytes, start, end);
    }
  }

  notUtf8(session: Session): void {
    session.liveness.speaks();
    if (!session.isOpen || session.isLeaving) return;
    this.#refuse(session, 'null', { code: PARSE_ERROR, message: 'Parse error: not valid UTF-8' });
  }

  overflowed(session: Session): void {
    if (!session.isOpen) return;
    this.#context.events.incident.tell('oversizedFrames', session);
    const most = this.#context.limits.maxMessageBytes;
    session.output.fail('null', rpcError(INVALID_REQUEST, `A message may have at most ${most} bytes`));
    this.#connections.cutOff(session, 'it sent a message over the limit');
  }

  #onUnsound(session: Session, frame: Frame): void {
    if (envelope.fault === 'batch') {
      // The protocol version decides if the client may send batches; it is known once `initialize` is answered.
      if (session.isHolding) return session.hold(frame, this.#context.limits.maxWaitingBytesPerClient);
      if (session.mayBatch) return this.#onBatch(session, frame);
    }
    if (!session.isLeaving) this.#refuseFrame(session, frame.b);
  }

  /** Takes the messages of a batch. If one of them pauses the client, reading stops after the batch. */
  #onBatch(session: Session, { b, start }: Frame): void {
    const batch = cutBatch(b, start);
    const refusal = batchRefusal(batch);
    if (refusal !== undefined && !session.isLeaving) this.#refuse(session, 'null', refusal);
    if (batch.isTooLong) return;
    for (const place of batch.messages) {
      const message = messageIn(b, place);
      this.frame(session, message.b, message.start, message.end);
    }
  }

  #refuseFrame(session: Session, bytes: Buffer): void {
    const refusal = refusalOf(envelope.fault ?? 'not-json', this.#context.limits.maxDepth);
    this.#refuse(session, refusal.code === PARSE_ERROR ? 'null' : certainId(envelope, bytes), refusal);
  }

  #refuse(session: Session, idText: string, { code, message }: FrameRefusal): void {
    this.#context.events.incident.tell('badFrames', session);
    session.output.refuse(idText, rpcError(code, message));
  }

  #onResponse(session: Session, bytes: Buffer, start: number, end: number): void {
    const id = envelope.id(bytes, Field.id);
    const question = id === undefined ? undefined : session.questions.get(id);
    if (question !== undefined) return question.answer({ b: bytes, start, end }, envelope);
    if (id !== undefined && session.liveness.answersPing(id)) this.#resumption.answeredPing(session);
    else this.#context.events.incident.tell('strayResponses', session);
  }

  #onNotification(session: Session, bytes: Buffer, start: number, end: number): void {
    const method = session.era.methods.of(bytes, envelope);
    if (this.#refusesAmbiguous(session, method, 'null')) return;
    // A server that ignores missing ids would run a tool for it, and bypass everything that decides about calls.
    if (method.wantsAnswer) return this.#context.events.incident.tell('badFrames', session);
    if (session.state === 'connecting') {
      if (method.role === 'cancelled') this.#onCancelled(session, bytes, start, end);
      if (method.role === 'bridge-defaults') this.#onDefaults(session, bytes, end - start);
      return;
    }
    if (session.isHolding) return session.hold({ b: bytes, start, end }, this.#context.limits.maxWaitingBytesPerClient);
    switch (method.role) {
      case 'initialized':
        return session.becomeReady();
      case 'cancelled':
        return this.#onCancelled(session, bytes, start, end);
      case 'progress':
        return this.#onProgress(session, { b: bytes, start, end });
      case 'roots-changed':
        session.roots.changed();
        return session.view?.rootsChanged(session, { b: bytes, start, end });
      case 'bridge-received':
      case 'bridge-again':
      case 'bridge-leave':
      case 'bridge-leaving':
        return this.#resumption.notice(session, method.role, membersOf(envelope.decode(bytes, Field.params)));
      case 'bridge-defaults': // after a handshake, the client is known already
        return this.#context.events.incident.tell('badFrames', session);
      case 'between-clients':
        return this.#context.messaging.notice(session, { b: bytes, start, end }, envelope);
      default:
        session.view?.notify(session, { b: bytes, start, end });
    }
  }

  /**
   * Takes members that a connection sends for all later requests. Each request is judged as if it carried them itself.
   */
  #onDefaults(session: Session, b: Buffer, bytes: number): void {
    const params = bytes > MOST_DEFAULTS_BYTES ? undefined : envelope.decode(b, Field.params);
    const { _meta } = membersOf(params);
    if (!isRecord(_meta)) return this.#context.events.incident.tell('badFrames', session);
    if (JSON.stringify(_meta) === JSON.stringify(session.defaults)) return;
    session.setDefaults(_meta);
    session.parts?.defaultsChanged();
  }

  /** Takes progress. It can only be about a question that the client was asked. */
  #onProgress(session: Session, frame: Frame): void {
    const token = envelope.id(frame.b, Field.progressToken);
    const question = token === undefined ? undefined : session.questions.get(token);
    if (question === undefined) this.#context.events.incident.tell('strayProgress', session);
    else question.progress(frame, envelope);
  }

  #onCancelled(session: Session, b: Buffer, start: number, end: number): void {
    const id = envelope.id(b, Field.requestId);
    const call = id === undefined ? undefined : (session.calls.get(id) ?? session.parts?.callOf(id));
    if (call === undefined) {
      if (id === undefined || session.parts?.dropHeld(id) !== true)
        this.#context.events.incident.tell('strayCancels', session);
      return;
    }
    this.#context.events.callGivenUp.tell(call, 'cancelled');
    call.owner.cancel(call, { b, start, end }, envelope);
  }

  /**
   * Finds the session for a request: the connection's own after `initialize`, else the one for the client that the
   * request names.
   */
  #onRequest(session: Session, b: Buffer, start: number, end: number): void {
    if (session.state !== 'connecting') {
      if (session.era.hasHandshake && envelope.has(Field.protocolVersion))
        return this.#refuse(session, certainId(envelope, b), { code: INVALID_REQUEST, message: OTHER_ERA });
      return this.#onRequestOf(session, b, start, end);
    }
    const method = ERA_2026.methods.of(b, envelope);
    if (!speaksForItself(session, method, b)) return this.#onRequestOf(session, b, start, end);
    const parts = session.parts ?? new SessionParts(session, this.#context, this.#partsPorts);
    // A request that does not say who asks is refused, and decides nothing.
    if (envelope.has(Field.protocolVersion)) session.parts = parts;
    if (envelope.doubts(method.reads)) return void this.#refusesAmbiguous(session, method, envelope.raw(b, Field.id));
    const asker = parts.of(b, envelope);
    if (asker === undefined) return;
    this.#onRequestOf(asker, b, start, end);
  }

  /** Handles a request that waited until its client's servers were known. */
  #letIn(session: Session, { b, start, end }: Frame): void {
    envelope.keys = session.era.keys;
    if (envelope.scan(b, start, end, this.#context.limits.maxDepth)) this.#onRequestOf(session, b, start, end);
  }

  /** Handles a request of a session. The audit log hears of a tool call before anything can refuse it. */
  #onRequestOf(session: Session, b: Buffer, start: number, end: number): void {
    const method = session.era.methods.of(b, envelope);
    const frame = { b, start, end };
    const { events } = this.#context;
    if (!events.requestBegun.isHeard && (method.role !== 'call' || !events.toolWanted.isHeard))
      return this.#takeRequest(session, method, frame);
    // A held request comes again later; and `control` sessions call no tools.
    if (session.isHolding || session.role === 'control') return this.#takeRequest(session, method, frame);
    events.requestBegun.tell(session, frame, envelope);
    if (method.role !== 'call') return this.#takeRequest(session, method, frame);
    events.toolWanted.tell(session, frame, envelope);
    try {
      this.#takeRequest(session, method, frame);
    } finally {
      events.toolTaken.tell(session);
    }
  }

  #takeRequest(session: Session, method: Method, frame: Frame): void {
    const { b } = frame;
    const id = envelope.id(b, Field.id);
    if (id === undefined) return this.#refuse(session, 'null', { code: INVALID_REQUEST, message: BAD_ID });
    if (!this.#refusesFields(session, method, b)) {
      // It comes again once `initialize` is answered, and is counted then.
      if (session.isHolding && method.role !== 'ping')
        return session.hold(frame, this.#context.limits.maxWaitingBytesPerClient);
      this.#routeRequest(session, method, id, frame);
    }
    // Only here, because `initialize` decides which sessions are `control`.
    if (session.role !== 'control') this.#context.events.requestTaken.tell(session);
  }

  /** Passes a request to the view, or answers it here. */
  #routeRequest(session: Session, method: Method, id: RequestId, frame: Frame): void {
    const { b, start, end } = frame;
    if (method.role === 'ping') return session.output.answer(envelope.raw(b, Field.id), '{}');
    if (isCall(method) && session.isServed && session.view !== undefined) {
      session.becomeReady();
      if (this.#connections.isDraining) return session.output.fail(envelope.raw(b, Field.id), SHUTTING_DOWN);
      if (method.role === 'task' && !session.era.hasHandshake && !declaresTasks(session.capabilities))
        return session.output.fail(envelope.raw(b, Field.id), TASKS_NOT_DECLARED);
      return session.view.submit(session, { id, role: method.role, frame }, envelope);
    }
    this.#onRareRequest(session, method, { id, idText: envelope.raw(b, Field.id), b, start, end });
  }

  /** Refuses a request with a duplicate field that the router reads, or with a token that cannot be given back. */
  #refusesFields(session: Session, method: Method, b: Buffer): boolean {
    if (envelope.doubts(method.reads)) return this.#refusesAmbiguous(session, method, envelope.raw(b, Field.id));
    if (!envelope.has(Field.metaProgressToken) || envelope.id(b, Field.metaProgressToken) !== undefined) return false;
    this.#refuse(session, envelope.raw(b, Field.id), { code: INVALID_REQUEST, message: BAD_TOKEN });
    return true;
  }

  #refusesAmbiguous(session: Session, method: Method, idText: string): boolean {
    if (!envelope.doubts(method.reads)) return false;
    this.#refuse(session, idText, refusalOf('ambiguous-key', 0));
    return true;
  }

  #onInitialize(session: Session, { id, idText, b, start, end }: Request): void {
    if (this.#connections.isDraining) return session.output.fail(idText, SHUTTING_DOWN);
    if (session.parts?.callOf(id) !== undefined) return session.output.fail(idText, idInUse(idText));
    if (end - start > MOST_HELLO_BYTES) return session.output.fail(idText, HELLO_TOO_LONG);
    this.#handshake.begin(session, { idText, first: { b, start, end }, params: envelope.decode(b, Field.params) });
  }

  #onMessage(session: Session, { id, idText, b, start, end }: Request): void {
    if (this.#connections.isDraining) return session.output.fail(idText, SHUTTING_DOWN);
    session.becomeReady();
    this.#context.messaging.request(session, { id, role: 'other', frame: { b, start, end } }, envelope);
  }

  /** Called when the daemon stops before `initialize` is answered. */
  abandon(session: Session): void {
    this.#handshake.abandon(session, SHUTTING_DOWN);
  }

  #onRareRequest(session: Session, method: Method, request: Request): void {
    if (method.role === 'discover' && session.host.parts !== undefined && session.host !== session) {
      const { id, b, start, end } = request;
      return session.host.parts.discover(session, { id, role: 'other', frame: { b, start, end } }, envelope);
    }
    if (method.role === 'listen' && session.listens !== undefined) {
      if (this.#connections.isDraining) return session.output.fail(request.idText, SHUTTING_DOWN);
      const { id, b, start, end } = request;
      return session.listens.open({ id, role: 'other', frame: { b, start, end } }, envelope);
    }
    if (method.role === 'discover') {
      // Clients of 2026 probe with this method; the answer lets them fall back without a timeout.
      return session.output.fail(request.idText, rpcError(METHOD_NOT_FOUND, 'Method not found: server/discover'));
    }
    if (method.role === 'initialize') return this.#onInitialize(session, request);
    if (session.state === 'connecting') {
      const message = session.liveness.hasTriedInitialize
        ? 'initialize has failed, so there is nothing to ask; its error says why'
        : 'The first request is initialize';
      return session.output.fail(request.idText, rpcError(INVALID_REQUEST, message));
    }
    if (method.role === 'between-clients' && session.role === 'client') return this.#onMessage(session, request);
    if (session.role === 'control') {
      const { b, start, end } = request;
      return this.#context.control(b.subarray(start, end), session);
    }
    session.output.fail(request.idText, rpcError(METHOD_NOT_FOUND, 'Method not found'));
  }
}
