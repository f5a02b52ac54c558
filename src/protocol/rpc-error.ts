// Turns the bridge's error codes into JSON-RPC errors. No other file does.

import { BridgeError, type BridgeErrorCode } from '../util/bridge-error.ts';
import { membersOf } from '../util/json-value.ts';
import { type Batch, MOST_IN_BATCH } from '../wire/batch.ts';
import { type Envelope, Field, type FrameFault } from '../wire/envelope.ts';
import { ERA_2025 } from './era-2025.ts';
import {
  BRIDGE_RESTARTED,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  outcomeUnknownAfter,
  PARSE_ERROR,
} from './rpc-codes.ts';

export { INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR };

function rpcCodeOf(code: BridgeErrorCode): number {
  switch (code) {
    case 'CLIENT_NOT_FOUND':
    case 'SERVER_NOT_FOUND':
    case 'TOOL_NOT_FOUND':
    case 'PROMPT_NOT_FOUND':
    case 'TOOL_NEEDS_TASK': // the protocol lets servers answer so
      return METHOD_NOT_FOUND;
    case 'RESOURCE_NOT_FOUND':
      return ERA_2025.errors.noSuchResource;
    case 'MESSAGE_INVALID':
    case 'MESSAGE_NOT_ACCEPTED':
    case 'MESSAGE_REFUSED':
    case 'MESSAGE_TOO_LARGE':
    case 'MESSAGE_TO_SELF':
    case 'RESULT_NOT_FOUND':
    case 'RETRY_REFUSED':
    case 'TOOL_ARGUMENTS_INVALID':
    case 'TOOL_CHANGED':
    case 'TOOL_DISABLED':
    case 'VIEW_UNKNOWN':
      return INVALID_PARAMS;
    case 'REQUEST_REFUSED':
    case 'RESUME_REFUSED':
      return INVALID_REQUEST;
    default:
      return INTERNAL_ERROR;
  }
}

/** The `error` member of a response, as JSON; `more` goes into its data. */
export function rpcErrorOf(error: BridgeError, more?: Readonly<Record<string, unknown>>): string {
  return rpcErrorAs(rpcCodeOf(error.code), error, more);
}

/** The error for a request whose id is in use on its connection. */
export function idInUse(idText: string): string {
  return rpcErrorOf(new BridgeError('REQUEST_REFUSED', `A request with id ${idText} is still under way`));
}

function rpcErrorAs(rpcCode: number, error: BridgeError, more?: Readonly<Record<string, unknown>>): string {
  const data = { code: error.code, server: error.server, hint: error.hint, ...error.facts, ...more };
  return JSON.stringify({ code: rpcCode, message: error.message, data });
}

/** The error of a call. In the protocol, an unknown tool or prompt name counts as a wrong argument. */
export function calledErrorOf(error: BridgeError): string {
  const isName = error.code === 'TOOL_NOT_FOUND' || error.code === 'PROMPT_NOT_FOUND';
  return isName ? rpcErrorAs(INVALID_PARAMS, error) : rpcErrorOf(error);
}

/** Adds the hint to the message, because models see only the message. */
export function withHint(error: BridgeError): BridgeError {
  const { code, message, hint, server, facts } = error;
  if (hint === undefined || message.includes(hint)) return error;
  const sentence = /[.!?:]$/.test(message) ? message : `${message}.`;
  const subject = server === undefined ? {} : { server };
  return new BridgeError(code, `${sentence} ${hint}`, { hint, facts, ...subject, cause: error });
}

/** The error for anything thrown. An unexpected fault reveals no details. */
export function failureOf(thrown: unknown, errorOf: (error: BridgeError) => string = rpcErrorOf): string {
  return thrown instanceof BridgeError ? errorOf(thrown) : rpcError(INTERNAL_ERROR, 'The bridge has failed');
}

export function rpcError(code: number, message: string, data?: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ code, message, data });
}

/** The answer to an unknown cursor. */
export const NO_SUCH_CURSOR: string = rpcError(
  INVALID_PARAMS,
  'The cursor is unknown: begin the list again without one',
);

/** The code in an `error` member: the bridge's word, else the number. */
export function codeIn(error: string): string {
  const { code, data } = membersOf(JSON.parse(error));
  const { code: own = code } = membersOf(data);
  return String(own);
}

