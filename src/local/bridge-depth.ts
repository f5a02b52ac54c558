// Counts the bridges above a process. Servers get this number, so that a gateway among them does not become a client of
// its own bridge: each would wait for the other.

import { BridgeError } from '../util/bridge-error.ts';

/** Set for every server that the bridge starts. */
export const DEPTH_VARIABLE = 'MCP_BRIDGE_DEPTH';
const DEEPEST = 1;

/** The depth for a process started here; undefined if we run below a bridge already, so nothing may start. */
export function nextDepth(current: string | undefined): number | undefined {
  const depth = /^\d{1,9}$/.test(current ?? '') ? Number(current) : 0;
  return depth < DEEPEST ? depth + 1 : undefined;
}

/** Throws in a process that a bridge has started. */
export function refuseBelowBridge(environment: Readonly<Record<string, string | undefined>>): void {
  if (nextDepth(environment[DEPTH_VARIABLE]) !== undefined) return;
  throw new BridgeError(
    'BELOW_A_BRIDGE',
    'A bridge has started this as one of its servers, and would wait for itself',
    {
      hint: `Take the bridge out of that server's config, or unset ${DEPTH_VARIABLE} for it.`,
    },
  );
}
