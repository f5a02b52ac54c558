// Explains why a message did not reach another client. It names commands, where the daemon's error names methods.

import { BridgeError } from '../util/bridge-error.ts';
import { isRecord } from '../util/json-value.ts';
import { daemonCodeOf, factsOf } from './refused.ts';

const WHO = 'To see who is connected: mcp-bridge clients';
const WHAT = 'To see what each client accepts: mcp-bridge clients';

/** The bridge's own codes for refusing a message. Any other error comes from the other client. */
const OWN_CODES = new Set<string>([
  'CALL_STOPPED',
  'CALL_TIMED_OUT',
  'CLIENT_BUSY',
  'CLIENT_GONE',
  'CLIENT_NOT_FOUND',
  'MAILBOX_FULL',
  'MESSAGE_INVALID',
  'MESSAGE_LOOP',
  'MESSAGE_NOT_ACCEPTED',
  'MESSAGE_REFUSED',
  'MESSAGE_TOO_LARGE',
  'MESSAGE_TO_SELF',
  'OUTCOME_UNKNOWN',
  'REQUEST_REFUSED',
  'SHUTTING_DOWN',
  'TOO_MANY_MESSAGES',
]);

export function forSender(error: unknown, to: string): unknown {
  if (!(error instanceof BridgeError)) return error;
  const { code, message, cause } = error;
  const refusal = daemonCodeOf(error);
  if (isRecord(cause) && !OWN_CODES.has(refusal))
    return new BridgeError(code, `Client ${to} answered with an error: ${message}`, { ...said(error), cause });
  const hint = hintFor(refusal, error);
  return hint === error.hint || hint === undefined ? error : new BridgeError(code, message, { hint, cause });
}

const said = ({ hint }: BridgeError) => (hint === undefined ? {} : { hint });

function hintFor(refusal: string, error: BridgeError): string | undefined {
  const { hint = '' } = error;
  const { near, reason } = factsOf(error);
  switch (refusal) {
    case 'CLIENT_NOT_FOUND':
      return Array.isArray(near) && near.length > 0 ? hint : WHO;
    case 'CLIENT_GONE':
      return WHO;
    case 'MESSAGE_TO_SELF':
      return `That is the name of this command. ${WHO}`;
    case 'MESSAGE_REFUSED':
      return 'To see which file that is in: mcp-bridge config path';
    case 'MESSAGE_NOT_ACCEPTED':
      return notAccepted(reason, hint);
    case 'CALL_TIMED_OUT':
      return 'limits.callTimeoutMs or limits.maxCallMs of the config file allows more; --notify waits for no answer.';
    default:
      return hint === '' ? undefined : hint;
  }
}

function notAccepted(reason: unknown, hint: string): string {
  switch (reason) {
    case 'view-without-mailbox':
      return `${hint} ${WHAT}`;
    case 'mailboxes-need-restart':
      return `${hint} mcp-bridge restart`;
    case 'mailboxes-need-setting':
      return `${hint} Then: mcp-bridge restart`;
    default:
      return WHAT;
  }
}
