// Whose call a question of a server's may be about. Nothing in the question says so, but it is known who has calls under
// way, and what is learnt of these calls is kept: that they ask back.

import type { CallTable } from './call-table.ts';
import type { Session } from './session.ts';

export class Attribution {
  readonly #calls: CallTable;

  constructor(calls: CallTable) {
    this.#calls = calls;
  }

  /** The clients that may be asked: those that have calls under way, also such as they have given up. */
  askers(): Set<Session> {
    const askers = new Set<Session>();
    for (const { session } of this.#calls.givenUp.calls()) askers.add(session);
    // What is asked about a task says so, and need not be looked for.
    for (const { session, isBound } of this.#calls.sent()) if (!isBound) askers.add(session);
    return askers;
  }

  /** Whether the client waits for an answer. */
  isWaiting(session: Session): boolean {
    for (const call of this.#calls.sent()) if (call.session === session && !call.isBound) return true;
    return false;
  }

  /** Whether it may be about a call that was given up, and not by the very client that all that is under way is of. */
  get isInDoubt(): boolean {
    if (this.#calls.givenUp.size === 0) return false;
    const askers = this.askers();
    const [only] = askers;
    return askers.size !== 1 || only === undefined || !this.isWaiting(only);
  }

  /** Any of the client's calls may be the one during which the server asks. */
  markAskedBack(session: Session): void {
    const { lane } = this.#calls;
    for (const call of this.#calls.sent()) {
      if (call.session !== session) continue;
      call.wasAskedBack = true;
      lane.learn(call); // now: its answer may be minutes away
      lane.converse(call);
    }
    this.#calls.noteContention();
  }

  /** One of theirs has asked, which nobody hears of: it is known of all of them, and they go on side by side. */
  noteAskedBack(askers: ReadonlySet<Session>): void {
    for (const call of this.#calls.sent()) {
      if (!askers.has(call.session)) continue;
      call.wasAskedBack = true;
      this.#calls.lane.learn(call);
    }
  }

  /** The same of calls that were given up. */
  markGivenUpAskedBack(): void {
    for (const call of this.#calls.givenUp.calls()) {
      call.wasAskedBack = true;
      this.#calls.lane.learn(call);
    }
  }
}
