import fc from 'fast-check';
import { expect, test } from 'vitest';
import { AttemptPace, fullJitter } from '../../../src/util/backoff.ts';

test('a delay is anywhere between nothing and a bound that doubles, up to the longest', () => {
  const settings = { initialDelayMs: 100, maxDelayMs: 5000 };
  const bounds = [1, 2, 3, 6, 7, 40, 5000].map((failures) => fullJitter(settings, failures, 1));
  expect(bounds).toEqual([100, 200, 400, 3200, 5000, 5000, 5000]);
  expect(fullJitter(settings, 3, 0)).toBe(0);
  expect(fullJitter(settings, 3, 0.25)).toBe(100);
});

test('whenever attempts are wanted, no ten seconds have more than ten', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3000), { maxLength: 80 }), (pauses) => {
      const pace = new AttemptPace();
      const made: number[] = [];
      let now = 0;
      for (const pause of pauses) {
        now += pause;
        now += pace.waitMs(now);
        pace.count(now);
        made.push(now);
      }
      for (const from of made)
        expect(made.filter((at) => at >= from && at < from + 10_000).length).toBeLessThanOrEqual(10);
      // And none waits that need not.
      made.forEach((at, n) => {
        const wanted = (made[n - 1] ?? 0) + (pauses[n] ?? 0);
        expect(at).toBe(Math.max(wanted, n < 10 ? 0 : (made[n - 10] as number) + 10_000));
      });
    }),
  );
});

test('attempts before an end in order do not count', () => {
  const pace = new AttemptPace();
  for (let n = 0; n < 100; n++) {
    if (n % 10 === 0) pace.beginAnew();
    expect(pace.waitMs(n)).toBe(0);
    pace.count(n);
  }
  expect(pace.waitMs(100)).toBe(90 + 10_000 - 100);
});
