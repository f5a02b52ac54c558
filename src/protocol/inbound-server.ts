// The terms between the bridge and a server that connects by itself (docs/protocol.md): its name, its visibility, and
// the bridge's notices. Library and daemon both use this.

import type { LeavingReason } from '../wire/resume-notices.ts';

/** A waiting server is invisible until a person approves it. Policy blocks a blocked one. */
export type DialInState = 'offered' | 'waiting' | 'rejected' | 'blocked';

export const DIAL_IN_STATES: readonly DialInState[] = ['offered', 'waiting', 'rejected', 'blocked'];

const SERVER_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export const SERVER_NAME_RULE = '1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or a digit';

export function isServerName(name: unknown): name is string {
  return typeof name === 'string' && SERVER_NAME.test(name);
}

export const SERVER_STATE = 'bridge/serverState';
export const LEAVING = 'bridge/leaving';

/** Says that a decision was made while it is connected. */
export function serverStateNotice(state: DialInState): string {
  return `{"jsonrpc":"2.0","method":"${SERVER_STATE}","params":{"state":"${state}"}}`;
}

/** Says that the daemon stops in order; without this notice, the connection was lost. */
export function serverLeavingNotice(reason: LeavingReason): string {
  return `{"jsonrpc":"2.0","method":"${LEAVING}","params":{"reason":"${reason}"}}`;
}
