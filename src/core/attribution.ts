// Whose call a question of a server's may be about. Nothing in the question says so, but it is known who has calls under
// way, and what is learnt of these calls is kept: that they ask back.

import type { Session } from './session.ts';
import type { SlotTable } from './slot-table.ts';

export class Attribution {
  readonly #slots: SlotTable;

  constructor(slots: SlotTable) {
    this.#slots = slots;
  }

  /** The clients that may be asked: those that have calls under way, also such as they have given up. */
  askers(): Set<Session> {
    const askers = new Set<Session>();
    for (const { session } of this.#slots.givenUp.slots()) askers.add(session);
    // What is asked about a task says so, and need not be looked for.
    for (const { session, isBound } of this.#slots.sent()) if (!isBound) askers.add(session);
    return askers;
  }

  /** Whether the client waits for an answer. */
  isWaiting(session: Session): boolean {
    for (const slot of this.#slots.sent()) if (slot.session === session && !slot.isBound) return true;
    return false;
  }

  /** Whether it may be about a call that was given up, and not by the very client that all that is under way is of. */
  get isInDoubt(): boolean {
    if (this.#slots.givenUp.size === 0) return false;
    const askers = this.askers();
    const [only] = askers;
    return askers.size !== 1 || only === undefined || !this.isWaiting(only);
  }

  /** Any of the client's calls may be the one during which the server asks. */
  markAskedBack(session: Session): void {
    const { lane } = this.#slots;
    for (const slot of this.#slots.sent()) {
      if (slot.session !== session) continue;
      slot.wasAskedBack = true;
      lane.learn(slot); // now: its answer may be minutes away
      lane.converse(slot);
    }
    this.#slots.noteContention();
  }

  /** One of theirs has asked, which nobody hears of: it is known of all of them, and they go on side by side. */
  noteAskedBack(askers: ReadonlySet<Session>): void {
    for (const slot of this.#slots.sent()) {
      if (!askers.has(slot.session)) continue;
      slot.wasAskedBack = true;
      this.#slots.lane.learn(slot);
    }
  }

  /** The same of calls that were given up. */
  markGivenUpAskedBack(): void {
    for (const slot of this.#slots.givenUp.slots()) {
      slot.wasAskedBack = true;
      this.#slots.lane.learn(slot);
    }
  }
}
