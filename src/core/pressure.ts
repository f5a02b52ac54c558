// Back-pressure: how much may be queued for a client and for a server, and when reading from one pauses. Queues are
// compared with `limits.maxQueuedBytesPerClient`; messages between clients have limits in messaging/admission.ts.
// Nothing here may hold up others for long.

import type { Limits } from '../model/limits.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { Link } from '../wire/link.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import type { Events, ObservedClient } from './events.ts';

/** A client that reads, even slowly, may have this many times its limit queued. */
const READER_FACTOR = 16;

/** The owner of a queue. Its link may be replaced. */
export interface Taker {
  readonly link: { readonly outbox: Outbox };
  readonly isAway: boolean;
}

/**
 * The queue of one client. At its limit a client may send no new requests, but answers to earlier ones still come, in
 * the worst case all at once and faster than it reads. It may have as much again queued. For each further such amount
 * it must have read something.
 */
export class ClientBacklog {
  readonly #taker: Taker;
  readonly #most: number;
  /** Called back when the client has read something, or nobody waits for it any more. */
  #waiting: Set<() => void> | undefined;
  /** The size that a queue over the limit must shrink to; 0 for a queue within the limit. */
  #allowedBytes = 0;
  #takenWhenAllowed = 0;

  constructor(taker: Taker, maxQueuedBytes: number) {
    this.#taker = taker;
    this.#most = maxQueuedBytes;
  }

