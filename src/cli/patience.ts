// Waits for an answer until the person stops it or --timeout is over; also reads times as people write them.

import { BridgeError } from '../util/bridge-error.ts';
import type { CliHost } from './host.ts';
import { wrongUsage } from './tool-session.ts';

/** The milliseconds of `--timeout`, which was given to `command` once or more. */
export function timeoutIn(timeout: unknown, command: string): number | undefined {
  if (timeout === undefined) return undefined;
  const ms = timeSpanMs(timeout, 'ms');
  if (ms !== undefined) return ms;
  const given = Array.isArray(timeout) ? 'is given more than once' : `is ${JSON.stringify(timeout)}`;
  throw wrongUsage(command, `--timeout ${given}; it is a time such as 500ms, 2s or 5m, or a number of milliseconds`);
}

const INTERRUPT = Symbol('interrupt');

/** Undefined if the person has stopped it; throws when the time is up. */
export async function patiently<Result>(
  { host, timeoutMs }: { readonly host: CliHost; readonly timeoutMs: number | undefined },
  ask: (signal: AbortSignal) => Promise<Result>,
): Promise<Result | undefined> {
  const cancelled = new AbortController();
  const stopListening = host.onInterrupt(() => cancelled.abort(INTERRUPT));
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => cancelled.abort(timedOut(timeoutMs)), timeoutMs);
  try {
    return await ask(cancelled.signal);
  } catch (error) {
    if (error === INTERRUPT) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
    stopListening();
  }
}

function timedOut(ms: number): BridgeError {
  return new BridgeError('CALL_TIMED_OUT', `There was no answer within ${ms} ms, so the call was cancelled`, {
    hint: '--timeout allows more.',
  });
}

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** Timers cannot wait longer. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * The milliseconds of `500ms`, `2s`, `5m` or `1h`, or of a number in the unit `plain`; undefined if no timer can wait
 * so long.
 */
export function timeSpanMs(text: unknown, plain: keyof typeof UNITS): number | undefined {
  const [, number, unit = plain] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(typeof text === 'string' ? text : '') ?? [];
  const ms = Math.round(Number(number ?? 0) * UNITS[unit as keyof typeof UNITS]);
  return ms < 1 || ms > LONGEST_MS ? undefined : ms;
}
