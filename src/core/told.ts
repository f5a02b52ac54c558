// What a server has been told of one thing: whether of a resource it is to say when that changes, or how much it is to log.
// It hears requests in the order in which they are sent, but their answers come in any order, or never: of those that took
// effect the one that was sent last counts, and what became of one that was given up nobody knows.

/** How a request has ended: the server did it, or refused, or nobody knows. */
export type Ending = 'result' | 'error' | 'lost';

export class Told<State> {
  /** Undefined while it is uncertain. */
  #state: State | undefined;
  /** The number of what has made it so. */
  #since = 0;
  #last = 0;
  /** Sent and not answered, in the order in which they were sent. */
  readonly #open = new Map<number, State | undefined>();

  constructor(state: State | undefined) {
    this.#state = state;
  }

  get hasOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Whether it will be so once everything that is under way is done as it was asked. */
  isGoingToBe(wanted: State): boolean {
    let state = this.#state;
    for (const [number, asked] of this.#open) if (number > this.#since) state = asked;
    return state === wanted;
  }

  /** Someone asks for it; returns by which number it ends. */
  sent(state: State | undefined): number {
    this.#open.set(++this.#last, state);
    return this.#last;
  }

  ended(number: number, ending: Ending): void {
    const state = this.#open.get(number);
    this.#open.delete(number);
    if (ending === 'error' || number < this.#since) return;
    this.#since = number;
    this.#state = ending === 'result' ? state : undefined;
  }

  /** The bridge itself asks for it, and takes it for done: what a server refuses it is not asked for again and again. */
  assume(state: State | undefined): void {
    this.#since = ++this.#last;
    this.#state = state;
  }
}
