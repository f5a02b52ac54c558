// `bridge/calls` and `bridge/cancel`: the calls under way, the last ones that ended while somebody watches, and the end of a call
// that its client did not ask for. It shows no arguments.

import type { Call } from '../core/call.ts';
import { Instance } from '../core/instance.ts';
import type { Session } from '../core/session.ts';
import type { SuspendedCalls, Suspension } from '../core/suspended-calls.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { bounded } from './bounded-text.ts';
import type { CallReport, CallsReport, CancelReport, OpenCallReport } from './event-report.ts';
import { type FollowedCalls, nameIn } from './followed-calls.ts';

/** The most calls in one answer, of each sort. */
const MOST_SHOWN = 1000;

/** The calls of one daemon. */
export interface CallsHere {
  readonly sessions: readonly Session[];
  /** Calls whose clients have been asked something, and have not come back yet. */
  readonly suspended: Pick<SuspendedCalls, 'waiting' | 'size' | 'stop'>;
  readonly followed: FollowedCalls;
  readonly clock: Clock;
}

/** Answers `bridge/calls`. */
export function callsOf({ sessions, suspended, followed, clock }: CallsHere, limit: unknown): CallsReport {
  const most = typeof limit === 'number' && limit >= 0 ? Math.min(MOST_SHOWN, Math.floor(limit)) : MOST_SHOWN;
  const open: OpenCallReport[] = [];
  let openTotal = 0;
  for (const session of sessions) {
    for (const call of session.calls.values()) if (openTotal++ < most) open.push(reportOf(call, followed, clock.now()));
  }
  openTotal += suspended.size;
  for (const suspension of suspended.waiting) {
    if (open.length >= most) break;
    const report = reportOfSuspended(suspension, followed, clock.now());
    if (report !== undefined) open.push(report);
  }
  open.sort((a, b) => (b.ageMs ?? Number.MAX_VALUE) - (a.ageMs ?? Number.MAX_VALUE));
  const recent: readonly CallReport[] = followed.recent().slice(0, most);
  return { open, openTotal, recent, recordedSince: followed.sinceMs ?? null, leftOut: followed.leftOut };
}

function reportOf(call: Call, followed: FollowedCalls, nowMs: number): OpenCallReport {
  const known = followed.of(call);
  const { session, idText, plan, owner, serverRequestId } = call;
  const ageMs = known === undefined ? null : nowMs - known.begunMs;
  return {
    call: followed.nameOf(call),
    client: session.clientId,
    clientName: bounded(session.name),
    request: bounded(idText),
    role: plan.role,
    server: known?.server ?? (owner instanceof Instance ? owner.server : null),
    tool: known?.tool ?? null,
    at: known?.at ?? null,
    ageMs,
    state: serverRequestId === 0 ? 'waiting' : 'sent',
    waitedMs: known?.waitedMsAt(nowMs) ?? null,
    serverMs: known?.serverMsAt(nowMs) ?? null,
    waits: known?.waits ?? [],
    progress: known?.progress ?? 0,
    requestBytes: known?.requestBytes ?? null,
  };
}

/** A call that waits for its client to come back with an answer. Its request has ended; it is known by a name of its own. */
function reportOfSuspended(suspension: Suspension, followed: FollowedCalls, nowMs: number): OpenCallReport | undefined {
  const { asked, instance } = suspension;
  if (asked === undefined) return undefined;
  const { client, clientName, idText, role, nameText, atMs } = asked;
  return {
    ...{ call: followed.nameOf(suspension), client, clientName: bounded(clientName), request: bounded(idText), role },
    ...{ server: instance.server, tool: nameText === '' ? null : nameIn(nameText) },
    ...{ at: null, ageMs: nowMs - atMs, state: 'suspended', waitedMs: null, serverMs: null },
    ...{ waits: [], progress: 0, requestBytes: null },
  };
}

const STOPPED = new BridgeError('CALL_STOPPED', 'The call was ended by the user of this machine', {
  hint: 'It may still go on at its server.',
});

const ENDED_ALREADY = 'The call has ended at its server. The outcome waits for the client, which was asked something.';

/** Answers `bridge/cancel`: the client gets the one answer that it is owed, and the server is told. */
export function cancelCall({ sessions, suspended, followed }: CallsHere, name: string): CancelReport {
  for (const session of sessions) {
    for (const call of session.calls.values()) {
      if (!followed.isNamed(call, name)) continue;
      call.owner.stop(call, STOPPED);
      return { cancelled: true, reason: null };
    }
  }
  for (const suspension of suspended.waiting) {
    if (!followed.isNamed(suspension, name)) continue;
    const isStopped = suspended.stop(suspension, STOPPED);
    return { cancelled: isStopped, reason: isStopped ? null : ENDED_ALREADY };
  }
  return { cancelled: false, reason: 'There is no such call under way: it has ended, or the daemon was restarted.' };
}
