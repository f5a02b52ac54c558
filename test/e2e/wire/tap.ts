// What goes over one leg, line by line, as the client or the server at its end sees it. A tap may alter lines on their way
// from or to the bridge: then the bridge looks like one with a fault, and the recordings must tell.

import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex, Readable, Writable } from 'node:stream';
import { ROOT } from '../../support/test-daemon.ts';

export interface Line {
  readonly to: 'server' | 'client';
  readonly text: string;
}

/** Lines that go on instead of one. */
export type Alter = (line: Line) => readonly string[];

export interface Ends {
  readonly input: Readable;
  readonly output: Writable;
}

const untouched: Alter = ({ text }) => [text];

function eachLine(input: Readable, take: (text: string) => void, end: () => void): void {
  let rest = '';
  input.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  });
  input.on('end', end).on('error', end);
}

/** Joins two ends. Lines are recorded as `near` has sent and got them. */
export function joinEnds(near: Ends, far: Ends, nearIs: 'client' | 'server', lines: Line[], alter = untouched): void {
  const farIs = nearIs === 'client' ? 'server' : 'client';
  const write = (output: Writable, text: string): void => void (output.writable && output.write(`${text}\n`));
  eachLine(
    near.input,
    (text) => {
      lines.push({ to: farIs, text });
      for (const altered of alter({ to: farIs, text })) write(far.output, altered);
    },
    () => far.output.end(),
  );
  eachLine(
    far.input,
    (text) => {
      for (const altered of alter({ to: nearIs, text })) {
        lines.push({ to: nearIs, text: altered });
        write(near.output, altered);
      }
    },
    () => near.output.end(),
  );
  for (const stream of [near.output, far.output]) stream.on('error', () => undefined);
}

/** A program that speaks MCP over its pipes. */
export interface Program {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface Started {
  readonly ends: Ends;
  /** Resolves when it is gone. */
  stop(): Promise<void>;
}

/** Starts a server. */
export type Start = () => Started;

export const startProgram =
  ({ args, env = {}, cwd = ROOT }: Program): Start =>
  () => {
    const child: ChildProcess = spawn(process.execPath, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const { stdin, stdout } = child;
    if (stdin === null || stdout === null) throw new Error('The server has no pipes');
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const stop = (): Promise<void> => {
      stdin.end();
      child.kill();
      return gone;
    };
    return { ends: { input: stdout, output: stdin }, stop };
  };

/** Stands between the bridge and a server: the bridge starts a relay, which connects here. */
export class ServerTap {
  readonly lines: Line[] = [];
  readonly #server: Server;
  readonly #path: string;
  readonly #sockets = new Set<Socket>();
  readonly #started: Started[] = [];

  private constructor(path: string, start: Start, alter: Alter | undefined) {
    this.#path = path;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      const started = start();
      this.#started.push(started);
      joinEnds(started.ends, { input: socket, output: socket }, 'server', this.lines, alter);
    });
  }

  static async open(path: string, start: Start, alter?: Alter): Promise<ServerTap> {
    const tap = new ServerTap(path, start, alter);
    await new Promise<void>((resolve) => tap.#server.listen(path, resolve));
    return tap;
  }

  /** The server as it stands in a configuration. */
  get definition(): object {
    return { command: process.execPath, args: [join(ROOT, 'test/fixtures/servers/relay.mjs'), this.#path] };
  }

  /** How many processes of the server the bridge has started. */
  get starts(): number {
    return this.#started.length;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#started.map((started) => started.stop()));
    await closed;
  }
}

export const endsOf = (stream: Duplex): Ends => ({ input: stream, output: stream });
