// What there is at the other end of the command: a person at a terminal, or a pipe.

import { createInterface } from 'node:readline';
import { coloursOf } from './colour.ts';
import { interrupted } from './exit-code.ts';
import type { CliHost } from './host.ts';
import type { TableStyle } from './table.ts';

/** How wide lines may be; undefined for a pipe, which takes them whole. */
export function widthOf({ stdout }: CliHost): number | undefined {
  const { isTTY, columns } = stdout as { readonly isTTY?: boolean; readonly columns?: number };
  return isTTY === true && columns ? Math.max(columns, 40) : undefined;
}

/** As wide as the terminal, with the column of states in colour. */
export function tableStyle(host: CliHost, states: number): TableStyle {
  const colours = coloursOf(host);
  return { width: widthOf(host), ...(colours && { paint: { column: states, with: colours.state } }) };
}

/** Whether somebody can be asked. */
export function hasPerson({ stdin, stdout }: CliHost): boolean {
  return [stdin, stdout].every((stream) => (stream as { readonly isTTY?: boolean }).isTTY === true);
}

/** Asks for a yes; whatever else comes, or the end of the input, is a no. Ctrl-C ends the verb. */
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

/** A path as people write it. */
export function tilde(text: string, { homedir }: Pick<CliHost, 'homedir'>): string {
  if (homedir === '' || homedir === '/') return text;
  return text === homedir ? '~' : text.replaceAll(`${homedir}/`, '~/');
}
