// The right to make calls during which the server may ask back. Two clients' calls that both wait for an answer to such a
// question could never be told apart, so only one client at a time has it.
//
// What needs it is learnt: a tool is unknown until it has ended a few times without asking, then quiet, and conversational
// once it did ask. Quiet tools need no lane. A server that was offered nothing to ask for has no lane at all.

import type { Call } from './call.ts';
import type { KnownServer, ToolHabits } from './server-knowledge.ts';
import type { Session } from './session.ts';

/** Ends without a question, after which a tool counts as quiet. */
const QUIET_AFTER = 3;
const CONVERSATIONAL = -1;
const MOST_HABITS = 10_000;
/** Of longer ones nothing is learnt. */
export const LONGEST_KNOWN_CALL = 512;
/** The call of a request during which no server asks: how a task is, for one. No tool is called so, nor any method. */
export const NEEDS_NO_LANE = 'none';

export class Lane {
  /** Whether the server was offered anything to ask for. */
  isOpen = false;
  readonly #known: Pick<KnownServer, 'habits' | 'changed'>;
  readonly #habits: ToolHabits;
  #owner: Session | undefined;
  #calls = 0;
  /** Whether the server has asked its owner, who may think for as long as a person does. */
  #isConversing = false;
  /** Its owner has kept it from another client for too long: whoever comes gets another instance. */
  isOverlong = false;
  /** How often it was taken by somebody. */
  turn = 0;

  constructor(known: Pick<KnownServer, 'habits' | 'changed'>) {
    this.#known = known;
    this.#habits = known.habits;
  }

  #isQuiet(laneName: string): boolean {
    return laneName === NEEDS_NO_LANE || (this.#habits.get(laneName) ?? 0) >= QUIET_AFTER;
  }

  /** Whether someone has it. */
  get isTaken(): boolean {
    return this.#owner !== undefined;
  }

  /** Whether a call may be sent now. `laneName` names what is called. */
  admits(session: Session, laneName: string): boolean {
    return !this.isOpen || this.#owner === undefined || this.#owner === session || this.#isQuiet(laneName);
  }

  /** Whether it would have to wait for another client's conversation, which may take as long as a person does. */
  isContended(session: Session, laneName: string): boolean {
    return (
      !this.admits(session, laneName) && (this.#isConversing || this.isOverlong || this.isConversational(laneName))
    );
  }

  isConversational(laneName: string): boolean {
    return this.#habits.get(laneName) === CONVERSATIONAL;
  }

  enter(call: Call): void {
    if (this.isOpen && !this.#isQuiet(call.laneName)) this.#take(call);
  }

  #take(call: Call): void {
    call.hasLane = true;
    if (this.#owner === undefined) this.turn++;
    this.#owner = call.session;
    this.#calls++;
  }

  /** The server has asked about it. One that was thought to be quiet needs the lane after all. */
  converse(call: Call): void {
    if (!this.isOpen) return;
    if (!call.hasLane && (this.#owner === undefined || this.#owner === call.session)) this.#take(call);
    if (call.hasLane) this.#isConversing = true;
  }

  /** The call has ended, or was given up. */
  leave(call: Call): void {
    if (!call.hasLane) return;
    call.hasLane = false;
    if (--this.#calls > 0) return;
    this.#owner = undefined;
    this.#isConversing = false;
    this.isOverlong = false;
  }

  /** Clients may call what they like. */
  #isWorthKnowing(laneName: string): boolean {
    return laneName.length <= LONGEST_KNOWN_CALL && (this.#habits.has(laneName) || this.#habits.size < MOST_HABITS);
  }

  /** The call was answered: one more that is known of it. */
  learn(call: Call): void {
    if (!this.isOpen || call.laneName === NEEDS_NO_LANE) return;
    const before = this.#habits.get(call.laneName) ?? 0;
    const after = call.wasAskedBack ? CONVERSATIONAL : oneMore(before);
    if (after === before || call.laneName === NEEDS_NO_LANE || !this.#isWorthKnowing(call.laneName)) return;
    this.#habits.set(call.laneName, after);
    if (after === CONVERSATIONAL || after === QUIET_AFTER) this.#known.changed();
  }
}

function oneMore(before: number): number {
  return before === CONVERSATIONAL || before >= QUIET_AFTER ? before : before + 1;
}
