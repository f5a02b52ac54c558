// Text of others, for a terminal: a name must not be able to move the cursor or turn the line around.

/** Control, format and separator characters by their code points. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => `\\u{${(c.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The same, but for tabs, which are a text's own indentation and no harm to a terminal. */
export function printableTabbed(text: string): string {
  return text.split('\t').map(printable).join('\t');
}

/** What has several lines, in as many: those behind the first are indented, so that it is seen where it ends. */
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
