// Runs discovery in separate processes, one at a time. A process gets one request, answers it for each directory, and
// ends, so that its memory is freed. Content that must not be read twice, or can no longer be read, is kept here,
// packed.

import { type ChildProcess, spawn } from 'node:child_process';
import { Writable } from 'node:stream';
import type { FindAnswer, FindRequest } from '../discovery/finding.ts';
import type { KeptChange } from '../discovery/kept-sources.ts';
import { checkDescriptors } from '../local/descriptors.ts';
import { openAddon } from '../local/kernel-lock.ts';
import { systemCode } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import { FrameSplitter } from '../wire/frame-splitter.ts';

/** The request to a process. It contains secrets, so it is sent as JSON over stdin and nowhere else. */
export interface FinderRequest extends Omit<FindRequest, 'dir'> {
  readonly dirs: readonly string[];
  /** Content that earlier processes read while it was valid, packed. */
  readonly kept: readonly (readonly [key: string, packed: string])[];
}

/** The answer for one directory: a line of JSON on stdout. */
export type FinderAnswer = {
  readonly dir: string;
  /** The paths that the answer depends on. */
  readonly paths: readonly string[];
  /** Marks of the paths read since the last answer, each made before the path was read. */
  readonly marks: readonly (readonly [path: string, mark: string])[];
} & ({ readonly answer: FindAnswer; readonly kept: readonly KeptChange[] } | { readonly failure: string });

export interface Answered {
  readonly dir: string;
  readonly paths: readonly string[];
  readonly markOf: (path: string) => string | undefined;
}

export interface FinderProcessOptions {
  /** The name of the program, and its packed code: the package may have been removed when it is started. */
  readonly program: string;
  readonly code: Buffer;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly request: () => Omit<FindRequest, 'dir'>;
  /** Called before those who wait get the answer. */
  readonly answered: (answered: Answered) => void;
  /** Called when a process has died during a search. */
  readonly died: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Runs the packed CommonJS from descriptor 3 under the name in the first argument. */
const RUN_FROM_PIPE = `
const Module = require('node:module');
const program = new Module(process.argv[1]);
program.filename = process.argv[1];
const code = require('node:zlib').gunzipSync(require('node:fs').readFileSync(3)).toString();
program._compile(code, process.argv[1]);
program.exports.answerOnce();
`;
/** The descriptor at which a process finds the addon for the kernel's lock, if it gets one. */
export const ADDON_FD = 4;

/** The time that a process started in advance waits for its request. */
const PREPARED_MS = 10_000;
/** The time for which a process may be silent, for example because a disk does not answer. */
const MOST_SILENT_MS = 60_000;

interface Waiting {
  readonly resolve: (answer: FindAnswer) => void;
  readonly reject: (error: Error) => void;
}

type Run = 'prepared' | 'looking';

export class FinderProcess {
  readonly #options: FinderProcessOptions;
  readonly #addon = openAddon();
  /** Contents of files while they were valid, packed by the processes. */
  readonly #kept = new Map<string, string>();
  /** The searches for the next process. */
  #next = new Map<string, Waiting[]>();
  /** The searches of the running process. */
  #asked = new Map<string, Waiting[]>();
  readonly #marks = new Map<string, string>();
  #child: ChildProcess | undefined;
  #run: Run = 'prepared';
  #timer: Timer | undefined;
  #isAboutToStart = false;
  #isClosed = false;

  constructor(options: FinderProcessOptions) {
    this.#options = options;
  }

