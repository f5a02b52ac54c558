import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { waitForLists } from '../../../src/core/list-wait.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const NEVER = Number.POSITIVE_INFINITY;

function after(clock: FakeClock, ms: number, fails = false): Promise<void> {
  return new Promise((resolve, reject) => {
    if (ms !== NEVER) clock.after(ms, () => (fails ? reject(new Error('broken')) : resolve()));
  });
}

/** When it is over for servers that answer after so long, or never; of `known` more nothing is missing. */
async function msUntilOver(answersMs: readonly number[], known = 0, beginsMs: readonly number[] = []): Promise<number> {
  const clock = new FakeClock();
  const missing = answersMs.map((ms, n) => ({
    begun: beginsMs[n] === undefined ? Promise.resolve() : after(clock, beginsMs[n]),
    done: after(clock, ms, n % 3 === 2), // a server that fails has answered too
  }));
  let overMs: number | undefined;
  void waitForLists({ servers: missing.length + known, missing, clock }).then(() => {
    overMs = clock.now();
  });
  await new Promise(setImmediate);
  while (overMs === undefined && clock.now() <= 60_000) {
    clock.advance(1);
    await Promise.resolve();
    await Promise.resolve();
    await Promise.resolve();
  }
  const due = [...answersMs, ...beginsMs].filter((ms) => ms !== NEVER && ms > clock.now());
  expect(clock.pending).toBe(due.length);
  return overMs ?? NEVER;
}

describe('the wait for lists', () => {
  test('ends at once when nothing is missing', async () => {
    expect(await msUntilOver([], 5)).toBe(0);
    expect(await msUntilOver([])).toBe(0);
  });

  test('ends with the last answer when all answer about as fast', async () => {
    expect(await msUntilOver([400, 420, 450])).toBe(450);
  });

  test('lasts 1.15 times as long as the slowest healthy server took, if one of 20 never answers', async () => {
    const healthy = Array.from({ length: 19 }, (_, n) => 400 + n * 50);
    const slowest = Math.max(...healthy);
    expect(await msUntilOver([...healthy, NEVER])).toBeLessThanOrEqual(slowest * 1.15 + 1);
    expect(await msUntilOver([NEVER, ...healthy])).toBeGreaterThanOrEqual(slowest);
  });

  test('lasts 5 s at most, when one of two never answers, or none of them does', async () => {
    expect(await msUntilOver([100, NEVER])).toBe(5000);
    expect(await msUntilOver([NEVER, NEVER])).toBe(5000);
    expect(await msUntilOver([NEVER])).toBe(5000);
  });

  test('gives a few that are missing among many that are known a moment', async () => {
    expect(await msUntilOver([NEVER], 19)).toBe(250);
    expect(await msUntilOver([200], 19)).toBe(200);
  });

  test('lets servers that are started in turns have the time that the others had', async () => {
    // Four at a time, 40 ms each, and one that never answers among the first: the last come at 200 ms.
    const begins = Array.from({ length: 20 }, (_, n) => 40 * Math.floor(n / 4));
    const answers = begins.map((ms, n) => (n === 0 ? NEVER : ms + 40));
    expect(await msUntilOver(answers, 0, begins)).toBe(200);
    // It comes last.
    expect(
      await msUntilOver(
        answers.toReversed().map((ms) => (ms === NEVER ? ms : 240 - ms)),
        0,
        begins,
      ),
    ).toBeLessThan(240);
  });

  test('waits 15 s at most for those that wait for their turn', async () => {
    expect(await msUntilOver([100, NEVER], 0, [0, NEVER])).toBe(15_000);
  });

  test('is over within 5 s whoever answers when, never before half of them have, nor after all of them', async () => {
    const answer = fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 1500 }) }, fc.constant(NEVER));
    await fc.assert(
      fc.asyncProperty(
        fc.array(answer, { minLength: 1, maxLength: 12 }),
        fc.nat({ max: 4 }),
        async (answers, known) => {
          const overMs = await msUntilOver(answers, known);
          const last = Math.max(...answers);
          const answered = answers.filter((ms) => ms <= overMs);
          expect(overMs).toBeLessThanOrEqual(Math.min(last, 5000));
          if (overMs === 5000) return;
          const open = answers.length - answered.length;
          expect(open * 2 < answers.length + known || open === 0).toBe(true);
          const slowest = Math.max(0, ...answered);
          const isFew = open <= 0.1 * (answers.length + known);
          expect(overMs).toBeLessThanOrEqual(Math.max(250, isFew ? slowest * 1.15 + 1 : slowest * 2 + 1001));
        },
      ),
      { numRuns: 60 },
    );
  });
});
