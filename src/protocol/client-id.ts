// The ids that a client may have: the same rule where an id is chosen and in the daemon.

import { BridgeError } from '../util/bridge-error.ts';

const CLIENT_ID = /^[\x21-\x7e]{1,128}$/;

/** In words, for messages. */
export const CLIENT_ID_RULE = '1 to 128 printable ASCII characters, without spaces';

export function isClientId(value: unknown): value is string {
  return typeof value === 'string' && CLIENT_ID.test(value);
}

/**
 * Refuses an invalid id where it is chosen. `source` names the option, variable or file. The message never contains the
 * id itself, because it may come from the environment.
 */
export function checkClientId(clientId: unknown, source: string): void {
  if (isClientId(clientId)) return;
  throw new BridgeError('USAGE', `${source} must be ${CLIENT_ID_RULE}`, {
    hint: 'Without one the daemon makes one up.',
  });
}
