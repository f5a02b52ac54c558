// Times as people write them: 500ms, 2s, 5m, 1h. What a number alone means is up to who asks.

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** Timers take no more. */
const LONGEST_MS = 2 ** 31 - 1;

/** Undefined for what is none, for nothing, and for what no timer can wait for. */
export function timeSpanMs(text: unknown, plain: keyof typeof UNITS): number | undefined {
  const [, number, unit = plain] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(typeof text === 'string' ? text : '') ?? [];
  const ms = Math.round(Number(number ?? 0) * UNITS[unit as keyof typeof UNITS]);
  return ms < 1 || ms > LONGEST_MS ? undefined : ms;
}
