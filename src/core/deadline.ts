// How long a call may take. Looked at once a second for all calls together: no timer and no reading of a clock for each.

import type { Limits } from '../wire/limits.ts';
import type { Slot } from './slot.ts';

/** Whether the call's time is up. The first look at a call sets its time, so that it may take up to a second more. */
export function isOverdue(slot: Slot, nowMs: number, timeoutMs: number, limits: Limits): boolean {
  if (slot.lastDeadlineMs === 0) slot.lastDeadlineMs = nowMs + Math.max(limits.maxCallMs, timeoutMs);
  if (slot.deadlineMs === 0) slot.deadlineMs = Math.min(nowMs + timeoutMs, slot.lastDeadlineMs);
  return nowMs >= slot.deadlineMs;
}

/** The call has shown a sign of life: its time begins anew at the next look, within the upper bound. */
export function extend(slot: Slot): void {
  slot.deadlineMs = 0;
}
