// The `error` member of an answer, as a client reads it. Anybody may have written it, so each part may be anything.

import { membersOf, textOf } from '../util/json-value.ts';

export interface Refusal {
  /** The error's JSON-RPC number; undefined if the answer has none. */
  readonly number: number | undefined;
  /** The bridge's own code; '' if the error is not the bridge's. */
  readonly code: string;
  readonly message: string;
  readonly hint: string | undefined;
  /** The member as it came. */
  readonly error: unknown;
}

export function readRefusal(error: unknown): Refusal {
  const { code: number, message, data } = membersOf(error);
  const { code, hint } = membersOf(data);
  return {
    number: typeof number === 'number' ? number : undefined,
    code: textOf(code),
    message: textOf(message),
    hint: textOf(hint) || undefined,
    error,
  };
}
