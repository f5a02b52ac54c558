// Clients that do not take what servers have for them: they go without what they can do without, and at last they are cut off.

import type { BackendContext } from './backend-context.ts';
import type { Session } from './session.ts';

/**
 * At its limit a client may ask nothing new, but answers to what it has asked already still come in, all at once if its
 * luck is bad. Only who is so far beyond it is cut off at once; who takes nothing is cut off by the liveness tick.
 */
const CUT_OFF_FACTOR = 3;

export class CrowdedClients {
  readonly #context: BackendContext;

  constructor(context: BackendContext) {
    this.#context = context;
  }

  /** Whether so much is queued for a client that what it can do without is dropped. */
  drops(session: Session): boolean {
    if (session.link.outbox.blockedBytes * 2 < this.#context.limits.maxQueuedBytesPerClient) return false;
    this.#context.counters.notificationsDropped++;
    return true;
  }

  /** Something was queued for it. */
  check(session: Session): void {
    const { limits, counters, cutOff } = this.#context;
    if (session.link.outbox.blockedBytes <= limits.maxQueuedBytesPerClient * CUT_OFF_FACTOR || !session.isOpen) return;
    counters.clientsOverQueued++;
    cutOff(session, 'it does not take what is meant for it');
  }
}
