// Why a request is not carried out that comes again after the bridge was started again: what may do harm twice is not
// done twice.

import { BridgeError } from '../util/bridge-error.ts';

/** `server`: who may have carried it out, if that is one. */
export function outcomeUnknown(server?: string): BridgeError {
  return new BridgeError(
    'OUTCOME_UNKNOWN',
    'The bridge was restarted while this call was under way; whether it was done is not known',
    { ...(server !== undefined && { server }), hint: 'Look at what it was to change before it is called again.' },
  );
}
