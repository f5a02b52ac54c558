// Time as an argument: code that waits or measures gets a clock, so that a test can set the time.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds on a clock that never jumps. */
  now(): number;
  /** Calls back once; `every` calls back again and again. Neither keeps the process alive. */
  after(delayMs: number, callback: () => void): Timer;
  every(periodMs: number, callback: () => void): Timer;
}

/** A period that lasted this many times too long means that the process was held up. */
const LATE = 3;

/**
 * Calls back periodically, to look for peers that have been silent too long. If the process was held up, for instance
 * by a slow disk or a stopped machine, it could hear nobody: it skips that call, and first reads what has come
 * meanwhile.
 */
export function everyOnTime(clock: Clock, periodMs: number, callback: () => void): Timer {
  let lastMs = clock.now();
  return clock.every(periodMs, () => {
    const isLate = clock.now() - lastMs >= LATE * periodMs;
    lastMs = clock.now();
    if (!isLate) callback();
  });
}

/** Starts a turn with a time limit. Returns a function that ends it; `over` is called once, however the turn ends. */
export function turnOf(clock: Clock, mostMs: number, over: () => void): () => void {
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    timer.cancel();
    over();
  };
  const timer = clock.after(mostMs, end);
  return end;
}

/**
 * Wraps a clock. An error in a callback goes to `failed`: else the fault of one timer would end the process with all
 * others.
 */
export function containedClock(clock: Clock, failed: (error: unknown) => void): Clock {
  const contained = (callback: () => void) => (): void => {
    try {
      callback();
    } catch (error) {
      failed(error);
    }
  };
  return {
    now: () => clock.now(),
    after: (delayMs, callback) => clock.after(delayMs, contained(callback)),
    every: (periodMs, callback) => clock.every(periodMs, contained(callback)),
  };
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs).unref();
    return { cancel: () => clearTimeout(timer) };
  },
  every(periodMs, callback) {
    const timer = setInterval(callback, periodMs).unref();
    return { cancel: () => clearInterval(timer) };
  },
};
