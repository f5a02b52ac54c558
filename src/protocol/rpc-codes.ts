// The error numbers of JSON-RPC, and the words for a call whose outcome nobody knows. The client takes them from here, so
// that it does not load what the daemon needs to make errors.

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** The message of OUTCOME_UNKNOWN. `event` is a main clause: the reason why no answer came. */
export function outcomeUnknownAfter(event: string): string {
  return `${event} while this call was under way; whether it was done is not known`;
}

export const BRIDGE_RESTARTED = 'The bridge was restarted';
