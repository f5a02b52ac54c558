// OAuth scopes (RFC 6749, section 3.3): words for rights, separated by spaces. Servers write them, so invalid words are
// left out.

const WORD = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** The longest scope to ask for: else a server could make a page's address grow with each refusal. */
const LONGEST = 4096;

function wordsOf(scope: string | undefined): readonly string[] {
  return (scope ?? '').split(/\s+/).filter((word) => WORD.test(word));
}

/** All rights of the scopes, each once; undefined if there are none. */
export function joinedScope(...scopes: readonly (string | undefined)[]): string | undefined {
  const words = new Set(scopes.flatMap(wordsOf));
  return words.size === 0 ? undefined : [...words].join(' ');
}

/** The rights of `scope` that are not in `asked`; undefined if there are none. */
export function missingScope(scope: string | undefined, asked: string | undefined): string | undefined {
  const known = new Set(wordsOf(asked));
  return joinedScope(...wordsOf(scope).filter((word) => !known.has(word)));
}

/** True if a sign-in may ask for the scope. */
export function isAskable(scope: string): boolean {
  return scope.length <= LONGEST;
}
