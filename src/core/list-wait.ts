// How long a joined list waits for servers whose part of it is not known. One that is slow or broken must not hold up the
// others: once more than half have answered, those that remain get a little more time than the slowest so far has taken.

import type { Clock, Timer } from '../util/clock.ts';

/** So much of the time that the slowest has taken, and at least so long. */
const PATIENCE = 1.15;
const LEAST_MS = 250;
/** For the first half of them. */
const MOST_MS = 5_000;

export interface ListWaitOptions {
  /** All that the list is made of, and those of them that are waited for. */
  readonly servers: number;
  readonly missing: readonly Promise<unknown>[];
  readonly clock: Clock;
}

/** Resolves when all that are missing have answered or failed, or have had their time. */
export function waitForLists({ servers, missing, clock }: ListWaitOptions): Promise<void> {
  const startedMs = clock.now();
  let open = missing.length;
  let timer: Timer | undefined;
  let isOver = false;
  return new Promise((resolve) => {
    const done = (): void => {
      isOver = true;
      timer?.cancel();
      resolve();
    };
    const look = (): void => {
      if (isOver) return;
      if (open === 0) return done();
      const passedMs = clock.now() - startedMs;
      const isMinority = open * 2 < servers;
      const mostMs = isMinority ? Math.max(LEAST_MS, passedMs * PATIENCE) : MOST_MS;
      timer?.cancel();
      timer = clock.after(Math.max(0, Math.min(mostMs, MOST_MS) - passedMs), done);
    };
    const settled = (): void => {
      open--;
      look();
    };
    for (const one of missing) one.then(settled, settled);
    look();
  });
}
