// `bridge/calls` and `bridge/cancel`: the calls under way, the last calls that ended while somebody watched, and
// cancelling a call without its client. It shows no arguments.

import type { Call } from '../core/call.ts';
import { Instance } from '../core/instance.ts';
import type { Session } from '../core/session.ts';
import type { AskedRequest, SuspendedCalls, Suspension } from '../core/suspended-calls.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';
import { bounded } from './bounded-text.ts';
import type { CallReport, CallsReport, CancelReport, OpenCallReport } from './event-report.ts';
import { type FollowedCalls, nameIn } from './followed-calls.ts';

/** The maximum number of calls of each sort in one answer. */
const MOST_SHOWN = 1000;

/** A program whose client was asked something and has not come back yet. */
interface WaitingProgram {
  readonly asked: AskedRequest;
  /** Ends it with this error; false if it has ended already. */
  stop(error: BridgeError): boolean;
}

/** Everything that knows the daemon's calls. */
export interface CallsHere {
  readonly sessions: readonly Session[];
  /** Calls whose clients were asked something and have not come back yet. */
  readonly suspended: Pick<SuspendedCalls, 'waiting' | 'size' | 'stop'>;
  readonly programs: readonly WaitingProgram[];
  readonly followed: FollowedCalls;
  readonly clock: Clock;
}

/** Answers `bridge/calls`. */
export function callsOf({ sessions, suspended, programs, followed, clock }: CallsHere, limit: unknown): CallsReport {
  const most = typeof limit === 'number' && limit >= 0 ? Math.min(MOST_SHOWN, Math.floor(limit)) : MOST_SHOWN;
  const open: OpenCallReport[] = [];
  let openTotal = 0;
  for (const session of sessions) {
    for (const call of session.calls.values()) if (openTotal++ < most) open.push(reportOf(call, followed, clock.now()));
  }
  openTotal += suspended.size + programs.length;
  for (const { away, asked, server } of allAway(suspended.waiting, programs)) {
    if (open.length >= most) break;
    if (asked !== undefined) open.push(reportOfAway(followed.nameOf(away), asked, server, clock.now()));
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

interface AwayCall {
  readonly away: Suspension | WaitingProgram;
  readonly asked: AskedRequest | undefined;
  /** Null for a program. */
  readonly server: string | null;
}

function* allAway(suspended: Iterable<Suspension>, programs: readonly WaitingProgram[]): Generator<AwayCall> {
  for (const program of programs) yield { away: program, asked: program.asked, server: null };
  for (const away of suspended) yield { away, asked: away.asked, server: away.instance.server };
}

/** Reports a call that waits for its client's answer. Its request has ended, so it has a name of its own. */
function reportOfAway(call: string, asked: AskedRequest, server: string | null, nowMs: number): OpenCallReport {
  const { client, clientName, idText, role, nameText, atMs } = asked;
  return {
    ...{ call, client, clientName: bounded(clientName), request: bounded(idText), role },
    ...{ server, tool: nameText === '' ? null : nameIn(nameText) },
    ...{ at: null, ageMs: nowMs - atMs, state: 'suspended', waitedMs: null, serverMs: null },
    ...{ waits: [], progress: 0, requestBytes: null },
  };
}

const STOPPED = new BridgeError('CALL_STOPPED', 'The call was ended by the user of this machine', {
  hint: 'It may still go on at its server.',
});

const WAITS_FOR_CLIENT = 'The outcome waits for the client, which was asked something.';

/** Answers `bridge/cancel`: the client gets an error as its one answer, and the server is told. */
export function cancelCall({ sessions, suspended, programs, followed }: CallsHere, name: string): CancelReport {
  for (const session of sessions) {
    for (const call of session.calls.values()) {
      if (!followed.isNamed(call, name)) continue;
      call.owner.stop(call, STOPPED);
      return { cancelled: true, reason: null };
    }
  }
  for (const { away, server } of allAway(suspended.waiting, programs)) {
    if (!followed.isNamed(away, name)) continue;
    const isStopped = 'stop' in away ? away.stop(STOPPED) : suspended.stop(away, STOPPED);
    const ended = server === null ? 'The program has ended' : 'The call has ended at its server';
    return { cancelled: isStopped, reason: isStopped ? null : `${ended}. ${WAITS_FOR_CLIENT}` };
  }
  return { cancelled: false, reason: 'There is no such call under way: it has ended, or the daemon was restarted.' };
}
