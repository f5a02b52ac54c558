// Durations in buckets, compared with a count that anybody can follow.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DURATION_BOUNDS } from '../../../src/telemetry/convention.ts';
import { DurationHistogram, type HrMoment } from '../../../src/telemetry/histogram.ts';
import { runs } from '../../support/runs.ts';

const DESCRIPTION = { name: 'x', description: '' };
const START: HrMoment = [1, 0];
const NOW: HrMoment = [2, 5];

test('each duration is in the one bucket whose bound it does not exceed', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.double({ min: 0, max: 400, noNaN: true }), fc.constantFrom(...DURATION_BOUNDS)), {
        minLength: 1,
      }),
      (durations) => {
        const histogram = new DurationHistogram(DESCRIPTION, false, START);
        for (const seconds of durations) histogram.add('a', seconds, () => ({}));
        const value = histogram.collect(NOW)?.dataPoints[0]?.value;
        const slow = [...DURATION_BOUNDS, Number.POSITIVE_INFINITY].map(
          (bound, i) => durations.filter((one) => one <= bound && one > (DURATION_BOUNDS[i - 1] ?? -1)).length,
        );
        expect(value?.buckets.counts).toEqual(slow);
        expect([value?.count, value?.min, value?.max]).toEqual([
          durations.length,
          Math.min(...durations),
          Math.max(...durations),
        ]);
      },
    ),
    { numRuns: runs(200) },
  );
});

test('a report counts from the start, or from the report before', () => {
  for (const [isDelta, counts, since] of [
    [false, [1, 2], START],
    [true, [1, 1], NOW],
  ] as const) {
    const histogram = new DurationHistogram(DESCRIPTION, isDelta, START);
    const collect = () => {
      histogram.add('a', 1, () => ({}));
      return histogram.collect(NOW)?.dataPoints[0];
    };
    const reports = [collect(), collect()];
    expect(reports.map((report) => report?.value.count)).toEqual(counts);
    expect(reports[1]?.startTime).toEqual(since);
  }
});

test('nothing counted is no report', () => {
  expect(new DurationHistogram(DESCRIPTION, false, START).collect(NOW)).toBeUndefined();
});

test('series beyond the bound are one, which says so', () => {
  const histogram = new DurationHistogram(DESCRIPTION, false, START);
  for (let i = 0; i < 2100; i++) histogram.add(`series ${i}`, 1, () => ({ i }));
  const points = histogram.collect(NOW)?.dataPoints ?? [];
  expect(points).toHaveLength(2001);
  expect(points.at(-1)).toMatchObject({ attributes: { 'otel.metric.overflow': true }, value: { count: 100 } });
});
