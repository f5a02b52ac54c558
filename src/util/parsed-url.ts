// The only way to turn a text into a URL. `URL.canParse` is not used: once V8 has optimised its caller, Node 20 and 22
// answer false for a host with letters such as ü, and a rule that denies this host would let it pass.

import { expectUrlError } from './expected-error.ts';

/** Parses a URL; undefined if the text is none. */
export function parsedUrl(text: string, base?: string | URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch (error) {
    expectUrlError(error);
    return undefined;
  }
}
