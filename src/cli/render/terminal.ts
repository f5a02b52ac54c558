// A person's terminal, or a pipe. On a terminal, long lines break between words and continue indented; a pipe gets
// whole lines.

import { createInterface } from 'node:readline';
import { interrupted } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { coloursOf } from './colour.ts';
import { printableLines, type TableStyle } from './table.ts';

/** The maximum width of lines; undefined for a pipe. */
export function widthOf({ stdout }: CliHost): number | undefined {
  const { isTTY, columns } = stdout as { readonly isTTY?: boolean; readonly columns?: number };
  return isTTY === true && columns ? Math.max(columns, 40) : undefined;
}

/** As wide as the terminal, with the state column in colour. */
export function tableStyle(host: CliHost, states: number): TableStyle {
  const colours = coloursOf(host);
  return { width: widthOf(host), ...(colours && { paint: { column: states, with: colours.state } }) };
}

/** True if there is a person to ask. */
export function hasPerson({ stdin, stdout }: CliHost): boolean {
  return [stdin, stdout].every((stream) => (stream as { readonly isTTY?: boolean }).isTTY === true);
}

/** Asks for a yes; any other input, or the end of the input, is a no. Ctrl-C ends the command. */
export function confirm(question: string, { stdin: input, stdout: output }: CliHost): Promise<boolean> {
  const lines = createInterface({ input, output });
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      output.write('\n');
      resolve(false);
    };
    lines.once('close', leave);
    lines.once('SIGINT', () => {
      lines.off('close', leave).close();
      output.write('\n');
      reject(interrupted());
    });
    lines.question(`${question} [y/N] `, (answer) => {
      lines.off('close', leave).close();
      resolve(/^y(?:es)?$/i.test(answer.trim()));
    });
  });
}

/** Shortens the home directory to `~` in a text's paths, but only where a shell would expand it to the same path. */
export function tilde(text: string, { homedir, isHomeUnnamed }: Pick<CliHost, 'homedir' | 'isHomeUnnamed'>): string {
  if (homedir === '' || homedir === '/' || isHomeUnnamed === true) return text;
  const [first = '', ...parts] = text.split(homedir);
  return parts.reduce(
    (done, part) => done + (BEFORE_A_PATH.test(done) && BEHIND_A_HOME.test(part) ? '~' : homedir) + part,
    first,
  );
}

/** After a letter or a slash it is the middle of another path; before a letter, the beginning of one. */
const BEFORE_A_PATH = /(?:^|[\s"'`(=:,;])$/;
const BEHIND_A_HOME = /^(?:$|[/\s"'`):,;])/;

export interface LineStyle {
  /** Undefined for a pipe. */
  readonly width?: number | undefined;
  /** Text before all lines but the first. */
  readonly indent?: string;
}

/** A command to type stays on one line, so that it can be copied from a terminal without a line break. */
const PIECE = /\s*(?:(?<=: )mcp-bridge .*?(?:\.(?=\s|$)|$)|mcp-bridge \S+|\S+)/g;

export function wrappedLines(text: string, { width, indent = '  ' }: LineStyle = {}): string {
  const shown = printableLines(text, indent);
  if (width === undefined) return shown;
  return shown
    .split('\n')
    .flatMap((line) => broken(line, width, indent))
    .join('\n');
}

/** Breaks a line. A word that is too long gets its own line. */
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
