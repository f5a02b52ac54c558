// The error numbers of JSON-RPC, and the words for a call with unknown outcome. The client uses this file, so that it
// does not load the daemon's error code.

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** The message of OUTCOME_UNKNOWN. `event` is a main clause with the reason why no answer came. */
export function outcomeUnknownAfter(event: string): string {
  return `${event} while this call was under way; whether it was done is not known`;
}

export const BRIDGE_RESTARTED = 'The bridge was restarted';
