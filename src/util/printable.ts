// Text of others, for a terminal, a log, or JSON that may come by one: nothing in it moves the cursor, turns the line
// around, or stands there unseen. The one place that says which characters do that.

/**
 * Control, format and separator characters, halves of characters, white space that is not the usual one, and whatever
 * else has no look of its own: fillers, joiners, selectors, tags.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** Such characters by their code points. */
export function printable(text: string): string {
  return text.replace(UNSEEN, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The text in pieces, for whoever can mark what is unseen: each piece is seen as it stands, or is one unseen character. */
export function seenPieces(text: string): { readonly text: string; readonly isUnseen: boolean }[] {
  const pieces: { text: string; isUnseen: boolean }[] = [];
  let at = 0;
  for (const { 0: unseen, index } of text.matchAll(UNSEEN)) {
    if (index > at) pieces.push({ text: text.slice(at, index), isUnseen: false });
    pieces.push({ text: unseen, isUnseen: true });
    at = index + unseen.length;
  }
  if (at < text.length) pieces.push({ text: text.slice(at), isUnseen: false });
  return pieces;
}

/** The same value: JSON has escapes of its own, and white space between its values stays. */
export function printableJson(json: string): string {
  return json.replace(UNSEEN, (character) => (SPACE.test(character) ? character : escaped(character)));
}

/** The same value on one line. */
export function lineSafe(json: string): string {
  return json.replace(UNSEEN, (character) => (SPACE.test(character) ? ' ' : escaped(character)));
}

/** Within a text of JSON these are escaped already. */
const SPACE = /[\t\n\r]/;

function escaped(character: string): string {
  let units = '';
  for (let i = 0; i < character.length; i++) units += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
  return units;
}

/** The same, but for tabs, which are a text's own indentation and no harm to a terminal. */
export function printableTabbed(text: string): string {
  return text.split('\t').map(printable).join('\t');
}

/** A text with its lines kept. Lines after the first are indented, so that its end can be seen. */
export function printableLines(text: string, indent = '  '): string {
  return linesOf(text).map(printable).join(`\n${indent}`);
}

/** The same where there is room for one line only. */
export function oneLine(text: string): string {
  return printable(linesOf(text).join(' | '));
}

function linesOf(text: string): string[] {
  return text
    .replace(/^[\r\n]+/, '')
    .trimEnd()
    .split(/\s*[\r\n]+\s*/);
}

/** The text, cut to so many characters with an ellipsis as the last of them. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
