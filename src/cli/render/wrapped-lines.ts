// Sentences for a terminal: lines that are longer than it is wide break between words, and go on below, indented. A pipe
// gets them whole.

import { printableLines } from './table.ts';

export interface LineStyle {
  /** Undefined for a pipe. */
  readonly width?: number | undefined;
  /** Stands before all lines but the first. */
  readonly indent?: string;
}

/** A command to type stays in one piece, as a terminal copies a line that it has broken itself without the break. */
const PIECE = /\s*(?:(?<=: )mcp-bridge .*?(?:\.(?=\s|$)|$)|mcp-bridge \S+|\S+)/g;

export function wrappedLines(text: string, { width, indent = '  ' }: LineStyle = {}): string {
  const shown = printableLines(text, indent);
  if (width === undefined) return shown;
  return shown
    .split('\n')
    .flatMap((line) => broken(line, width, indent))
    .join('\n');
}

/** A word that fits into no line stands in one of its own. */
function broken(line: string, width: number, indent: string): string[] {
  const lines: string[] = [];
  let current = '';
  for (const [piece] of line.matchAll(PIECE)) {
    const isFull = current.length + piece.length > width;
    if (isFull && current.trim() !== '') {
      lines.push(current);
      current = `${indent}${piece.trimStart()}`;
    } else current += piece;
  }
  return [...lines, current];
}