export const SHUTTING_DOWN: string = rpcError(INTERNAL_ERROR, 'The bridge is shutting down', { code: 'SHUTTING_DOWN' });

/** The answer to a call that the daemon's end has interrupted. */
export function cutShort(wasSent: boolean): string {
  const what = wasSent ? 'whether this was done is not known' : 'this was not sent to a server, and may be asked again';
  return rpcError(INTERNAL_ERROR, `The bridge is shutting down; ${what}`, { code: 'SHUTTING_DOWN', wasSent });
}

/**
 * The error of a repeated request that may have been executed before the restart, because a second execution may do
 * harm. `server` is the server that may have executed it.
 */
export function outcomeUnknown(server?: string): BridgeError {
  return new BridgeError('OUTCOME_UNKNOWN', outcomeUnknownAfter(BRIDGE_RESTARTED), {
    ...(server !== undefined && { server }),
    hint: 'Look at what it was to change before it is called again.',
  });
}

// Errors for frames that the router refuses.

export const BAD_ID = 'Invalid request: an id is a string of at most 256 bytes or a safe integer';
export const BAD_TOKEN = 'Invalid request: a progress token is a string of at most 256 bytes or a safe integer';

export interface FrameRefusal {
  readonly code: number;
  readonly message: string;
}

export function refusalOf(fault: FrameFault, maxDepth: number): FrameRefusal {
  switch (fault) {
    case 'not-json':
      return { code: PARSE_ERROR, message: 'Parse error: not JSON' };
    case 'too-deep':
      return { code: INVALID_REQUEST, message: `Invalid request: nested deeper than ${maxDepth}` };
    case 'batch':
      return { code: INVALID_REQUEST, message: 'Invalid request: batches are not taken, send one message a line' };
    case 'not-an-object':
      return { code: INVALID_REQUEST, message: 'Invalid request: a message is an object' };
    case 'ambiguous-key':
      return {
        code: INVALID_REQUEST,
        message: 'Invalid request: a key that decides where it goes is there twice, or spelled in another way',
      };
    case 'not-jsonrpc-2.0':
      return { code: INVALID_REQUEST, message: 'Invalid request: "jsonrpc" is not "2.0"' };
    case 'method-not-a-string':
      return { code: INVALID_REQUEST, message: 'Invalid request: "method" is not a string' };
    case 'request-and-answer':
      return { code: INVALID_REQUEST, message: 'Invalid request: both a method and an answer' };
    case 'no-method':
      return { code: INVALID_REQUEST, message: 'Invalid request: neither a method nor an answer' };
  }
}

/** The error for a whole batch; undefined if its messages are handled one by one. */
export function batchRefusal({ messages, others, isTooLong }: Batch): FrameRefusal | undefined {
  const refusal = (why: string): FrameRefusal => ({ code: INVALID_REQUEST, message: `Invalid request: ${why}` });
  if (isTooLong) return refusal(`a batch has at most ${MOST_IN_BATCH} messages`);
  if (others.length > 0) return refusal(`a message is an object, and ${others.length} in this batch are none`);
  return messages.length === 0 ? refusal('a batch has at least one message') : undefined;
}

const ONE_EACH = 'A connection is that of one server: open another one for each further server.';

/** The answer to a connected server that sends `initialize` again. */
export const REGISTERED_ALREADY: string = rpcError(
  INVALID_REQUEST,
  'This connection is registered as a server already',
  { code: 'REQUEST_REFUSED', hint: ONE_EACH },
);

/** The answer to a client that sends `initialize` again. */
export const INITIALIZED_ALREADY: string = rpcError(
  INVALID_REQUEST,
  'This connection is initialized already, as that of a client',
  { code: 'REQUEST_REFUSED', hint: 'Another client, or a server, needs a connection of its own.' },
);

/** The id of a refused frame, if it is certain. */
export function certainId(envelope: Envelope, bytes: Buffer): string {
  const isAmbiguous = envelope.ambiguous.includes(Field.id);
  return isAmbiguous || envelope.id(bytes, Field.id) === undefined ? 'null' : envelope.raw(bytes, Field.id);
}
