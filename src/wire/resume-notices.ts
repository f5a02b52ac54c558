// The notices by which both ends of a resumable connection count what has arrived, sent between other frames
// (docs/protocol.md). Library and daemon both write them.

/** An end sends a notice after it has received this many bytes since the last one. */
export const RECEIVED_BYTES: number = 256 * 1024;
export const RECEIVED_FRAMES = 256;

/** The reason why a daemon stops in order. */
export type LeavingReason = 'stop' | 'restart' | 'idle';

/**
 * Confirms `bytes` bytes of the other side's frames. `open` has the positions where frames of unanswered requests end
 * in them: all other requests in these bytes are answered or cancelled.
 */
export function receivedNotice(bytes: number, open?: readonly number[]): string {
  const unanswered = open === undefined ? '' : `,"open":[${open.join(',')}]`;
  return `{"jsonrpc":"2.0","method":"bridge/received","params":{"bytes":${bytes}${unanswered}}}`;
}

/**
 * Says that the daemon stops: it has not looked at anything sent after `received`, and has not passed on the requests
 * with the ids in `unsent`, which are spelled as they came.
 */
export function leavingNotice(received: number, reason: LeavingReason, unsent: readonly string[]): string {
  const params = `{"received":${received},"reason":"${reason}","unsent":[${unsent.join(',')}]}`;
  return `{"jsonrpc":"2.0","method":"bridge/leaving","params":${params}}`;
}
