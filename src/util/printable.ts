// Makes others' text safe for a terminal, a log, or JSON that may reach one: nothing in it moves the cursor, reverses
// the line, or stays invisible. This is the only file that says which characters do that.

/**
 * Control, format and separator characters, unpaired surrogates, unusual white space, and other invisible characters:
 * fillers, joiners, selectors, tags.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/gu;

/** Replaces such characters by their code points. */
export function printable(text: string): string {
  return text.replace(UNSEEN, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Splits the text for callers that can mark unseen characters: each piece is visible text, or one unseen character. */
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

/** Escapes such characters in JSON. The value stays the same, and so does the white space between tokens. */
export function printableJson(json: string): string {
  return json.replace(UNSEEN, (character) => (SPACE.test(character) ? character : escaped(character)));
}

/** Escapes such characters in JSON, and puts it on one line; the value stays the same. */
export function lineSafe(json: string): string {
  return json.replace(UNSEEN, (character) => (SPACE.test(character) ? ' ' : escaped(character)));
}

/** White space between the tokens of JSON; inside its strings these are escaped already. */
const SPACE = /[\t\n\r]/;

function escaped(character: string): string {
  let units = '';
  for (let i = 0; i < character.length; i++) units += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
  return units;
}

/** Does the same as `printable`, but keeps tabs: they indent a text, and do no harm to a terminal. */
export function printableTabbed(text: string): string {
  return text.split('\t').map(printable).join('\t');
}

/** Keeps the lines of a text. Lines after the first are indented, so that a reader sees where it ends. */
export function printableLines(text: string, indent = '  '): string {
  return linesOf(text).map(printable).join(`\n${indent}`);
}

/** Puts a text on one line, for places with no room for more. */
export function oneLine(text: string): string {
  return printable(linesOf(text).join(' | '));
}

function linesOf(text: string): string[] {
  return text
    .replace(/^[\r\n]+/, '')
    .trimEnd()
    .split(/\s*[\r\n]+\s*/);
}

/** Cuts the text to at most `most` characters; the last one is an ellipsis then. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
