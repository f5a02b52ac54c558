// What a command is given, in memory: a terminal or a pipe, and a home of its own.

import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import type { CliHost } from '../../src/cli/host.ts';

export interface FakeHost extends CliHost {
  /** What has been written. */
  said(): string;
  complaints(): string;
  /** The same without the line that says what is waited for: whether there is one depends on the machine. */
  remarks(): string;
  /** The person presses Ctrl-C. */
  interrupt(): void;
}

export interface FakeTerminal {
  readonly columns: number;
  /** What the person types; without it, the end of the input. */
  readonly answer?: string;
}

/** Each time that the spinner is written, and the end of it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal is sent.
const WAITING = /(?:\r\u001b\[K[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] [^\r\n]*)+\r\u001b\[K/g;

export function fakeHost(
  home: string,
  cwd: string,
  terminal?: FakeTerminal,
  env: Record<string, string> = {},
): FakeHost {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  if (terminal !== undefined) {
    Object.assign(stdin, { isTTY: true });
    for (const stream of [stdout, stderr]) Object.assign(stream, { isTTY: true, columns: terminal.columns });
  }
  stdin.end(terminal?.answer === undefined ? '' : `${terminal.answer}\n`);
  const interrupted = new EventEmitter();
  const text = (stream: PassThrough) => () => String(stream.read() ?? '');
  return {
    ...{
      stdin,
      stdout,
      stderr,
      cwd,
      homedir: home,
      program: '/nowhere/mcp-bridge',
      version: '0',
      build: '0+1',
      node: process.execPath,
      pid: process.pid,
    },
    environment: { HOME: home, MCP_BRIDGE_SOCKET: `${home}/b.sock`, ...env },
    said: text(stdout),
    complaints: text(stderr),
    remarks: () => text(stderr)().replace(WAITING, ''),
    interrupt: () => interrupted.emit('interrupt'),
    onInterrupt(listener) {
      interrupted.once('interrupt', listener);
      return () => interrupted.off('interrupt', listener);
    },
    onEnd: (listener) => void interrupted.once('interrupt', listener),
  };
}
