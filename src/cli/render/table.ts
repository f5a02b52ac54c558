// Output of commands: tables for people, with columns as wide as needed, and JSON for scripts. Texts from outside are
// escaped, in JSON too, because that may reach a terminal.

import { oneLine, printable, printableJson, printableLines, printableTabbed } from '../../util/printable.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';

export { oneLine, printable, printableLines, printableTabbed };

export interface TableStyle {
  /** Longer lines end in an ellipsis. */
  readonly width?: number | undefined;
  /** Colours the cells of one column by their content. */
  readonly paint?: { readonly column: number; readonly with: (cell: string) => string } | undefined;
}

export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  { width = Number.POSITIVE_INFINITY, paint }: TableStyle = {},
): string {
  const lines = [head, ...rows.map((row) => row.map(printable))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ''))));
  const render = (line: readonly string[], row: number): string => {
    const cells = line.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)));
    const text = cut(cells.join('  ').trimEnd(), width);
    return paint === undefined || row === 0 ? text : painted(text, cells, paint);
  };
  return `${lines.map(render).join('\n')}\n`;
}

function painted(text: string, cells: readonly string[], paint: NonNullable<TableStyle['paint']>): string {
  const cell = (cells[paint.column] ?? '').trimEnd();
  const start = cells.slice(0, paint.column).reduce((at, before) => at + before.length + 2, 0);
  const end = start + cell.length;
  return end > text.length ? text : text.slice(0, start) + paint.with(cell) + text.slice(end);
}

/** Counts code points. Characters of double width are rare, so they are not measured. */
function widthOf(text: string): number {
  return /[\ud800-\udbff]/.test(text) ? [...text].length : text.length;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters.
const PAINT = /\u001b\[\d+m/g;

/** Shortens a line that is too long; it ends in an ellipsis and loses its colours. */
export function cut(text: string, width: number): string {
  const plain = text.replaceAll(PAINT, '');
  return widthOf(plain) <= width ? text : `${[...plain].slice(0, width - 1).join('')}…`;
}

export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}

/** Prints the result of a command with `--json`; returns the exit code. */
export function printJson(value: unknown, host: CliHost): number {
  host.stdout.write(jsonText(value));
  return DONE;
}

/** JSON in which everything is escaped that could move the cursor or reverse the text. */
export function jsonText(value: unknown): string {
  return `${printableJson(JSON.stringify(value, undefined, 2))}\n`;
}
