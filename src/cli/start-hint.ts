// Adds the socket of the failed command to hints on how to start a daemon; otherwise the suggested command would start
// another one.

import { BridgeError } from '../util/bridge-error.ts';

const GIVEN = ['mcp-bridge-socket', 'config'] as const;
const STARTING = /\bmcp-bridge (?:start|serve)\b(?! --)/;

/** `values` are those of the failed command. */
export function withSocketInHint(error: unknown, values: unknown): unknown {
  if (!(error instanceof BridgeError) || error.hint === undefined) return error;
  const { code, message, hint, server, cause } = error;
  if (code !== 'DAEMON_NOT_RUNNING' && code !== 'DAEMON_START_FAILED') return error;
  const given = values as Readonly<Partial<Record<(typeof GIVEN)[number], unknown>>>;
  const options = GIVEN.flatMap((name) => {
    const value = given[name];
    return typeof value === 'string' && value !== '' ? ` --${name} ${quoted(value)}` : [];
  });
  if (options.length === 0) return error;
  const there = hint.replace(STARTING, (words) => `${words}${options.join('')}`);
  return new BridgeError(code, message, { hint: there, cause, ...(server !== undefined && { server }) });
}

/** Quotes a text so that a shell takes it as one word. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
