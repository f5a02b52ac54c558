// The history of the last minutes, which a page saves for its next load. The browser keeps it for this tab only. It
// contains only numbers, and is never shown for another daemon.

import { isRecord } from './data.ts';

/** The time of day may have been adjusted slightly meanwhile. */
const SAME_START_MS = 5000;

/** One second of history. */
export interface Second {
  readonly at: number;
  readonly callsPerSecond: number;
  readonly errorsPerSecond: number;
  readonly inFlight: number;
}

/** The daemon that a history belongs to. */
export interface HistoryOwner {
  readonly pid: number;
  readonly startedMs: number;
}

/** The history as text. */
export function keptText({ pid, startedMs }: HistoryOwner, seconds: readonly Second[]): string {
  const rows = seconds.map(({ at, callsPerSecond, errorsPerSecond, inFlight }) =>
    [at, callsPerSecond, errorsPerSecond, inFlight].map((number) => Number(number.toFixed(3))),
  );
  return JSON.stringify({ pid, startedMs, rows });
}

/** The seconds of a kept text from `from` to `to`; empty if it is of another daemon, or invalid. */
export function keptSeconds(text: string, owner: HistoryOwner, from: number, to: number): readonly Second[] {
  const { pid, startedMs, rows } = membersIn(text);
  if (pid !== owner.pid || typeof startedMs !== 'number' || !Array.isArray(rows)) return [];
  if (Math.abs(startedMs - owner.startedMs) > SAME_START_MS) return [];
  return rows.flatMap((row) => {
    const [at, callsPerSecond, errorsPerSecond, inFlight] = numbersIn(row);
    if (at === undefined || callsPerSecond === undefined || errorsPerSecond === undefined || inFlight === undefined)
      return [];
    return at >= from && at <= to ? [{ at, callsPerSecond, errorsPerSecond, inFlight }] : [];
  });
}

function membersIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return {}; // it was cut, or written by somebody else
  }
}

function numbersIn(row: unknown): readonly number[] {
  return Array.isArray(row) ? row.filter((one) => Number.isFinite(one)) : [];
}