  get #bytes(): number {
    return this.#taker.link.outbox.blockedBytes;
  }

  /** True while the client gets no optional notices. */
  get isCrowded(): boolean {
    return this.#bytes * 2 >= this.#most;
  }

  /** True while the client's new calls wait. */
  get isFull(): boolean {
    return this.#bytes >= this.#most;
  }

  /** True while the client is not read. */
  get isOver(): boolean {
    return this.#bytes > this.#most;
  }

  /** True if an answer of this size fits, even if the client reads nothing. */
  hasRoomFor(bytes: number): boolean {
    return this.#bytes + bytes <= 2 * this.#most;
  }

  /**
   * Decides what happens to a client after something was queued for it. A client without a connection has separate
   * limits.
   */
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

  /** Calls back once, unless forget() comes first. */
  wait(goOn: () => void): void {
    this.#waiting ??= new Set();
    this.#waiting.add(goOn);
  }

  forget(goOn: () => void): void {
    this.#waiting?.delete(goOn);
  }

  /**
   * True if the client has read something, or has no connection to read from; then everything that waits for it
   * continues.
   */
  hasMovedOn(): boolean {
    if (!this.#hasTaken && !this.#taker.isAway) return false;
    this.#allow(this.#bytes + this.#most);
    this.release();
    return true;
  }

  /** Lets everything continue that waits for this client. */
  release(): void {
    const waiting = [...(this.#waiting ?? [])];
    this.#waiting = undefined;
    for (const goOn of waiting) goOn();
  }

  /** Forgets the progress of a dropped connection; it says nothing about the next one. */
  connectionDropped(): void {
    this.#allowedBytes = 0;
    this.release();
  }

  /** Called when the client has read something. */
  drained(): void {
    if (this.#waiting !== undefined) this.hasMovedOn();
  }
}

/** A client with its queue, and the reasons why it is not read. */
export interface PressedClient extends ObservedClient {
  readonly isOpen: boolean;
  readonly backlog: ClientBacklog;
  readonly pauses: Pauses;
}

/**
 * The time for which a server is not read because of a slow client. Others may wait for the frames behind, so it is
 * short; a program that reads at all has read something by then.
 */
export const GRACE_MS = 250;

/** The link of a server whose clients do not keep up; undefined while it does not run. */
export type Reading = Pick<Link, 'pause' | 'resume'> | undefined;

interface SlowClientsOptions<C> {
  readonly events: Events;
  readonly clock: Clock;
  /** Cuts off a client that does not read what is sent to it. */
  readonly cutOff: (client: C, reason: string) => void;
}

/**
 * The clients that read too slowly for one server. First they get no optional notices, then the server is not read for
 * a moment, and finally they are cut off.
 */
export class SlowClients<C extends PressedClient> {
  readonly #options: SlowClientsOptions<C>;
  readonly #reading: () => Reading;
  /** Ends the wait for each client. */
  readonly #waitedFor = new Map<C, () => void>();

  constructor(options: SlowClientsOptions<C>, reading: () => Reading) {
    this.#options = options;
    this.#reading = reading;
  }

  /** True if an optional notice is dropped because the client's queue is too long. */
  drops(session: C): boolean {
    if (!session.backlog.isCrowded) return false;
    this.#options.events.incident.tell('notificationsDropped', session);
    return true;
  }

  /** Checks a client after something was queued for it. */
  check(session: C): void {
    const found = session.backlog.examine();
    if (found === 'goes-on' || !session.isOpen) return;
    if (found === 'hopeless') this.#cutOff(session);
    else if (!this.#waitedFor.has(session)) this.#waitFor(session);
  }

  #waitFor(session: C): void {
    const { clock, events } = this.#options;
    if (this.#waitedFor.size === 0) this.#reading()?.pause();
    events.incident.tell('serversPaused', session);
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

  /** Forgets a client that no longer uses the server. */
  forget(session: C): void {
    const goOn = this.#waitedFor.get(session);
    if (goOn === undefined) return;
    session.backlog.forget(goOn);
    goOn();
  }

  #cutOff(session: C): void {
    this.forget(session);
    if (!session.isOpen) return;
    this.#options.events.incident.tell('clientsOverQueued', session);
    this.#options.cutOff(session, 'it does not read what is sent to it');
  }
}

interface ServerBacklogPorts {
  readonly server: string;
  readonly outbox: () => Outbox | undefined;
  readonly limits: Limits;
  readonly events: Events;
  readonly logger: Logger;
}

const splice = new Splice();

/**
 * The queue of one server: notices of clients, and their answers to its questions. Nothing waits here. A client that
 * sends faster than the server reads is not read for a while. The pause ends if the server reads nothing at all,
 * because the client's other servers must not wait, and a client that has gone must be noticed.
 */
export class ServerBacklog {
  readonly #ports: ServerBacklogPorts;
  readonly #paused = new Set<PressedClient>();
  /** While the queue is full: the bytes that the server had read at its last progress, and the time of that. */
  #takenBytes = 0;
  #sinceMs: number | undefined;
  #isStalled = false;

  constructor(ports: ServerBacklogPorts) {
    this.#ports = ports;
  }

  /** True if the queue has reached its limit. */
  get isFull(): boolean {
    const { outbox, limits } = this.#ports;
    return (outbox()?.blockedBytes ?? 0) >= limits.maxQueuedBytesPerServer;
  }

  /** True if the server has read nothing for so long that clients stop waiting for it. */
  get isStalled(): boolean {
    return this.#isStalled;
  }

  /** Sends a notice; a stalled server does not get it. */
  tell(session: PressedClient, b: Buffer, start: number, end: number): void {
    const { outbox, events } = this.#ports;
    const server = outbox();
    if (server === undefined) return;
    if (this.#isStalled) return events.incident.tell('notificationsDropped', session);
    splice.clear().send(server, b, start, end);
    this.charge(session);
  }

  /** Charges a client for the bytes that it sent to the server. */
  charge(session: PressedClient): void {
    if (!this.isFull || !session.isOpen || this.#isStalled) return;
    session.pauses.add(Pause.congested);
    this.#paused.add(session);
  }

  forget(session: PressedClient): void {
    if (this.#paused.delete(session)) session.pauses.remove(Pause.congested);
  }

  /** Called when the server has read something. */
  drained(): void {
    if (!this.isFull) this.goOn();
  }

  /** Called once a second. */
  tick(nowMs: number): void {
    const { server, outbox, limits, events, logger } = this.#ports;
    if (!this.isFull) return this.goOn();
    const takenBytes = outbox()?.takenBytes ?? 0;
    if (this.#sinceMs === undefined || takenBytes !== this.#takenBytes) {
      this.#takenBytes = takenBytes;
      this.#sinceMs = nowMs;
      this.#isStalled = false;
    } else if (!this.#isStalled && nowMs - this.#sinceMs >= limits.stallTimeoutMs) {
      this.#isStalled = true;
      events.incident.tell('serversStalled', server);
      logger.warn('a server reads nothing of what it is sent', { server });
      this.#resumeAll();
    }
  }

  /** Lets clients continue: there is room, or another instance. */
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

export const Pause = { held: 1, waiting: 2, unread: 4, congested: 8, leaving: 16 } as const;
export type Pause = (typeof Pause)[keyof typeof Pause];

/** A client that may be paused. Its link may be replaced. */
interface PausedClient extends ObservedClient {
  readonly link: Pick<Link, 'pause' | 'resume'>;
}

/**
 * The reasons why a client is not read, as bits. It is read again when the last reason is gone. Each part of a
 * connection has its own reasons, and the connection is read again when no part has any.
 */
export class Pauses {
  readonly #client: PausedClient;
  readonly #events: Events;
  /** The reasons of the whole connection, if this belongs to a part of it. */
  readonly #whole: Pauses | undefined;
  #reasons = 0;
  /** The number of parts that have a reason. */
  #pausingParts = 0;

  constructor(client: PausedClient, events: Events, whole?: Pauses) {
    this.#client = client;
    this.#events = events;
    this.#whole = whole;
  }

  get isEmpty(): boolean {
    return this.#reasons === 0 && this.#pausingParts === 0;
  }

  /** Adds a reason that the client itself has caused. */
  addOver(reason: Pause): void {
    if ((this.#reasons & reason) === 0) this.#events.incident.tell('clientsPaused', this.#client);
    this.add(reason);
  }

  add(reason: Pause): void {
    if (this.#reasons === 0) this.#begin();
    this.#reasons |= reason;
  }

  #begin(): void {
    if (this.#whole !== undefined) this.#whole.#addPart();
    else if (this.#pausingParts === 0) this.#client.link.pause();
  }

  #addPart(): void {
    if (this.isEmpty) this.#client.link.pause();
    this.#pausingParts++;
  }

  remove(reason: Pause): void {
    if ((this.#reasons & reason) === 0) return;
    this.#reasons &= ~reason;
    if (this.#reasons === 0) this.#end();
  }

  #end(): void {
    if (this.#whole !== undefined) this.#whole.#removePart();
    else if (this.#pausingParts === 0) this.#client.link.resume();
  }

  #removePart(): void {
    this.#pausingParts--;
    if (this.isEmpty) this.#client.link.resume();
  }

  /** Drops all reasons: nothing more comes from the client. */
  clear(): void {
    if (this.#reasons === 0) return;
    this.#reasons = 0;
    this.#end();
  }
}
