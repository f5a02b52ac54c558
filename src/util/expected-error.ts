// Says which error a `catch` expects. Any other error is thrown again, for code that can report it.

import { systemCode } from './bridge-error.ts';

/** Expects the error of a text that may not be JSON. */
export function expectSyntaxError(error: unknown): void {
  if (!(error instanceof SyntaxError)) throw error;
}

/** Expects the error of a file or process that may be absent, or another user's. */
export function expectSystemError(error: unknown): void {
  if (systemCode(error) === undefined) throw error;
}

/** Expects the error of escapes that may be broken. */
export function expectUriError(error: unknown): void {
  if (!(error instanceof URIError)) throw error;
}

/** Expects the error of a text that may not be a URL. */
export function expectUrlError(error: unknown): void {
  if (systemCode(error) !== 'ERR_INVALID_URL') throw error;
}
