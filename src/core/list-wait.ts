// How long a joined list waits for servers whose part of it is not known. One that is slow or broken must not hold up the
// others: the fewer are missing, the less they are waited for. The last few of many get as long as the slowest has taken,
// and a little more. A server's time begins when it is started: those that wait for their turn to start are not slow.

import type { Clock, Timer } from '../util/clock.ts';

/** The little more, as a part of what has passed. */
const GRACE = 0.12;
/** What counts as few, and what is more than that and less than half gets. */
const FEW = 0.1;
const PATIENCE = 2;
const PATIENCE_MS = 1_000;
/** Where all others were known, and none was waited for. */
const LEAST_MS = 250;
/** For the first half of them. */
const MOST_MS = 5_000;
/** However many wait for their turn. */
const LONGEST_MS = 15_000;

interface AwaitedList {
  /** Resolves when the server is being started, or runs; never if it cannot be. */
  readonly begun: Promise<unknown>;
  /** Settles when its list is known, or cannot be. */
  readonly done: Promise<unknown>;
}

interface ListWaitOptions {
  /** All that the list is made of, and those of them that are waited for. */
  readonly servers: number;
  readonly missing: readonly AwaitedList[];
  readonly clock: Clock;
}

/** Resolves when all that are missing have answered or failed, or have had their time. */
export function waitForLists(options: ListWaitOptions): Promise<void> {
  return new Promise((resolve) => new ListWait(options, resolve).look());
}

class ListWait {
  readonly #servers: number;
  readonly #clock: Clock;
  readonly #resolve: () => void;
  readonly #startedMs: number;
  /** When each of those that are still missing was begun; undefined for those that wait for their turn. */
  readonly #open = new Map<AwaitedList, number | undefined>();
  /** What the slowest has taken; undefined before one has answered. */
  #slowestMs: number | undefined;
  #lastMs = 0;
  #timer: Timer | undefined;
  #isOver = false;

  constructor({ servers, missing, clock }: ListWaitOptions, resolve: () => void) {
    this.#servers = servers;
    this.#clock = clock;
    this.#resolve = resolve;
    this.#startedMs = clock.now();
    for (const one of missing) this.#await(one);
  }

  #await(one: AwaitedList): void {
    this.#open.set(one, undefined);
    void one.begun.then(() => this.#begun(one));
    const settled = (): void => this.#settled(one);
    one.done.then(settled, settled);
  }

  #begun(one: AwaitedList): void {
    if (!this.#open.has(one)) return;
    this.#open.set(one, this.#clock.now());
    this.look();
  }

  #settled(one: AwaitedList): void {
    const now = this.#clock.now();
    const begunMs = this.#open.get(one);
    if (begunMs !== undefined) this.#slowestMs = Math.max(this.#slowestMs ?? 0, now - begunMs);
    this.#lastMs = now - this.#startedMs;
    this.#open.delete(one);
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

  /** When all that are missing have had their time. */
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
