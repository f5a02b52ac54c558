// Clients that do not take what a server has for them: they go without what they can do without, the server is not read
// for a moment, and at last they are cut off.

import type { Timer } from '../util/clock.ts';
import type { Link } from '../wire/link.ts';
import type { BackendContext } from './backend-context.ts';
import type { Session } from './session.ts';

/** So many times its limit may be queued for a client that reads, be it slowly. */
const READER_FACTOR = 16;
/**
 * How long a server is not read for the sake of a client. Others may wait for what is behind it, so it is short: a program
 * that reads has taken something in this time.
 */
export const GRACE_MS = 250;

/** The server that they do not keep up with; undefined while it is not running. */
export type Reading = Pick<Link, 'pause' | 'resume'> | undefined;

/**
 * At its limit a client may ask nothing new, but answers to what it has asked already still come in: all at once if its
 * luck is bad, and faster than it reads. It may have as much again queued. For each further such amount it must have
 * taken something meanwhile, which it is given a moment for.
 */
export class CrowdedClients {
  readonly #context: BackendContext;
  readonly #reading: () => Reading;
  readonly #waitedFor = new Map<Session, Timer>();

  constructor(context: BackendContext, reading: () => Reading) {
    this.#context = context;
    this.#reading = reading;
  }

  /** Whether so much is queued for a client that what it can do without is dropped. */
  drops(session: Session): boolean {
    if (session.link.outbox.blockedBytes * 2 < this.#context.limits.maxQueuedBytesPerClient) return false;
    this.#context.counters.notificationsDropped++;
    return true;
  }

  /** An answer was queued for it. */
  check(session: Session): void {
    const most = this.#context.limits.maxQueuedBytesPerClient;
    const { blockedBytes } = session.link.outbox;
    if (blockedBytes <= most) session.mostUntaken = 0;
    else if (session.mostUntaken === 0) allow(session, 2 * most);
    else if (blockedBytes > session.mostUntaken && session.isOpen) this.#over(session, blockedBytes);
  }

  #over(session: Session, blockedBytes: number): void {
    const most = this.#context.limits.maxQueuedBytesPerClient;
    if (blockedBytes > READER_FACTOR * most) this.#cutOff(session);
    else if (hasTaken(session)) allow(session, blockedBytes + most);
    else this.#waitFor(session);
  }

  #waitFor(session: Session): void {
    if (this.#waitedFor.has(session)) return;
    const { clock, counters } = this.#context;
    if (this.#waitedFor.size === 0) this.#reading()?.pause();
    counters.serversPaused++;
    this.#waitedFor.set(
      session,
      clock.after(GRACE_MS, () => this.#cutOff(session)),
    );
  }

  /** Some client has taken something. */
  drained(): void {
    const most = this.#context.limits.maxQueuedBytesPerClient;
    for (const session of this.#waitedFor.keys()) {
      if (!hasTaken(session)) continue;
      allow(session, session.link.outbox.blockedBytes + most);
      this.forget(session);
    }
  }

  /** It has gone, or need not be waited for any more. */
  forget(session: Session): void {
    const timer = this.#waitedFor.get(session);
    if (timer === undefined) return;
    timer.cancel();
    this.#waitedFor.delete(session);
    if (this.#waitedFor.size === 0) this.#reading()?.resume();
  }

  #cutOff(session: Session): void {
    this.forget(session);
    if (!session.isOpen) return;
    this.#context.counters.clientsOverQueued++;
    this.#context.cutOff(session, 'it does not take what is meant for it');
  }
}

/** So much may be queued for it before it must have taken something. */
function allow(session: Session, bytes: number): void {
  session.mostUntaken = bytes;
  session.takenWhenAllowed = session.link.outbox.takenBytes;
}

function hasTaken(session: Session): boolean {
  return session.link.outbox.takenBytes > session.takenWhenAllowed;
}
