// A stdio server that is offered to the bridge, over one connection after the other, and its process. The first
// connection initializes the server, once. Ids and progress tokens name their connection, so that an answer never
// reaches another one.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { KEYS_2025 } from '../protocol/keys-2025.ts';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import { changedFrame } from '../wire/changed-frame.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { type Frame, FrameSplitter } from '../wire/frame-splitter.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import { Splice } from '../wire/splice.ts';
import { MAX_TEXT_BYTES } from './bytes.ts';
import type { RegisteredLink } from './server-registration.ts';
import { BRIDGE_GONE, TurnRequests } from './turn-requests.ts';

const GONE_ANSWER = `"error":${JSON.stringify(BRIDGE_GONE)}`;

const read = new Envelope(KEYS_2025);
const splice = new Splice();

export class ServedProcess {
  readonly #stdin: Writable;
  readonly #stdout: Readable;
  #link: RegisteredLink | undefined;
  /** The server's answer to `initialize`, and the id under which it is expected. */
  #hello: string | undefined;
  #helloId: string | undefined;
  readonly #requests = new TurnRequests();

  constructor(stdin: Writable, stdout: Readable) {
    this.#stdin = stdin;
    this.#stdout = stdout;
    const splitter = new FrameSplitter(MAX_TEXT_BYTES, {
      frame: (b, start, end) => this.#fromServer({ b, start, end }),
      overflowed: () => undefined,
      badFrame: () => undefined, // input that is no message goes to nobody
    });
    stdout.on('data', (chunk: Buffer) => splitter.push(chunk));
    stdin.on('drain', () => this.#link?.socket.resume());
    stdin.on('error', () => undefined); // its end is noticed where the process runs
  }

  /** Serves over this link; resolves when the link is closed. */
  serve(link: RegisteredLink): Promise<void> {
    this.#link = link;
    this.#requests.begin();
    link.socket.on('drain', () => this.#stdout.resume());
    return new Promise((resolve) => {
      link.listen({
        frame: (frame) => this.#fromBridge(link, frame),
        closed: () => {
          this.#lost();
          resolve();
        },
      });
    });
  }

  /** Called when a link is lost: nobody waits for the bridge's requests, and nobody answers the server's. */
  #lost(): void {
    this.#link = undefined;
    this.#stdout.resume();
    const { abandoned, unanswered } = this.#requests.end();
    for (const id of abandoned)
      if (id !== this.#helloId)
        this.#say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`);
    for (const id of unanswered) this.#say(`{"jsonrpc":"2.0","id":${id},${GONE_ANSWER}}`);
  }

  // --- towards the server ---

  #fromBridge(link: RegisteredLink, frame: Frame): void {
    const { b, start, end } = frame;
    if (!read.scan(b, start, end, DEEPEST)) return;
    const method = read.has(Field.method) ? String(read.decode(b, Field.method)) : '';
    if (read.kind === 'response') {
      this.#requests.questionAnswered(read.raw(b, Field.id));
      return this.#pass(frame);
    }
    if (read.kind === 'request') return this.#request(link, method, frame);
    if (link.takes(method, () => read.decode(b, Field.params))) return;
    if (method === 'notifications/initialized' && !this.#requests.isFirstTurn && this.#hello !== undefined) return;
    if (method === 'notifications/cancelled' && read.has(Field.requestId)) {
      const id = this.#requests.mark(read.raw(b, Field.requestId));
      return this.#pass(changedFrame(frame, read.span(Field.requestId), id));
    }
    this.#pass(frame);
  }

  #request(link: RegisteredLink, method: string, frame: Frame): void {
    const idText = read.raw(frame.b, Field.id);
    if (method === 'initialize') {
      if (this.#hello !== undefined)
        return void link.socket.write(`{"jsonrpc":"2.0","id":${idText},"result":${this.#hello}}\n`);
      this.#helloId = this.#requests.mark(idText);
    }
    const id = this.#requests.asked(idText);
    const { b, start, end } = frame;
    const changes = splice.clear().replace(read.from(Field.id), read.to(Field.id), id);
    if (read.has(Field.metaProgressToken)) {
      const token = this.#requests.mark(read.raw(b, Field.metaProgressToken));
      changes.replace(read.from(Field.metaProgressToken), read.to(Field.metaProgressToken), token);
    }
    if (!this.#stdin.write(changes.bytes(b, start, end))) link.socket.pause();
  }

  // --- towards the bridge ---

  #fromServer(frame: Frame): void {
    const { b, start, end } = frame;
    if (!read.scan(b, start, end, DEEPEST)) return;
    if (read.kind === 'response') return this.#answer(frame);
    if (read.kind === 'request') return this.#question(frame);
    if (!read.has(Field.progressToken)) return this.#tell(frame);
    const token = this.#requests.unmark(read.raw(b, Field.progressToken));
    if (token !== undefined) this.#tell(changedFrame(frame, read.span(Field.progressToken), token));
  }

  #answer(frame: Frame): void {
    const { b } = frame;
    const id = read.raw(b, Field.id);
    if (id === this.#helloId) {
      this.#helloId = undefined;
      if (read.has(Field.result)) this.#hello = b.toString('utf8', read.from(Field.result), read.to(Field.result));
    }
    const own = this.#requests.answered(id);
    if (own !== undefined) this.#tell(changedFrame(frame, read.span(Field.id), own));
  }

  #question(frame: Frame): void {
    const id = read.raw(frame.b, Field.id);
    if (this.#link === undefined) return this.#say(`{"jsonrpc":"2.0","id":${id},${GONE_ANSWER}}`);
    this.#requests.questionAsked(id);
    this.#tell(frame);
  }

  // --- bytes ---

  #pass({ b, start, end }: Frame): void {
    if (!this.#stdin.write(withNewline(b, start, end))) this.#link?.socket.pause();
  }

  #tell({ b, start, end }: Frame): void {
    if (this.#link?.socket.write(withNewline(b, start, end)) === false) this.#stdout.pause();
  }

  #say(line: string): void {
    this.#stdin.write(`${line}\n`);
  }
}

