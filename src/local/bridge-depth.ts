// How many bridges a process runs below. Servers are told, so that a gateway among them does not become a client of the
// bridge that it is a server of: each would wait for the other.

import { BridgeError } from '../util/bridge-error.ts';

/** Set for every server that is started. */
export const DEPTH_VARIABLE = 'MCP_BRIDGE_DEPTH';
const DEEPEST = 1;

/** The mark for what is started here; undefined when it must not be, as we run below a bridge already. */
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
