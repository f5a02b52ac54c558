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
