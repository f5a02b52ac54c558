// How long a call may take. Looked at once a second for all calls together: no timer and no reading of a clock for each.

import type { Limits } from '../model/limits.ts';
import type { Call } from './call.ts';

/**
 * The limit that has ended a call, in milliseconds; undefined while its time is not up. `timeoutMs` is 0 where the client
 * decides. The first look at a call sets its time, so that it may take up to a second more.
 */
export function overdueMs(call: Call, nowMs: number, timeoutMs: number, limits: Limits): number | undefined {
  const mostMs = Math.max(limits.maxCallMs, timeoutMs);
  if (call.lastDeadlineMs === 0) call.lastDeadlineMs = nowMs + mostMs;
  if (call.deadlineMs === 0)
    call.deadlineMs = timeoutMs === 0 ? call.lastDeadlineMs : Math.min(nowMs + timeoutMs, call.lastDeadlineMs);
  if (nowMs < call.deadlineMs) return undefined;
  return nowMs >= call.lastDeadlineMs ? mostMs : timeoutMs;
}

/** The call has shown a sign of life: its time begins anew at the next look, within the upper bound. */
export function extend(call: Call): void {
  call.deadlineMs = 0;
}

/** The shorter one of two limits, of which 0 is none. */
export function shorterMs(one: number, other: number): number {
  return one === 0 || other === 0 ? one + other : Math.min(one, other);
}
