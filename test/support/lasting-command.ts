// A command that goes on until it is ended, and what it has shown so far: in a pipe, or on a terminal.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { PROGRAM, ROOT } from './test-daemon.ts';

export interface LastingCommand {
  readonly child: ChildProcessWithoutNullStreams;
  said(): string;
  /** Until it shows this, from where it was looked for last. */
  until(pattern: RegExp): Promise<string>;
  readonly ended: Promise<number | null>;
}

interface Place {
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
}

function lasting(program: string, args: readonly string[], { cwd, env }: Place = {}): LastingCommand {
  const options = { env: { ...process.env, ...env, TERM: 'xterm' }, cwd: cwd ?? process.env.HOME };
  const child = spawn(program, args, options);
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  let from = 0;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk.replaceAll('\u001b', '␛');
  });
  return {
    child,
    said: () => said,
    ended: new Promise((resolve) => child.once('close', resolve)),
    async until(pattern) {
      for (;;) {
        const found = pattern.exec(said.slice(from));
        if (found !== null) {
          from += found.index + found[0].length;
          return found[0];
        }
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
  };
}

export const program = (...args: string[]) => lasting(process.execPath, [PROGRAM, ...args]);
export const onTerminal = (rows: number, columns: number, ...args: string[]) =>
  lasting('python3', terminalArgs(rows, columns, args));
export const onTerminalIn = (place: Place, ...args: string[]) =>
  lasting('python3', terminalArgs(50, place.columns ?? 200, args), place);

function terminalArgs(rows: number, columns: number, args: readonly string[]): string[] {
  const terminal = join(ROOT, 'test/fixtures/terminal.py');
  return [terminal, `${rows}`, `${columns}`, process.execPath, PROGRAM, ...args];
}