  /** Starts a process for a request that will come soon. */
  prepare(): void {
    if (this.#child === undefined && !this.#isClosed) this.#start();
  }

  /** Finds the servers of a directory. Rejects with the reason why there is no answer. */
  find(dir: string): Promise<FindAnswer> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(new Error('the daemon is stopping'));
      this.#next.set(dir, [...(this.#next.get(dir) ?? []), { resolve, reject }]);
      this.#options.logger.debug('servers are looked for', { dir });
      this.#lookSoon();
    });
  }

  /** Forgets contents of paths that no directory depends on. */
  forget(paths: readonly string[]): void {
    const left = new Set(paths);
    for (const key of this.#kept.keys()) if (left.has(key.slice(key.indexOf(' ') + 1))) this.#kept.delete(key);
  }

  close(): void {
    this.#isClosed = true;
    const child = this.#child;
    this.#over();
    child?.kill('SIGKILL');
    this.#refuse([...this.#takeAsked(), ...this.#takeNext()], 'the daemon is stopping');
  }

  /** Collects the directories of one turn of the event loop for one process. */
  #lookSoon(): void {
    const isLooking = this.#child !== undefined && this.#run === 'looking';
    if (this.#isAboutToStart || isLooking || this.#next.size === 0 || this.#isClosed) return;
    this.#isAboutToStart = true;
    setImmediate(() => {
      this.#isAboutToStart = false;
      if (!this.#isClosed) this.#look();
    });
  }

  #look(): void {
    if (this.#next.size === 0) return;
    const child = this.#child ?? this.#start();
    if (child === undefined) return;
    this.#run = 'looking';
    this.#asked = this.#next;
    this.#next = new Map();
    this.#marks.clear();
    this.#waitForWord();
    const request: FinderRequest = {
      ...this.#options.request(),
      dirs: [...this.#asked.keys()],
      kept: [...this.#kept],
    };
    child.stdin?.end(JSON.stringify(request));
  }

  #start(): ChildProcess | undefined {
    const { logger, clock } = this.#options;
    let child: ChildProcess;
    try {
      child = this.#spawn();
    } catch (error) {
      this.#unstartable(error);
      return undefined;
    }
    this.#child = child;
    this.#run = 'prepared';
    this.#timer = clock.after(PREPARED_MS, () => this.#release(child));
    child.on('error', (error) => this.#ended(child, unstartable(error)));
    child.on('close', (code, signal) => this.#exited(child, code, signal)); // all its output has been read by then
    logger.debug('a process that looks for servers', { pid: child.pid });
    return child;
  }

  #spawn(): ChildProcess {
    const { program, code, environment } = this.#options;
    checkDescriptors();
    const args = ['-e', RUN_FROM_PIPE, program, ...(this.#addon === undefined ? [] : ['addon'])];
    // In its own session: signals that a terminal sends to the daemon's group are for the daemon only.
    const child = spawn(process.execPath, args, {
      env: { ...environment },
      stdio: ['pipe', 'pipe', 'ignore', 'pipe', this.#addon ?? 'ignore'],
      detached: true,
    });
    // Killed at once: nobody can speak with it any more, and its end is awaited.
    const kill = (): void => void child.kill('SIGKILL');
    const source = child.stdio[3];
    if (source instanceof Writable) source.on('error', kill).end(code);
    child.stdin?.on('error', kill);
    child.stdout?.on('error', kill);
    const splitter = new FrameSplitter(Number.POSITIVE_INFINITY, {
      frame: (b, start, end) => this.#heard(child, JSON.parse(b.toString('utf8', start, end)) as FinderAnswer),
      overflowed: () => undefined,
      badFrame: () => undefined,
    });
    child.stdout?.on('data', (chunk: Buffer) => splitter.push(chunk));
    return child;
  }

  #waitForWord(): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(MOST_SILENT_MS, () => this.#child?.kill('SIGKILL'));
  }

  /** Ends an unused process by closing its stdin. */
  #release(child: ChildProcess): void {
    this.#over();
    child.stdin?.end();
  }

  #heard(child: ChildProcess, said: FinderAnswer): void {
    if (child !== this.#child) return;
    this.#waitForWord();
    const waiting = this.#asked.get(said.dir) ?? [];
    this.#asked.delete(said.dir);
    for (const [path, mark] of said.marks) this.#marks.set(path, mark);
    this.#options.answered({ dir: said.dir, paths: said.paths, markOf: (path) => this.#marks.get(path) });
    if ('failure' in said) return this.#refuse(waiting, said.failure);
    this.#keep(said.kept);
    for (const { resolve } of waiting) resolve(said.answer);
  }

  #keep(changes: readonly KeptChange[]): void {
    for (const [key, packed] of changes) {
      if (packed === null) this.#kept.delete(key);
      else this.#kept.set(key, packed);
    }
  }

  #exited(child: ChildProcess, code: number | null, signal: string | null): void {
    this.#ended(child, signal === null ? `has ended with code ${code}` : `was ended by ${signal}`);
  }

  #ended(child: ChildProcess, how: string): void {
    if (child !== this.#child) return;
    const waiting = this.#takeAsked();
    const hasDied = child.pid !== undefined && waiting.length > 0;
    this.#over();
    if (hasDied) this.#options.logger.error('the process that looks for servers died', { how });
    this.#refuse(waiting, `the process that looks for them ${how}`);
    if (child.pid === undefined) this.#refuse(this.#takeNext(), `the process that looks for them ${how}`);
    if (hasDied) this.#options.died();
    this.#lookSoon();
  }

  #unstartable(error: unknown): void {
    this.#refuse(this.#takeNext(), `the process that looks for them ${unstartable(error)}`);
  }

  #over(): void {
    this.#child = undefined;
    this.#marks.clear();
    this.#timer?.cancel();
  }

  #takeAsked(): Waiting[] {
    const waiting = [...this.#asked.values()].flat();
    this.#asked.clear();
    return waiting;
  }

  #takeNext(): Waiting[] {
    const waiting = [...this.#next.values()].flat();
    this.#next.clear();
    return waiting;
  }

  #refuse(waiting: readonly Waiting[], why: string): void {
    for (const { reject } of waiting) reject(new Error(why));
  }
}

function unstartable(error: unknown): string {
  return `cannot be started: ${systemCode(error) ?? 'unknown error'}`;
}
