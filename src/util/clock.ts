// Time as an argument: whoever waits or measures is given a clock, so that a test can turn its hands.

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds on a clock that never jumps. */
  now(): number;
  /** Calls back once, or again and again; neither keeps the process alive. */
  after(delayMs: number, callback: () => void): Timer;
  every(periodMs: number, callback: () => void): Timer;
}

/** A period that is so many times as long as it should be says that the process was held up. */
const LATE = 3;

/**
 * Calls back again and again, for a look at who has been silent for too long. A process that was held up, as by a slow disk or a stopped
 * machine, has not heard anybody: it reads what has come meanwhile before it looks.
 */
export function everyOnTime(clock: Clock, periodMs: number, callback: () => void): Timer {
  let lastMs = clock.now();
  return clock.every(periodMs, () => {
    const isLate = clock.now() - lastMs >= LATE * periodMs;
    lastMs = clock.now();
    if (!isLate) callback();
  });
}

/** A turn that lasts for so long at most. Returns what ends it; `over` is called once, however it ends. */
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

/** The same time; an error in a callback goes to `failed`, or one timer's fault would end the process with all others. */
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
