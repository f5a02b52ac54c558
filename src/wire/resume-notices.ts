// The notices by which the two ends of a resumable connection count what has come, in between everything else
// (docs/protocol.md). The library and the daemon both write them.

/** An end that has received so much since its last notice sends another one. */
export const RECEIVED_BYTES: number = 256 * 1024;
export const RECEIVED_FRAMES = 256;

/** Why a daemon goes in order. */
export type LeavingReason = 'stop' | 'restart' | 'idle';

/**
 * So many bytes of the other side's frames have come. `open` has the places where the frames of unanswered requests end
 * among them: all other requests in these bytes are answered or cancelled.
 */
export function receivedNotice(bytes: number, open?: readonly number[]): string {
  const unanswered = open === undefined ? '' : `,"open":[${open.join(',')}]`;
  return `{"jsonrpc":"2.0","method":"bridge/received","params":{"bytes":${bytes}${unanswered}}}`;
}

/**
 * The daemon goes: what was sent from `received` on it has never looked at, and the requests with the ids of `unsent`, as
 * they are spelled, it has sent to nobody.
 */
export function leavingNotice(received: number, reason: LeavingReason, unsent: readonly string[]): string {
  const params = `{"received":${received},"reason":"${reason}","unsent":[${unsent.join(',')}]}`;
  return `{"jsonrpc":"2.0","method":"bridge/leaving","params":${params}}`;
}
