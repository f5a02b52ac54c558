// What clients tell a server without asking for an answer: notices, cancellations, answers to its questions. Nothing of it
// waits here: a client that tells more than the server takes is not read until it has taken it.

import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import { Pause } from './pauses.ts';
import type { Session } from './session.ts';

const splice = new Splice();

export class Senders {
  readonly #most: number;
  readonly #paused = new Set<Session>();

  constructor(maxQueuedBytesPerServer: number) {
    this.#most = maxQueuedBytesPerServer;
  }

  tell(outbox: Outbox, session: Session, b: Buffer, start: number, end: number): void {
    splice.clear().send(outbox, b, start, end);
    this.charge(outbox, session);
  }

  /** The client has told the server something. */
  charge(outbox: Outbox, session: Session): void {
    if (outbox.blockedBytes < this.#most || !session.isOpen) return;
    session.pauses.add(Pause.congested);
    this.#paused.add(session);
  }

  forget(session: Session): void {
    if (this.#paused.delete(session)) session.pauses.remove(Pause.congested);
  }

  /** The server has taken what was queued for it. */
  drained(blockedBytes: number): void {
    if (this.#paused.size > 0 && blockedBytes < this.#most) this.resumeAll();
  }

  resumeAll(): void {
    for (const session of this.#paused) session.pauses.remove(Pause.congested);
    this.#paused.clear();
  }
}
