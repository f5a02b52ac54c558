// The id that a client wants to be known by: refused where it was chosen, in the words of whoever chose it, and not by the
// daemon, which knows nothing of options, variables and files.

import { CLIENT_ID_RULE, isClientId } from '../protocol/client-id.ts';
import { BridgeError } from '../util/bridge-error.ts';

/** `source` says where it was chosen; never what it is, because it may come from the environment. */
export function checkClientId(clientId: unknown, source: string): void {
  if (isClientId(clientId)) return;
  throw new BridgeError('USAGE', `${source} must be ${CLIENT_ID_RULE}`, {
    hint: 'Without one the daemon makes one up.',
  });
}
