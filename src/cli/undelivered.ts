// Why a message did not reach another client, for a person: what to type, where programs are told methods of the wire.

import { BridgeError } from '../util/bridge-error.ts';
import { daemonCodeOf } from './refused.ts';

const WHO = 'To see who is connected: mcp-bridge clients';
const WHAT = 'To see what each client accepts: mcp-bridge clients';

export function forSender(error: unknown): unknown {
  if (!(error instanceof BridgeError)) return error;
  const { code, message, cause } = error;
  const hint = hintFor(daemonCodeOf(error), error);
  return hint === error.hint || hint === undefined ? error : new BridgeError(code, message, { hint, cause });
}

function hintFor(refusal: string, { message, hint = '' }: BridgeError): string | undefined {
  switch (refusal) {
    case 'CLIENT_NOT_FOUND':
      return hint.startsWith('Did you mean ') ? hint : WHO;
    case 'CLIENT_GONE':
      return WHO;
    case 'MESSAGE_TO_SELF':
      return `That is the name of this command. ${WHO}`;
    case 'MESSAGE_REFUSED':
      return 'To see which file that is in: mcp-bridge config path';
    case 'MESSAGE_NOT_ACCEPTED':
      return notAccepted(message, hint);
    case 'CALL_TIMED_OUT':
      return 'limits.callTimeoutMs of the config file allows more; --notify waits for no answer.';
    default:
      return hint === '' ? undefined : hint;
  }
}

function notAccepted(message: string, hint: string): string {
  if (!message.endsWith('has no mailbox')) return WHAT;
  // The daemon says what has to be in its config.
  return hint.includes('agents.enabled') ? `${hint} Then: mcp-bridge restart` : `${hint} ${WHAT}`;
}
