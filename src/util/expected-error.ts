// What a `catch` says that it expects: any other error goes on to whoever can tell the truth about it.

import { systemCode } from './bridge-error.ts';

/** For texts that may be no JSON. */
export function expectSyntaxError(error: unknown): void {
  if (!(error instanceof SyntaxError)) throw error;
}

/** For files and processes that may be absent, or others' own. */
export function expectSystemError(error: unknown): void {
  if (systemCode(error) === undefined) throw error;
}

/** For escapes that may be broken. */
export function expectUriError(error: unknown): void {
  if (!(error instanceof URIError)) throw error;
}

/** For texts that may be no URL. */
export function expectUrlError(error: unknown): void {
  if (systemCode(error) !== 'ERR_INVALID_URL') throw error;
}
