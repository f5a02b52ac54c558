// What is queued for one client and not taken yet, and what follows from it for that client: the place that compares it with
// `limits.maxQueuedBytesPerClient`, but for messages of other clients (messaging/admission.ts). Whom it holds up is not its business.

import type { Limits } from '../model/limits.ts';
import type { Logger } from '../util/logger.ts';
import type { Link } from '../wire/link.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import type { Counters } from './counters.ts';
import type { InstanceContext } from './instance.ts';
import type { Session } from './session.ts';

/** So many times its limit may be queued for a client that reads, be it slowly. */
const READER_FACTOR = 16;

/** Whose queue it is; its link may become another one. */
export interface Taker {
  readonly link: { readonly outbox: Outbox };
  readonly isAway: boolean;
}

/**
 * At its limit a client may ask nothing new, but answers to what it has asked already still come in: all at once if its
 * luck is bad, and faster than it reads. It may have as much again queued. For each further such amount it must have
 * taken something meanwhile.
 */
export class ClientBacklog {
  readonly #taker: Taker;
  readonly #most: number;
  /** Called back once it has taken something, or need not be waited for any more. */
  #waiting: Set<() => void> | undefined;
  /** Once its queue is over the limit: how large that may get before it must have taken something; else 0. */
  #allowedBytes = 0;
  #takenWhenAllowed = 0;

  constructor(taker: Taker, maxQueuedBytes: number) {
    this.#taker = taker;
    this.#most = maxQueuedBytes;
  }