function withNewline(b: Buffer, start: number, end: number): Buffer {
  return b[end] === 0x0a ? b.subarray(start, end + 1) : Buffer.concat([b.subarray(start, end), Buffer.from('\n')]);
}

const INPUT_GRACE_MS = 500;
const TERM_GRACE_MS = 3000;
/** The time for the last output, which is still in the pipe. Another process may hold the pipe open forever. */
const OUTPUT_GRACE_MS = 200;
/** Shells add this to the number of the signal that ended a process. */
const SIGNALLED = 128;

interface Ending {
  /** A sentence about the end, without its subject. */
  readonly how: string;
  /** The exit code as a shell would report it. */
  readonly code: number;
}

export interface AttachedProcess {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves when the process runs. Rejects if it could not be started. */
  readonly started: Promise<void>;
  /** Resolves when the process has ended; never if it could not be started. */
  readonly ended: Promise<Ending>;
  hasEnded(): boolean;
  stop(): Promise<void>;
}

export function attachProcess(
  [command = '', ...args]: readonly string[],
  options: { readonly cwd: string; readonly environment: Readonly<Record<string, string | undefined>> },
): AttachedProcess {
  const child = spawn(command, args, {
    cwd: options.cwd,
    env: { ...options.environment },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  const started = new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (error) => reject(startError(command, error)));
  });
  started.catch(() => undefined); // whoever waits for it hears of it
  const ended = new Promise<Ending>((resolve) => {
    child.once('exit', (code, signal) => {
      const ending = endingOf(code, signal);
      child.once('close', () => resolve(ending));
      setTimeout(() => resolve(ending), OUTPUT_GRACE_MS);
    });
  });
  const signalAll = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch (error) {
      if (systemCode(error) !== 'ESRCH') throw error;
    }
  };
  const stop = async (): Promise<void> => {
    if (child.pid === undefined) return;
    child.stdin.end();
    const timers = [
      setTimeout(() => signalAll('SIGTERM'), INPUT_GRACE_MS),
      setTimeout(() => signalAll('SIGKILL'), INPUT_GRACE_MS + TERM_GRACE_MS),
    ];
    await ended;
    for (const timer of timers) clearTimeout(timer);
    signalAll('SIGTERM'); // ends what the process has left behind
  };
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  return { stdin: child.stdin, stdout: child.stdout, started, ended, hasEnded, stop };
}

function endingOf(code: number | null, signal: NodeJS.Signals | null): Ending {
  if (signal !== null) return { how: `was ended by ${signal}`, code: SIGNALLED + constants.signals[signal] };
  return { how: `exited with code ${code}`, code: code ?? 0 };
}

function startError(command: string, error: Error): BridgeError {
  const code = systemCode(error);
  const isAbsent = code === 'ENOENT';
  const why = isAbsent ? 'there is no such program' : (code ?? error.message);
  return new BridgeError('SERVER_START_FAILED', `${command} could not be started: ${why}`, {
    hint: isAbsent ? 'Name it by its path, or see whether it is on the PATH.' : 'Is it a program that you may run?',
    cause: error,
  });
}
