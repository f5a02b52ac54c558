// What a client is told about a frame that the router does not act on.

import { type Batch, MOST_IN_BATCH } from '../wire/batch.ts';
import { type Envelope, Field, type FrameFault } from '../wire/envelope.ts';
import { INVALID_REQUEST, PARSE_ERROR, rpcError } from './rpc-error.ts';

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
    case 'no-method':
      return { code: INVALID_REQUEST, message: 'Invalid request: neither a method nor an answer' };
  }
}

/** What a client that may send batches is told of one as a whole: once, whatever there is in it. */
export function batchRefusal({ messages, others, isTooLong }: Batch): FrameRefusal | undefined {
  const refusal = (why: string): FrameRefusal => ({ code: INVALID_REQUEST, message: `Invalid request: ${why}` });
  if (isTooLong) return refusal(`a batch has at most ${MOST_IN_BATCH} messages`);
  if (others.length > 0) return refusal(`a message is an object, and ${others.length} in this batch are none`);
  return messages.length === 0 ? refusal('a batch has at least one message') : undefined;
}

const ONE_EACH = 'A connection is that of one server: open another one for each further server.';

/** To a server that has connected by itself, and says `initialize` once more. */
export const REGISTERED_ALREADY: string = rpcError(
  INVALID_REQUEST,
  'This connection is registered as a server already',
  { code: 'REQUEST_REFUSED', hint: ONE_EACH },
);

/** To a client that does. */
export const INITIALIZED_ALREADY: string = rpcError(
  INVALID_REQUEST,
  'This connection is initialized already, as that of a client',
  { code: 'REQUEST_REFUSED', hint: 'Another client, or a server, needs a connection of its own.' },
);

/** The id of a frame that is refused, where there can be no doubt about it. */
export function certainId(read: Envelope, bytes: Buffer): string {
  const isAmbiguous = (read.ambiguous & (1 << Field.id)) !== 0;
  return isAmbiguous || read.id(bytes, Field.id) === undefined ? 'null' : read.raw(bytes, Field.id);
}