  get #bytes(): number {
    return this.#taker.link.outbox.blockedBytes;
  }

  /** From here on it goes without what it can do without. */
  get isCrowded(): boolean {
    return this.#bytes * 2 >= this.#most;
  }

  /** From here on it asks servers nothing new. */
  get isFull(): boolean {
    return this.#bytes >= this.#most;
  }

  /** From here on it is not read. */
  get isOver(): boolean {
    return this.#bytes > this.#most;
  }

  /** Whether an answer of so many bytes is no more than may be queued for who takes nothing. */
  hasRoomFor(bytes: number): boolean {
    return this.#bytes + bytes <= 2 * this.#most;
  }

  /** What becomes of a client for which something was queued. What is kept for one that is away has limits of its own. */
  examine(): 'goes-on' | 'must-take' | 'hopeless' {
    const bytes = this.#bytes;
    if (bytes <= this.#most || this.#taker.isAway) {
      this.#allowedBytes = 0;
      return 'goes-on';
    }
    if (this.#allowedBytes === 0) this.#allow(2 * this.#most);
    else if (bytes > READER_FACTOR * this.#most) return 'hopeless';
    else if (bytes > this.#allowedBytes) {
      if (!this.#hasTaken) return 'must-take';
      this.#allow(bytes + this.#most);
    }
    return 'goes-on';
  }

  #allow(bytes: number): void {
    this.#allowedBytes = bytes;
    this.#takenWhenAllowed = this.#taker.link.outbox.takenBytes;
  }

  get #hasTaken(): boolean {
    return this.#taker.link.outbox.takenBytes > this.#takenWhenAllowed;
  }

  /** Calls back once, unless it is told to forget that before. */
  wait(goOn: () => void): void {
    this.#waiting ??= new Set();
    this.#waiting.add(goOn);
  }

  forget(goOn: () => void): void {
    this.#waiting?.delete(goOn);
  }

  /** Whether it has taken something, or has no connection to take it from; then whoever waits for it goes on. */
  hasMovedOn(): boolean {
    if (!this.#hasTaken && !this.#taker.isAway) return false;
    this.#allow(this.#bytes + this.#most);
    this.release();
    return true;
  }

  /** Nobody need wait for it any more. */
  release(): void {
    const waiting = [...(this.#waiting ?? [])];
    this.#waiting = undefined;
    for (const goOn of waiting) goOn();
  }

  /** Its connection has dropped: what it had taken of that says nothing of the next one. */
  beginAnew(): void {
    this.#allowedBytes = 0;
    this.release();
  }

  /** The client has taken something. */
  drained(): void {
    if (this.#waiting !== undefined) this.hasMovedOn();
  }
}

// Clients that do not take what one server has for them: they go without what they can do without, the server is not read
// for a moment, and at last they are cut off.

/**
 * How long a server is not read for the sake of a client. Others may wait for what is behind it, so it is short: a program
 * that reads has taken something in this time.
 */
export const GRACE_MS = 250;

/** The server that they do not keep up with; undefined while it is not running. */
export type Reading = Pick<Link, 'pause' | 'resume'> | undefined;

export class SlowClients {
  readonly #context: InstanceContext;
  readonly #reading: () => Reading;
  /** How each is not waited for any more. */
  readonly #waitedFor = new Map<Session, () => void>();

  constructor(context: InstanceContext, reading: () => Reading) {
    this.#context = context;
    this.#reading = reading;
  }

  /** Whether so much is queued for a client that what it can do without is dropped. */
  drops(session: Session): boolean {
    if (!session.backlog.isCrowded) return false;
    this.#context.counters.notificationsDropped++;
    return true;
  }

  /** Something was queued for it. */
  check(session: Session): void {
    const found = session.backlog.examine();
    if (found === 'goes-on' || !session.isOpen) return;
    if (found === 'hopeless') this.#cutOff(session);
    else if (!this.#waitedFor.has(session)) this.#waitFor(session);
  }

  #waitFor(session: Session): void {
    const { clock, counters } = this.#context;
    if (this.#waitedFor.size === 0) this.#reading()?.pause();
    counters.serversPaused++;
    const timer = clock.after(GRACE_MS, () => {
      if (!session.backlog.hasMovedOn()) this.#cutOff(session);
    });
    const goOn = (): void => {
      timer.cancel();
      this.#waitedFor.delete(session);
      if (this.#waitedFor.size === 0) this.#reading()?.resume();
    };
    this.#waitedFor.set(session, goOn);
    session.backlog.wait(goOn);
  }

  /** It uses the server no more. */
  forget(session: Session): void {
    const goOn = this.#waitedFor.get(session);
    if (goOn === undefined) return;
    session.backlog.forget(goOn);
    goOn();
  }

  #cutOff(session: Session): void {
    this.forget(session);
    if (!session.isOpen) return;
    this.#context.counters.clientsOverQueued++;
    this.#context.cutOff(session, 'it does not take what is meant for it');
  }
}

// What clients tell a server without asking for an answer: notices, and answers to its questions. Nothing of it waits here:
// a client that tells more than the server takes is not read until it has taken it. Where a server takes nothing at all,
// that has an end: other servers, and whoever is to notice that a client has gone, cannot wait for it.

interface ServerBacklogPorts {
  readonly server: string;
  readonly outbox: () => Outbox | undefined;
  readonly limits: Limits;
  readonly counters: Counters;
  readonly logger: Logger;
}

const splice = new Splice();

export class ServerBacklog {
  readonly #ports: ServerBacklogPorts;
  readonly #paused = new Set<Session>();
  /** While too much is queued for the server: what it had taken when it last took something, and since when it has not. */
  #takenBytes = 0;
  #sinceMs: number | undefined;
  #isStalled = false;

  constructor(ports: ServerBacklogPorts) {
    this.#ports = ports;
  }

  /** Whether the server has more to take than may be queued for it. */
  get isFull(): boolean {
    const { outbox, limits } = this.#ports;
    return (outbox()?.blockedBytes ?? 0) >= limits.maxQueuedBytesPerServer;
  }

  /** Whether it has taken nothing for so long that nobody is kept waiting for it. */
  get isStalled(): boolean {
    return this.#isStalled;
  }

  /** A notice, which a server that takes nothing has to do without. */
  tell(session: Session, b: Buffer, start: number, end: number): void {
    const { outbox, counters } = this.#ports;
    const server = outbox();
    if (server === undefined) return;
    if (this.#isStalled) return void counters.notificationsDropped++;
    splice.clear().send(server, b, start, end);
    this.charge(session);
  }

  /** The client has told the server something. */
  charge(session: Session): void {
    if (!this.isFull || !session.isOpen || this.#isStalled) return;
    session.pauses.add(Pause.congested);
    this.#paused.add(session);
  }

  forget(session: Session): void {
    if (this.#paused.delete(session)) session.pauses.remove(Pause.congested);
  }

  /** The server has taken something of what was queued for it. */
  drained(): void {
    if (!this.isFull) this.goOn();
  }

  /** Looked at once a second. */
  tick(nowMs: number): void {
    const { server, outbox, limits, counters, logger } = this.#ports;
    if (!this.isFull) return this.goOn();
    const takenBytes = outbox()?.takenBytes ?? 0;
    if (this.#sinceMs === undefined || takenBytes !== this.#takenBytes) {
      this.#takenBytes = takenBytes;
      this.#sinceMs = nowMs;
      this.#isStalled = false;
    } else if (!this.#isStalled && nowMs - this.#sinceMs >= limits.stallTimeoutMs) {
      this.#isStalled = true;
      counters.serversStalled++;
      logger.warn('a server takes nothing of what it is told', { server });
      this.#resumeAll();
    }
  }

  /** There is room, or another instance. */
  goOn(): void {
    this.#sinceMs = undefined;
    this.#isStalled = false;
    this.#resumeAll();
  }

  #resumeAll(): void {
    for (const session of this.#paused) session.pauses.remove(Pause.congested);
    this.#paused.clear();
  }
}

// Why a client is not read at the moment: a set of reasons, as bits. It is read again when the last of them is gone.

export const Pause = { held: 1, waiting: 2, unread: 4, congested: 8, leaving: 16 } as const;
export type Pause = (typeof Pause)[keyof typeof Pause];

export class Pauses {
  /** Whose link may become another one. */
  readonly #session: { readonly link: Pick<Link, 'pause' | 'resume'> };
  readonly #counters: Counters;
  #reasons = 0;

  constructor(session: { readonly link: Pick<Link, 'pause' | 'resume'> }, counters: Counters) {
    this.#session = session;
    this.#counters = counters;
  }

  get isEmpty(): boolean {
    return this.#reasons === 0;
  }

  /** Too much of the client's own waits. */
  addOver(reason: Pause): void {
    if ((this.#reasons & reason) === 0) this.#counters.clientsPaused++;
    this.add(reason);
  }

  add(reason: Pause): void {
    if (this.#reasons === 0) this.#session.link.pause();
    this.#reasons |= reason;
  }

  remove(reason: Pause): void {
    if ((this.#reasons & reason) === 0) return;
    this.#reasons &= ~reason;
    if (this.#reasons === 0) this.#session.link.resume();
  }
}
