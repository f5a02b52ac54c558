// Pieces of a text that are replaced, and what the text around them looks like. All that is not named by a splice stays
// as it is, byte for byte.

export interface TextSplice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The splices must not overlap; those at one place are made in their order. */
export function spliced(text: string, splices: readonly TextSplice[]): string {
  const inOrder = [...splices].sort((a, b) => a.start - b.start || a.end - b.end);
  let result = '';
  let at = 0;
  for (const { start, end, text: inserted } of inOrder) {
    result += text.slice(at, start) + inserted;
    at = end;
  }
  return result + text.slice(at);
}

export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf('\n', offset - 1) + 1;
}

/** The end of the line's own characters, before its line end. */
export function lineEnd(text: string, offset: number): number {
  const found = text.indexOf('\n', offset);
  if (found < 0) return text.length;
  return text[found - 1] === '\r' && found - 1 >= offset ? found - 1 : found;
}

/** The start of the next line; the end of the text for the last one. */
export function nextLine(text: string, offset: number): number {
  const found = text.indexOf('\n', offset);
  return found < 0 ? text.length : found + 1;
}

/** The white space that the line begins with. */
export function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset)))?.[0] ?? '';
}

export function isFirstOnLine(text: string, offset: number): boolean {
  return text.slice(lineStart(text, offset), offset).trim() === '';
}

export function lineBreakOf(text: string): string {
  const found = text.indexOf('\n');
  return found > 0 && text[found - 1] === '\r' ? '\r\n' : '\n';
}

/** Grown over the line ends and the indentation of what would be left as an empty line. */
export function wholeLines(text: string, { start, end }: { start: number; end: number }): TextSplice {
  const from = lineStart(text, start);
  const to = lineEnd(text, end);
  const isAloneBefore = text.slice(from, start).trim() === '';
  if (isAloneBefore && text.slice(end, to).trim() === '') return { start: from, end: nextLine(text, end), text: '' };
  const gap = /^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0;
  return { start, end: end + gap, text: '' };
}
