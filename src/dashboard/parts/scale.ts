// The axis labels of a chart: round levels and round times. No browser in it.

/** The approximate number of levels, so that labels do not overlap. */
const LEVELS = 4;
const STEPS_SECONDS = [10, 30, 60, 120, 300] as const;

/** Round numbers from 0 on, in equal steps; the last one is `most` or more. */
export function levelsUpTo(most: number): number[] {
  const rough = most / LEVELS;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((one) => one * magnitude >= rough) ?? 10;
  const step = factor * magnitude;
  const number = Math.max(1, Math.ceil(most / step - 1e-9));
  return Array.from({ length: number + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

/** At most `most` round times in seconds between these two. */
export function timesBetween(from: number, to: number, most: number): number[] {
  if (most < 1) return [];
  const step = STEPS_SECONDS.find((seconds) => (to - from) / seconds <= most) ?? to - from + 1;
  const first = Math.ceil(from / step) * step;
  const times: number[] = [];
  for (let at = first; at <= to; at += step) times.push(at);
  return times;
}
