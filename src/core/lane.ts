// The lane of one instance: the right to make calls during which the server may ask back. Two clients with open
// questions could not be told apart, so only one client at a time holds the lane. A tool is unknown until it has ended
// a few times without asking; then it is quiet. Once it has asked, it is conversational. Quiet tools need no lane, and
// a server without the capability to ask has none.

import type { KnownServer, ToolHabits } from './server-knowledge.ts';

/** The number of ends without a question after which a tool counts as quiet. */
const QUIET_AFTER = 3;
const CONVERSATIONAL = -1;
const MOST_HABITS = 10_000;
/** The longest tool name that is learnt. */
export const LONGEST_KNOWN_CALL = 512;
/**
 * The lane name of requests during which no server asks, such as the state of a task. No tool and no method has this
 * name.
 */
export const NEEDS_NO_LANE = 'none';

/** The only parts of a call that the lane needs. Askers are only compared. */
interface LaneCall {
  readonly asker: object;
  readonly laneName: string;
  readonly wasAskedBack: boolean;
  hasLane: boolean;
}

type KnownHabits = Pick<KnownServer, 'habits' | 'setHabit' | 'changed'>;

export class Lane {
  /** True if the server was offered a capability to ask. */
  isOpen = false;
  readonly #known: KnownHabits;
  #owner: object | undefined;
  #calls = 0;
  /** True once the server has asked the owner: the answer may take as long as a person takes. */
  #isConversing = false;
  /** True once the owner has kept another client waiting too long: further clients get another instance. */
  isOverlong = false;
  /** The number of times that the lane was taken. */
  turn = 0;

  constructor(known: KnownHabits) {
    this.#known = known;
  }

  get #habits(): ToolHabits {
    return this.#known.habits;
  }

  #isQuiet(laneName: string): boolean {
    return laneName === NEEDS_NO_LANE || (this.#habits.get(laneName) ?? 0) >= QUIET_AFTER;
  }

  /** True while a client has the lane. */
  get isTaken(): boolean {
    return this.#owner !== undefined;
  }

  /** True if a call may be sent now. `laneName` is the name of the tool. */
  admits(asker: object, laneName: string): boolean {
    return !this.isOpen || this.#owner === undefined || this.#owner === asker || this.#isQuiet(laneName);
  }

  /** True if the call would wait for another client's conversation, which may last as long as a person takes. */
  isContended(asker: object, laneName: string): boolean {
    return !this.admits(asker, laneName) && (this.#isConversing || this.isOverlong || this.isConversational(laneName));
  }

  isConversational(laneName: string): boolean {
    return this.#habits.get(laneName) === CONVERSATIONAL;
  }

  enter(call: LaneCall): void {
    if (this.isOpen && !this.#isQuiet(call.laneName)) this.#take(call);
  }

  #take(call: LaneCall): void {
    call.hasLane = true;
    if (this.#owner === undefined) this.turn++;
    this.#owner = call.asker;
    this.#calls++;
  }

  /** Notes that the server has asked during this call. A tool that was quiet takes the lane after all. */
  converse(call: LaneCall): void {
    if (!this.isOpen) return;
    if (!call.hasLane && (this.#owner === undefined || this.#owner === call.asker)) this.#take(call);
    if (call.hasLane) this.#isConversing = true;
  }

  /** Frees the lane after a call has ended or was given up. */
  leave(call: LaneCall): void {
    if (!call.hasLane) return;
    call.hasLane = false;
    if (--this.#calls > 0) return;
    this.#owner = undefined;
    this.#isConversing = false;
    this.isOverlong = false;
  }

  /** Limits the number of remembered names, because clients may call any name. */
  #isWorthKnowing(laneName: string): boolean {
    return laneName.length <= LONGEST_KNOWN_CALL && (this.#habits.has(laneName) || this.#habits.size < MOST_HABITS);
  }

  /** Learns from the end of a call. */
  learn(call: LaneCall): void {
    if (!this.isOpen || call.laneName === NEEDS_NO_LANE) return;
    const before = this.#habits.get(call.laneName) ?? 0;
    const after = call.wasAskedBack ? CONVERSATIONAL : oneMore(before);
    if (after === before || call.laneName === NEEDS_NO_LANE || !this.#isWorthKnowing(call.laneName)) return;
    this.#known.setHabit(call.laneName, after);
    if (after === CONVERSATIONAL || after === QUIET_AFTER) this.#known.changed();
  }
}

function oneMore(before: number): number {
  return before === CONVERSATIONAL || before >= QUIET_AFTER ? before : before + 1;
}
