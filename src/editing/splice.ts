// Replaces pieces of a text, and describes the layout around them. Text outside the splices stays as it is, byte for
// byte.

export interface TextSplice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Applies the splices. They must not overlap; splices at the same place apply in order. */
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

/** The end of the line's own characters, before its line break. */
export function lineEnd(text: string, offset: number): number {
  const found = text.indexOf('\n', offset);
  if (found < 0) return text.length;
  return text[found - 1] === '\r' && found - 1 >= offset ? found - 1 : found;
}

/** The start of the next line; the end of the text for the last line. */
export function nextLine(text: string, offset: number): number {
  const found = text.indexOf('\n', offset);
  return found < 0 ? text.length : found + 1;
}

/** The white space at the start of the line. */
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

/** Widens a range over line breaks and indentation that would otherwise leave an empty line. */
export function wholeLines(text: string, { start, end }: { start: number; end: number }): TextSplice {
  const from = lineStart(text, start);
  const to = lineEnd(text, end);
  const isAloneBefore = text.slice(from, start).trim() === '';
  if (isAloneBefore && text.slice(end, to).trim() === '') return { start: from, end: nextLine(text, end), text: '' };
  const gap = /^[ \t]*/.exec(text.slice(end))?.[0].length ?? 0;
  return { start, end: end + gap, text: '' };
}
