// What clients tell a server without asking for an answer. Nothing of it waits here: a client that tells more than the
// server takes is not read until it has taken it.

import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import { Pause, type Session } from './session.ts';
import { CONGESTED_BYTES } from './slot-table.ts';

const splice = new Splice();

export class Senders {
  readonly #paused = new Set<Session>();

  tell(outbox: Outbox, session: Session, b: Buffer, start: number, end: number): void {
    splice.clear().send(outbox, b, start, end);
    if (outbox.blockedBytes < CONGESTED_BYTES) return;
    session.pause(Pause.congested);
    this.#paused.add(session);
  }

  forget(session: Session): void {
    if (this.#paused.delete(session)) session.resume(Pause.congested);
  }

  /** The server has taken what was queued for it. */
  drained(blockedBytes: number): void {
    if (this.#paused.size > 0 && blockedBytes < CONGESTED_BYTES) this.resumeAll();
  }

  resumeAll(): void {
    for (const session of this.#paused) session.resume(Pause.congested);
    this.#paused.clear();
  }
}
