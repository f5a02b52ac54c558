// What a frame of a server means, and whom it goes to: an answer to the one who asked, progress to the one who asked for
// it, a question to the one whose call it belongs to (call-backs.ts), notices to all.

import { BridgeError } from '../util/bridge-error.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import type { Logger } from '../util/logger.ts';
import { changedFrame } from '../wire/changed-frame.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { answeredId } from '../wire/frame-ends.ts';
import type { Frame, FrameSink } from '../wire/frame-splitter.ts';
import { OPEN_ARRAY } from '../wire/json-grammar.ts';
import type { Limits } from '../wire/limits.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { Backend } from './backend.ts';
import type { CallBacks } from './call-backs.ts';
import type { CallMeters } from './call-meter.ts';
import type { Counters } from './counters.ts';
import { extend } from './deadline.ts';
import { type ListKind, type MethodRole, methodOf, relatedTask, unbatch, wantsAnswer } from './era/era-2025.ts';
import { METHOD_NOT_FOUND, rpcError } from './rpc-error.ts';
import { answerServer } from './server-question.ts';
import type { Session } from './session.ts';
import type { SharedState } from './shared-state.ts';
import type { Slot } from './slot.ts';
import type { SlotTable } from './slot-table.ts';
import type { Tasks } from './tasks.ts';

export interface BackendContext {
  readonly limits: Limits;
  readonly counters: Counters;
  readonly logger: Logger;
  readonly meters: CallMeters;
  /** Undefined if no calls are recorded. */
  readonly audit?: AuditTrail | undefined;
  /** Cuts a client off that does not take what is meant for it. */
  readonly cutOff: (session: Session, reason: string) => void;
}

/** The parts of a backend that messages are about. */
export interface ServerMessagesPorts {
  readonly slots: SlotTable;
  readonly sessions: ReadonlySet<Session>;
  readonly shared: SharedState;
  readonly callBacks: CallBacks;
  readonly tasks: Tasks;
  /** The backend that it is all about. */
  readonly backend: Backend;
  /** The server says that these are others now. */
  readonly listsChanged: (kinds: readonly ListKind[]) => void;
  readonly outbox: () => Outbox | undefined;
}

/**
 * At its limit a client may ask nothing new, but answers to what it has asked already still come in, all at once if its
 * luck is bad. Only who is so far beyond it is cut off at once; who takes nothing is cut off by the liveness tick.
 */
const CUT_OFF_FACTOR = 3;

const NOT_OFFERED: string = rpcError(METHOD_NOT_FOUND, 'The bridge offered no such capability');

/** Shared by all servers: a frame is dealt with before the next one is looked at. */
const envelope = new Envelope();
const splice = new Splice();

export class ServerMessages implements FrameSink {
  readonly #server: string;
  readonly #context: BackendContext;
  readonly #slots: SlotTable;
  readonly #ports: ServerMessagesPorts;

  constructor(server: string, context: BackendContext, ports: ServerMessagesPorts) {
    this.#server = server;
    this.#context = context;
    this.#slots = ports.slots;
    this.#ports = ports;
  }

  frame(b: Buffer, start: number, end: number): void {
    const { limits, counters, audit } = this.#context;
    envelope.readsResult = audit !== undefined;
    const isSound = envelope.scan(b, start, end, limits.maxDepth);
    // A server that leaves out "jsonrpc" can still be understood; its clients may be as tolerant.
    if (!isSound && envelope.fault !== 'not-jsonrpc-2.0') {
      if (envelope.fault === 'batch') return this.#onBatch(b, start, end);
      counters.serverNoise++;
      this.#context.logger.debug('a line that is no JSON-RPC', { server: this.#server, fault: envelope.fault });
      return this.#failRefused(b, start, end);
    }
    switch (envelope.kind) {
      case 'response':
        return this.#onResponse(b, start, end);
      case 'notification':
        return this.#onNotification(b, start, end);
      case 'request':
        return this.#onRequest({ b, start, end });
    }
  }

