// The methods that a client accepts from other clients, from `_meta["mcp-bridge/accepts"]` of its `initialize`.

/** True for all, false for none, or a list: `review/start`, or `review/*` for all that begin with `review/`. */
export type AcceptedMethods = boolean | readonly string[];

const MOST_PATTERNS = 64;
const PATTERN = /^[\x21-\x7e]{1,128}$/;

/**
 * Methods that MCP and the bridge use, or may use one day. A client would mistake them for messages of the bridge or a
 * server, so no other client may send them, whatever it accepts.
 */
const RESERVED =
  /^(?:initialize$|ping$|(?:notifications|tools|prompts|resources|sampling|elicitation|roots|completion|logging|tasks|server|client|subscriptions|bridge|mcp|mcp-bridge)\/|rpc\.)/i;

/** Undefined for an invalid value. If it is missing, nothing is accepted. */
export function readAccepted(value: unknown): AcceptedMethods | undefined {
  if (value === undefined) return [];
  if (typeof value === 'boolean') return value;
  if (!Array.isArray(value) || value.length > MOST_PATTERNS) return undefined;
  return value.every((pattern): pattern is string => typeof pattern === 'string' && PATTERN.test(pattern))
    ? value
    : undefined;
}

export function isReserved(method: string): boolean {
  return RESERVED.test(method);
}

export function doesAccept(accepted: AcceptedMethods, method: string): boolean {
  if (typeof accepted === 'boolean') return accepted;
  return accepted.some((pattern) =>
    pattern.endsWith('/*') ? method.startsWith(pattern.slice(0, -1)) : pattern === method,
  );
}
