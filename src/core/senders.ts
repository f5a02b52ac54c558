// What clients tell a server without asking for an answer: notices, and answers to its questions. Nothing of it waits here:
// a client that tells more than the server takes is not read until it has taken it. Where a server takes nothing at all,
// that has an end: other servers, and whoever is to notice that a client has gone, cannot wait for it.

import type { Limits } from '../model/limits.ts';
import type { Logger } from '../util/logger.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import type { Counters } from './counters.ts';
import { Pause } from './pauses.ts';
import type { Session } from './session.ts';

export interface SendersPorts {
  readonly server: string;
  readonly outbox: () => Outbox | undefined;
  readonly limits: Limits;
  readonly counters: Counters;
  readonly logger: Logger;
}

const splice = new Splice();

export class Senders {
  readonly #ports: SendersPorts;
  readonly #paused = new Set<Session>();
  /** While too much is queued for the server: what it had taken when it last took something, and since when it has not. */
  #takenBytes = 0;
  #sinceMs: number | undefined;
  #isStalled = false;

  constructor(ports: SendersPorts) {
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
