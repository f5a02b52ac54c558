// Values that were decoded from JSON, looked at with care: whoever sent them may have put anything anywhere, also objects on
// which String() fails. Values that JSON can carry, and what is wrong with a JSON text that people write.

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object's members; none of what is no object. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** A text; '' for anything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A copy with only what JSON can say: functions, circular parts and members that throw are left out. */
export function plainOf(value: unknown, above: readonly unknown[] = []): unknown {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'function' || typeof value === 'symbol' || above.includes(value)) return undefined;
  if (typeof value !== 'object' || value === null) return value;
  const here = [...above, value];
  if (Array.isArray(value)) return value.map((item) => plainOf(item, here) ?? null);
  const members = new Map<string, unknown>();
  for (const key of Object.keys(value)) {
    try {
      members.set(key, plainOf((value as Record<string, unknown>)[key], here));
    } catch {
      // A getter of the user's own: nobody else can use it either.
    }
  }
  return Object.fromEntries(members);
}

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

/** Line and column, from 1 up. */
export function placeIn(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}
