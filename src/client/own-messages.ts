// This side's own messages, as whole frames. Text that was cut out of frames has one byte per character.

import { BRIDGE_RESTARTED, INTERNAL_ERROR, INVALID_REQUEST, outcomeUnknownAfter } from '../protocol/rpc-codes.ts';

export interface ErrorSaid {
  /** The error number of JSON-RPC; by default that of an internal error. */
  readonly number?: number;
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

export const OUTCOME_UNKNOWN: ErrorSaid = {
  code: 'OUTCOME_UNKNOWN',
  message: outcomeUnknownAfter(BRIDGE_RESTARTED),
};

export function tooLarge(bytes: number, most: number): ErrorSaid {
  return {
    number: INVALID_REQUEST,
    code: 'MESSAGE_TOO_LARGE',
    message: `The message has ${bytes} bytes, and the bridge takes at most ${most}; it was not sent`,
    hint: 'limits.maxMessageBytes of the config file allows more. A path to a file is shorter than the file.',
  };
}

/** Returns a notification as a frame. `params` is JSON. */
export function notification(method: string, params?: string): Buffer {
  return line(`"method":"${method}"${params === undefined ? '' : `,"params":${params}`}`);
}

export function request(id: string, method: string, params: string): Buffer {
  return line(`"id":"${id}","method":"${method}"${params === '' ? '' : `,"params":${params}`}`);
}

export function errorAnswer(idText: string, { number = INTERNAL_ERROR, code, message, hint }: ErrorSaid): Buffer {
  const error = JSON.stringify({ code: number, message, data: { code, hint } });
  // A message may name a file in any script, so it is encoded; the id already is one byte per character.
  return line(`"id":${idText},"error":${Buffer.from(error).toString('latin1')}`);
}

function line(members: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0",${members}}\n`, 'latin1');
}
