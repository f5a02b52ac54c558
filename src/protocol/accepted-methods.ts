// The methods that a client takes from other clients, as it says in `_meta["mcp-bridge/accepts"]` of its `initialize`.

/** All, none, or those that are listed: `review/start`, or `review/*` for what begins with `review/`. */
export type AcceptedMethods = boolean | readonly string[];

const MOST_PATTERNS = 64;
const PATTERN = /^[\x21-\x7e]{1,128}$/;

/**
 * Methods that MCP and the bridge use, now or one day. A client would take one for a word of the bridge's or of a
 * server's, so nobody else may say it, whatever the client accepts.
 */
const RESERVED =
  /^(?:initialize$|ping$|(?:notifications|tools|prompts|resources|sampling|elicitation|roots|completion|logging|tasks|server|client|subscriptions|bridge|mcp|mcp-bridge)\/|rpc\.)/i;

/** Undefined if it is not what it should be. Without a word nothing is accepted. */
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
