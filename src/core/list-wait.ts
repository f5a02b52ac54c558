// The time that a joined list waits for servers whose part is missing. A slow or broken server must not hold up the
// others: the fewer are missing, the shorter the wait. The last few get as long as the slowest took, and a little more.
// A server's time begins with its start; waiting for a turn to start does not count.

import type { Clock, Timer } from '../util/clock.ts';

/** The extra time of the last few, as a fraction of the time that has passed. */
const GRACE = 0.12;
/**
 * The fraction of servers that counts as few; and the factor and extra time while more than these, but less than half,
 * are missing.
 */
const FEW = 0.1;
const PATIENCE = 2;
const PATIENCE_MS = 1_000;
/** The wait if all others were known already. */
const LEAST_MS = 250;
/** The wait while half of the servers are missing. */
const MOST_MS = 5_000;
/** The upper limit, even while servers wait for their turn to start. */
const LONGEST_MS = 15_000;

interface AwaitedList {
  /** Resolves when the server's start begins, or it runs; never if it cannot be started. */
  readonly begun: Promise<unknown>;
  /** Settles when the list is known, or cannot be read. */
  readonly done: Promise<unknown>;
}

interface ListWaitOptions {
  /** The total number of servers, and those whose part is awaited. */
  readonly servers: number;
  readonly missing: readonly AwaitedList[];
  readonly clock: Clock;
}

/** Resolves when each missing server has answered, failed, or used up its time. */
export function waitForLists(options: ListWaitOptions): Promise<void> {
  return new Promise((resolve) => new ListWait(options, resolve).look());
}

class ListWait {
  readonly #servers: number;
  readonly #clock: Clock;
  readonly #resolve: () => void;
  readonly #startedMs: number;
  /** The start of each missing server; undefined while it waits for its turn. */
  readonly #open = new Map<AwaitedList, number | undefined>();
  /** The longest time that an answer took; undefined before the first. */
  #slowestMs: number | undefined;
  #lastMs = 0;
  #timer: Timer | undefined;
  #isOver = false;

  constructor({ servers, missing, clock }: ListWaitOptions, resolve: () => void) {
    this.#servers = servers;
    this.#clock = clock;
    this.#resolve = resolve;
    this.#startedMs = clock.now();
    for (const list of missing) this.#await(list);
  }

  #await(list: AwaitedList): void {
    this.#open.set(list, undefined);
    void list.begun.then(() => this.#begun(list));
    const settled = (): void => this.#settled(list);
    list.done.then(settled, settled);
  }

  #begun(list: AwaitedList): void {
    if (!this.#open.has(list)) return;
    this.#open.set(list, this.#clock.now());
    this.look();
  }

  #settled(list: AwaitedList): void {
    const now = this.#clock.now();
    const begunMs = this.#open.get(list);
    if (begunMs !== undefined) this.#slowestMs = Math.max(this.#slowestMs ?? 0, now - begunMs);
    this.#lastMs = now - this.#startedMs;
    this.#open.delete(list);
    this.look();
  }

  look(): void {
    if (this.#isOver) return;
    const untilMs = this.#open.size === 0 ? 0 : this.#untilMs();
    const now = this.#clock.now();
    this.#timer?.cancel();
    if (untilMs <= now) return this.#end();
    this.#timer = this.#clock.after(untilMs - now, () => this.#end());
  }

  #end(): void {
    this.#isOver = true;
    this.#resolve();
  }

  /** The time at which all missing servers have used up their time. */
  #untilMs(): number {
    const mostMs = this.#startedMs + LONGEST_MS;
    const fairMs = this.#fairMs();
    const ends = [...this.#open.values()].map((begunMs) => (begunMs === undefined ? mostMs : begunMs + fairMs));
    return Math.min(mostMs, Math.max(...ends));
  }

  #fairMs(): number {
    const isMinority = this.#open.size * 2 < this.#servers;
    if (!isMinority) return MOST_MS;
    const slowestMs = this.#slowestMs;
    if (slowestMs === undefined) return LEAST_MS;
    const areFew = this.#open.size <= FEW * this.#servers;
    const fairMs = areFew ? slowestMs + GRACE * Math.max(slowestMs, this.#lastMs) : slowestMs * PATIENCE + PATIENCE_MS;
    return Math.min(MOST_MS, fairMs);
  }
}