  /** Servers of the revision 2025-03-26 may send several messages in one array. */
  #onBatch(b: Buffer, start: number, end: number): void {
    const frames = unbatch(b, start, end);
    if (frames.length === 0) this.#context.counters.serverNoise++;
    // A batch within a batch is none.
    for (const frame of frames) if (frame.b[0] !== OPEN_ARRAY) this.frame(frame.b, frame.start, frame.end);
  }

  /** An answer that cannot be passed on is the error of the one who waits for it, if it is certain who that is. */
  #failRefused(b: Buffer, start: number, end: number): void {
    if (envelope.fault === 'not-json' || envelope.has(Field.method)) return;
    const id = certainId(b, start, end);
    if (id !== undefined) this.#failAnswer(id, envelope.fault ?? 'not-json');
  }

  #failAnswer(id: number, why: string): void {
    const slot = this.#slots.takeSent(id, false);
    if (slot === undefined) return void this.#slots.own.take(id, undefined);
    const message = `Server ${this.#server} gave an answer that cannot be passed on: ${why}`;
    this.#slots.fail(slot, new BridgeError('SERVER_ANSWER_REFUSED', message, { server: this.#server }));
    this.#ports.callBacks.callEnded();
  }

  overflowed(): void {
    this.#context.counters.oversizedFrames++;
  }

  badFrame(reason: 'not-utf8' | 'too-long', head: Buffer, tail: Buffer): void {
    this.#context.counters.serverNoise++;
    this.#context.logger.warn('a message was dropped', { server: this.#server, reason });
    const id = answeredId(head, tail);
    if (id !== undefined) this.#failAnswer(id, reason);
  }

  #onResponse(b: Buffer, start: number, end: number): void {
    const id = this.#ourIdAt(b, Field.id);
    const slot = this.#slots.takeSent(id, envelope.has(Field.result));
    if (slot === undefined) {
      if (this.#slots.own.take(id, { b, start, end }, envelope)) return;
      this.#context.counters.strayResponses++;
      return this.#slots.givenUp.release(id);
    }
    const hasResult = envelope.has(Field.result);
    slot.onEnd?.(hasResult);
    if (!hasResult) this.#noteElicitations(slot, b);
    if (hasResult || slot.onRefusal === undefined) this.#answer(slot, b, start, end);
    else this.#slots.askElsewhere(slot, slot.onRefusal);
    this.#ports.callBacks.callEnded();
  }

  #answer(slot: Slot, b: Buffer, start: number, end: number): void {
    if (slot.onAnswer !== undefined) {
      const answer = slot.onAnswer({ b, start, end }, envelope);
      ({ b, start, end } = answer);
      envelope.scan(b, start, end, this.#context.limits.maxDepth);
    }
    const { session } = slot;
    slot.record?.answered(b, envelope);
    splice.clear().replace(envelope.from(Field.id), envelope.to(Field.id), slot.idText);
    splice.send(session.link.outbox, b, start, end);
    this.#context.counters.responses++;
    session.close(slot);
    this.#checkQueue(session);
  }

  /** An error may ask for visits to pages, of whose end the client is told. */
  #noteElicitations({ session }: Slot, b: Buffer): void {
    this.#ports.callBacks.elicitations.noteThoseIn(envelope.decode(b, Field.error), session);
  }

  /** Our own ids are numbers; a server that answers with "7" for 7 has answered nothing. */
  #ourIdAt(b: Buffer, field: Field): number {
    const id = envelope.id(b, field);
    return typeof id === 'number' ? id : 0;
  }

  #onNotification(b: Buffer, start: number, end: number): void {
    const method = methodOf(b, envelope);
    const { role, reads, lists } = method;
    if ((envelope.ambiguous & reads) !== 0 || wantsAnswer(method)) {
      this.#context.counters.serverNoise++;
      return;
    }
    const owner = this.#taskOwner(b, role);
    if (owner !== undefined) return this.#tellOne(owner, { b, start, end });
    switch (role) {
      case 'progress':
        return this.#onProgress(b, start, end);
      case 'cancelled':
        if (!this.#ports.callBacks.cancel({ b, start, end }, envelope)) this.#context.counters.strayCancels++;
        return;
      case 'updated':
        return this.#onUpdated({ b, start, end });
      case 'log':
        return this.#onLog({ b, start, end });
      case 'list-changed':
        return this.#onListsChanged(lists, { b, start, end });
      case 'elicited':
        return this.#onElicited({ b, start, end });
      case 'task-status':
        return this.#onTaskStatus({ b, start, end });
      case 'bridge-received':
      case 'bridge-again':
      case 'bridge-leave':
      case 'bridge-leaving':
        this.#context.counters.serverNoise++; // these are between the bridge and its clients
        return;
      default:
        return this.#broadcast(this.#ports.sessions, { b, start, end }, false);
    }
  }

  /** What a notice says of a task is its owner's business alone. */
  #taskOwner(b: Buffer, role: MethodRole): Session | undefined {
    if (!envelope.has(Field.meta) || role === 'progress' || role === 'cancelled') return undefined;
    return this.#ports.tasks.ownerOf(relatedTask(envelope.decode(b, Field.meta)) ?? '');
  }

  #onProgress(b: Buffer, start: number, end: number): void {
    const token = this.#ourIdAt(b, Field.progressToken);
    const slot = this.#slots.peekSent(token);
    if (slot !== undefined && this.#context.limits.progressExtendsTimeout) extend(slot);
    const { session, tokenText } = slot ?? this.#ports.tasks.byToken(token) ?? NOBODY;
    if (session === undefined || tokenText === '') {
      this.#context.counters.strayProgress++;
      return;
    }
    if (this.#isCrowded(session)) return;
    splice.clear().replace(envelope.from(Field.progressToken), envelope.to(Field.progressToken), tokenText);
    splice.send(session.link.outbox, b, start, end);
  }

  #onListsChanged(kinds: readonly ListKind[], frame: Frame): void {
    const sessions = this.#transparentSessions();
    for (const { view } of sessions) view?.listsToldChanged(kinds);
    this.#broadcast(sessions, frame, true);
    this.#ports.listsChanged(kinds);
  }

  /** Clients of joined views hear of it when the list was read again. */
  #transparentSessions(): Session[] {
    return [...this.#ports.sessions].filter(({ view }) => view?.isTransparent === true);
  }

  /** Only who was shown the page is told that the visit has ended. */
  #onElicited(frame: Frame): void {
    const id = textOf(membersOf(envelope.decode(frame.b, Field.params)).elicitationId);
    this.#tellOne(this.#ports.callBacks.elicitations.shownTo(id), frame);
  }

  #onTaskStatus(frame: Frame): void {
    const taskId = textOf(envelope.decode(frame.b, Field.taskId));
    const { status } = membersOf(envelope.decode(frame.b, Field.params));
    this.#tellOne(this.#ports.tasks.ownerOf(taskId), frame);
    if (FINAL_STATUSES.has(status)) this.#ports.tasks.settled(taskId);
  }

  #tellOne(session: Session | undefined, frame: Frame): void {
    if (session === undefined) this.#context.counters.notificationsDropped++;
    else this.#broadcast([session], frame, false);
  }

  #onUpdated(frame: Frame): void {
    if (!envelope.has(Field.uri)) return;
    const uri = textOf(envelope.decode(frame.b, Field.uri));
    const subscribers = this.#ports.shared.subscribersOf(uri);
    if (subscribers.size === 0) this.#context.counters.notificationsDropped++;
    for (const session of subscribers) this.#tellUpdated(session, uri, frame);
  }

  /** In a joined view it may go by another URI. */
  #tellUpdated(session: Session, uri: string, frame: Frame): void {
    const outward = session.view?.outwardUri(this.#ports.backend, uri) ?? '';
    const named = outward === '' ? frame : changedFrame(frame, envelope.span(Field.uri), JSON.stringify(outward));
    this.#broadcast([session], named, false);
  }

  #onLog(frame: Frame): void {
    const { shared, sessions } = this.#ports;
    if (!shared.hasLevels || !envelope.has(Field.params)) return this.#broadcast(sessions, frame, true);
    const params = envelope.decode(frame.b, Field.params);
    const level = textOf(membersOf(params).level);
    const readers = [...sessions].filter((session) => shared.admitsLog(session, level));
    this.#broadcast(readers, frame, true);
  }

  #broadcast(sessions: Iterable<Session>, { b, start, end }: Frame, mayDrop: boolean): void {
    for (const session of sessions) {
      if (session.state !== 'ready' || (mayDrop && this.#isCrowded(session))) continue;
      splice.clear().send(session.link.outbox, b, start, end);
      this.#checkQueue(session);
    }
  }

  #onRequest(frame: Frame): void {
    const { b } = frame;
    const outbox = this.#ports.outbox();
    if (outbox === undefined) return;
    if (outbox.blockedBytes > this.#context.limits.maxQueuedBytesPerClient) {
      this.#context.counters.notificationsDropped++; // it asks and asks, and reads no answer
      return;
    }
    const { role } = methodOf(b, envelope);
    if (role === 'sampling' || role === 'elicitation' || role === 'roots')
      return this.#ports.callBacks.ask(role, frame, envelope);
    answerServer(outbox, envelope.raw(b, Field.id), role === 'ping' ? '"result":{}' : `"error":${NOT_OFFERED}`);
  }

  /** Whether so much is queued for a client that what it can do without is dropped. */
  #isCrowded(session: Session): boolean {
    if (session.link.outbox.blockedBytes * 2 < this.#context.limits.maxQueuedBytesPerClient) return false;
    this.#context.counters.notificationsDropped++;
    return true;
  }

  #checkQueue(session: Session): void {
    const { limits, counters, cutOff } = this.#context;
    if (session.link.outbox.blockedBytes <= limits.maxQueuedBytesPerClient * CUT_OFF_FACTOR || !session.isOpen) return;
    counters.clientsOverQueued++;
    cutOff(session, 'it does not take what is meant for it');
  }
}

/** After them a task makes no more progress. */
const FINAL_STATUSES: ReadonlySet<unknown> = new Set(['completed', 'failed', 'cancelled']);

const NOBODY = { session: undefined, tokenText: '' };

/** The one id at the top of a message, also if that is nested too deeply for the envelope's scan. */
function certainId(b: Buffer, start: number, end: number): number | undefined {
  if ((envelope.ambiguous & (1 << Field.id)) !== 0) return undefined;
  try {
    const { id } = JSON.parse(b.toString('utf8', start, end)) as { id?: unknown };
    return typeof id === 'number' ? id : undefined;
  } catch {
    return undefined; // Deep, and not JSON after all: whose it was will never be known.
  }
}
