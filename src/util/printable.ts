// Text of others, for a terminal: a name must not be able to move the cursor or turn the line around.

/** Control, format and separator characters by their code points. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);
}
