// Words and places of faults in a JSON text that a person wrote; the parser gives a code and an offset.

const SENTENCES: Readonly<Record<string, string>> = {
  InvalidSymbol: 'this is no value',
  PropertyNameExpected: 'a name in quotes is expected here',
  ValueExpected: 'a value is expected here',
  ColonExpected: 'a colon is expected here',
  CommaExpected: 'a comma is expected here',
  CloseBraceExpected: 'a closing brace is expected here',
  CloseBracketExpected: 'a closing bracket is expected here',
  EndOfFileExpected: 'there is something behind the end',
  UnexpectedEndOfComment: 'this comment does not end',
  UnexpectedEndOfString: 'this text does not end',
};

/** The sentence for an error code of jsonc-parser; undefined for codes that need none. */
export function sentenceOf(code: string): string | undefined {
  return SENTENCES[code];
}

/** The line and column of an offset; both count from 1. */
export function placeIn(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
