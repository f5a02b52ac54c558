// The periodic look at a client: has it shaken hands, does it take what is meant for it, does it still answer?
// One coarse tick for all of them: thousands of timers would cost memory, and a second sooner or later does not matter.

import type { Limits } from '../model/limits.ts';
import type { LivenessSettings } from '../model/liveness-settings.ts';
import type { Session } from './session.ts';

export const TICK_MS = 1000;

/** What is to be done with a client; the first that applies. */
export type LivenessFinding = 'handshake-timeout' | 'stalled' | 'unresponsive' | 'probe' | 'ping' | undefined;

export function lookAt(session: Session, nowMs: number, limits: Limits, settings: LivenessSettings): LivenessFinding {
  if (!session.hasTriedInitialize && nowMs - session.connectedMs >= limits.handshakeTimeoutMs)
    return 'handshake-timeout';
  if (isStalled(session, nowMs, limits.stallTimeoutMs)) return 'stalled';
  // What is not read cannot be heard either; a write tells.
  if (session.hasEnded || !session.pauses.isEmpty) return 'probe';
  if (session.hasSpoken) {
    session.hasSpoken = false;
    session.lastHeardMs = nowMs;
    // Whoever speaks is alive, also a client that does not know pings.
    session.unansweredPings.clear();
  }
  return isPingDue(session, nowMs, settings) ? pingOrGiveUp(session, settings) : undefined;
}

/** Whether nothing more can be hoped for of a client that is on its way out. */
export function mayClose(session: Session, nowMs: number): boolean {
  return session.link.outbox.queuedBytes === 0 || isStalled(session, nowMs, session.patienceMs);
}

function isStalled(session: Session, nowMs: number, patienceMs: number): boolean {
  const { queuedBytes, takenBytes } = session.link.outbox;
  if (queuedBytes === 0 || takenBytes !== session.takenBytes) {
    session.takenBytes = takenBytes;
    session.stalledSinceMs = undefined;
    return false;
  }
  session.stalledSinceMs ??= nowMs;
  return nowMs - session.stalledSinceMs >= patienceMs;
}

function isPingDue(session: Session, nowMs: number, { pingPeriodMs }: LivenessSettings): boolean {
  if (pingPeriodMs === 0 || session.state !== 'ready') return false;
  return nowMs - session.lastHeardMs >= pingPeriodMs * (session.unansweredPings.size + 1);
}

function pingOrGiveUp(session: Session, settings: LivenessSettings): LivenessFinding {
  if (session.unansweredPings.size < settings.maxMissedPings) return 'ping';
  return session.hasAnsweredPing || settings.cutOffSilentClients ? 'unresponsive' : undefined;
}
