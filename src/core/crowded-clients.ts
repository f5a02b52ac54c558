// Clients that do not take what one server has for them: they go without what they can do without, the server is not read
// for a moment, and at last they are cut off. When that is, untaken.ts says.

import type { Link } from '../wire/link.ts';
import type { InstanceContext } from './instance-context.ts';
import type { Session } from './session.ts';

/**
 * How long a server is not read for the sake of a client. Others may wait for what is behind it, so it is short: a program
 * that reads has taken something in this time.
 */
export const GRACE_MS = 250;

/** The server that they do not keep up with; undefined while it is not running. */
export type Reading = Pick<Link, 'pause' | 'resume'> | undefined;

export class CrowdedClients {
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
    if (!session.untaken.isCrowded) return false;
    this.#context.counters.notificationsDropped++;
    return true;
  }

  /** Something was queued for it. */
  check(session: Session): void {
    const found = session.untaken.examine();
    if (found === 'goes-on' || !session.isOpen) return;
    if (found === 'hopeless') this.#cutOff(session);
    else if (!this.#waitedFor.has(session)) this.#waitFor(session);
  }

  #waitFor(session: Session): void {
    const { clock, counters } = this.#context;
    if (this.#waitedFor.size === 0) this.#reading()?.pause();
    counters.serversPaused++;
    const timer = clock.after(GRACE_MS, () => {
      if (!session.untaken.hasMovedOn()) this.#cutOff(session);
    });
    const goOn = (): void => {
      timer.cancel();
      this.#waitedFor.delete(session);
      if (this.#waitedFor.size === 0) this.#reading()?.resume();
    };
    this.#waitedFor.set(session, goOn);
    session.untaken.wait(goOn);
  }

  /** It uses the server no more. */
  forget(session: Session): void {
    const goOn = this.#waitedFor.get(session);
    if (goOn === undefined) return;
    session.untaken.forget(goOn);
    goOn();
  }

  #cutOff(session: Session): void {
    this.forget(session);
    if (!session.isOpen) return;
    this.#context.counters.clientsOverQueued++;
    this.#context.cutOff(session, 'it does not take what is meant for it');
  }
}
