// Coming back to a daemon, on a clock that is turned by hand: when it is tried, how often, and what is said at the end.

import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ReconnectLoopOptions, reconnectLoop } from '../../../src/client/reconnect-policy.ts';
import { AttemptPace } from '../../../src/util/backoff.ts';
import { BridgeError } from '../../../src/util/bridge-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const ABSENT = new BridgeError('DAEMON_NOT_RUNNING', 'No mcp-bridge runs');

interface Trial {
  readonly failures?: number;
  readonly maxAttempts?: number;
  readonly random?: () => number;
  readonly pace?: AttemptPace;
  readonly isFinal?: ReconnectLoopOptions['isFinal'];
}

/** Fails so often; the hands of the clock are turned to whatever is waited for. */
function trial({ failures = 1e9, maxAttempts = 20, random = () => 1, pace = new AttemptPace(), isFinal }: Trial) {
  const clock = new FakeClock();
  const over = new AbortController();
  const attemptsMs: number[] = [];
  const waits: number[] = [];
  const result = reconnectLoop<string>({
    attempt: (number) => {
      attemptsMs.push(clock.now());
      return number > failures ? Promise.resolve(`by ${number}`) : Promise.reject(ABSENT);
    },
    waits: (_, delayMs) => void waits.push(delayMs),
    ...(isFinal && { isFinal }),
    settings: { isEnabled: true, maxAttempts, initialDelayMs: 100, maxDelayMs: 5000 },
    sleep: (ms, signal) => {
      const slept = new Promise<void>((resolve, reject) => {
        const aborted = (): void => reject(signal.reason as Error);
        signal.addEventListener('abort', aborted);
        clock.after(ms, () => {
          signal.removeEventListener('abort', aborted);
          resolve();
        });
      });
      setImmediate(() => clock.advance(ms));
      return slept;
    },
    now: () => clock.now(),
    path: () => '/the/socket',
    ...{ pace, random, signal: over.signal },
  });
  return { result, attemptsMs, waits, over, clock };
}

describe('coming back', () => {
  test('is tried at once, and then after bounds that double, up to the longest', async () => {
    const { result, waits, over } = trial({ failures: 9 });
    expect(await result).toBe('by 10');
    expect(getEventListeners(over.signal, 'abort')).toHaveLength(0);
    expect(waits).toEqual([0, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
  });

  test('takes a delay that is anywhere between nothing and the bound, and is never tried more often than the pace', async () => {
    const dice = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 30, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(dice, async (values) => {
        let next = 0;
        const { result, attemptsMs } = trial({ failures: 25, maxAttempts: 30, random: () => values[next++] ?? 0 });
        expect(await result).toBe('by 26');
        // Sums of such delays are exact but for the last of their digits.
        for (const [i, ms] of attemptsMs.entries())
          expect(attemptsMs.filter((other) => other >= ms && other < ms + 9_999).length, `from ${i}`).toBeLessThan(11);
      }),
      { numRuns: 30 },
    );
  });

  test.each([
    [1, 'by one attempt in 0.0 s'],
    [2, 'by 2 attempts in 0.1 s'],
    [5, 'by 5 attempts in 1.5 s'],
  ])('ends after %d, with an error that says what was tried', async (maxAttempts, tried) => {
    const { result, attemptsMs } = trial({ maxAttempts });
    await expect(result).rejects.toMatchObject({
      code: 'DAEMON_UNREACHABLE',
      message: `The bridge at /the/socket could not be reached again, ${tried}: No mcp-bridge runs`,
      hint: 'See: mcp-bridge doctor',
      cause: ABSENT,
    });
    expect(attemptsMs).toHaveLength(maxAttempts);
  });

  test.each([1, 3])('ends with a final error, even at attempt %d', async (last) => {
    let seen = 0;
    const { result, attemptsMs } = trial({ isFinal: () => ++seen >= last });
    await expect(result).rejects.toBe(ABSENT);
    expect(attemptsMs).toHaveLength(last);
  });

  test('ends at once when nobody needs it any more', async () => {
    const { result, over, attemptsMs } = trial({ maxAttempts: 1000 });
    setImmediate(() => setImmediate(() => over.abort()));
    await expect(result).rejects.toMatchObject({ name: 'AbortError' });
    const tried = attemptsMs.length;
    await new Promise(setImmediate);
    expect(attemptsMs).toHaveLength(tried);
  });
});
