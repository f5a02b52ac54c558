// One process that runs programs. It gets its code through a pipe, because the package may have been removed when it
// starts. It is not trusted: its words are validated, and it is killed at the first invalid one.

import { type ChildProcess, spawn } from 'node:child_process';
import { Writable } from 'node:stream';
import { signalGroup } from '../downstream/process-groups.ts';
import { checkDescriptors, inheritedDescriptors } from '../local/descriptors.ts';
import type { FlushTurn } from '../wire/outbox.ts';
import type { ReadPacer } from '../wire/read-pacer.ts';
import { StreamLink } from '../wire/stream-link.ts';
import { type Confinement, nodeArguments } from './confinement.ts';
import { readWord, type SaidWord } from './words.ts';

export interface SandboxHandler {
  /** Takes a word of the current run. Its text was not checked. */
  said(word: SaidWord): void;
  /** Called when the process has read some of its backlog. */
  drained(): void;
  /** Called when the process has gone or is useless. */
  gone(how: string): void;
}

export interface SandboxOptions {
  readonly confinement: Confinement;
  /** The packed code of the process. */
  readonly code: Buffer;
  /** Ends these process groups when the daemon is killed. */
  readonly guard: { add(group: number): void; drop(group: number): void };
  readonly maxWordBytes: number;
  /** The heap limit. The process gets none of the daemon's environment, because it holds secrets. */
  readonly heapMiB: number;
  /** File descriptors that the daemon inherited, and that its children would inherit too. */
  readonly inherited: readonly number[];
  /** Paths that the process may read. */
  readonly paths?: readonly string[];
  /** Reads the process's output in turn with other work; `turn` flushes its writes. */
  readonly pacer: ReadPacer;
  readonly turn: FlushTurn;
  /** Called with errors of ours. */
  readonly failed: (error: unknown) => void;
}

type LinkOptions = Pick<SandboxOptions, 'maxWordBytes' | 'turn' | 'pacer' | 'failed'>;

/** Closes inherited descriptors, and runs the packed CommonJS from descriptor 3. */
const RUN_FROM_PIPE = `
for (const fd of process.argv.slice(1)) try { require('node:fs').closeSync(Number(fd)) } catch {}
const Module = require('node:module');
const program = new Module('sandbox');
program.filename = 'sandbox';
program._compile(require('node:zlib').gunzipSync(require('node:fs').readFileSync(3)).toString(), 'sandbox');
program.exports.runSandbox();
`;

const NOBODY: SandboxHandler = { said: () => undefined, drained: () => undefined, gone: () => undefined };
const NONSENSE = 'has said something that makes no sense';

export class Sandbox {
  handler: SandboxHandler = NOBODY;
  readonly #child: ChildProcess;
  readonly #link: StreamLink | undefined;
  readonly #maxWordBytes: number;
  #isGone = false;
  /** The number of the current run. Words of other runs are invalid. */
  #run = 0;

  constructor({ confinement, code, guard, heapMiB, inherited, paths = [], ...options }: SandboxOptions) {
    checkDescriptors();
    const readable = paths.map((path) => `--allow-fs-read=${path}`);
    const { file, args } = confinement.command(
      [...nodeArguments(heapMiB), ...readable, '-e', RUN_FROM_PIPE, ...inheritedDescriptors(inherited).map(String)],
      paths,
    );
    // In its own group, which the guard ends if the daemon cannot.
    const child = spawn(file, args, { env: {}, cwd: '/', stdio: ['pipe', 'pipe', 'pipe', 'pipe'], detached: true });
    this.#child = child;
    const { pid } = child;
    if (pid !== undefined) guard.add(pid);
    const kill = (): void => this.kill();
    const source = child.stdio[3];
    if (source instanceof Writable) source.on('error', kill).end(code);
    let complaint = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(0, LONGEST_COMPLAINT);
    });
    child.stderr?.on('error', kill);
    this.#maxWordBytes = options.maxWordBytes;
    this.#link = this.#startLink(options);
    child.on('error', () => this.#end('cannot be started'));
    child.on('exit', (status, signal) => {
      if (pid !== undefined) guard.drop(pid);
      this.#end(reasonIn(complaint) ?? `has ended (${signal ?? status})`);
    });
  }

  #startLink({ maxWordBytes, turn, pacer, failed }: LinkOptions): StreamLink | undefined {
    const { stdin, stdout } = this.#child;
    if (stdin === null || stdout === null) return undefined;
    const link = new StreamLink(stdout, stdin, { maxFrameBytes: maxWordBytes + LONGEST_HEAD, turn, pacer });
    link.start({
      frame: (b, start, end) => this.#heard(b, start, end),
      skipped: () => this.#end(NONSENSE),
      overflowed: () => this.#end('has said more at once than it may'),
      badFrame: () => this.#end('has said something that is not UTF-8'),
      drained: () => this.handler.drained(),
      ended: () => undefined, // its exit follows
      closed: () => undefined,
      failed,
    });
    return link;
  }

  /** The process that was started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isUsable(): boolean {
    return !this.#isGone;
  }

  /** Bytes that the process has not read yet. */
  get waitingBytes(): number {
    return this.#isGone ? 0 : (this.#link?.outbox.queuedBytes ?? 0);
  }

  /** Begins a run. From here on, only its words are accepted. */
  start(request: object): void {
    const run = { ...request, number: ++this.#run, mostWordBytes: this.#maxWordBytes };
    this.send(Buffer.from(JSON.stringify({ run })).toString('latin1'));
  }

  /** Sends a line of JSON in latin1. */
  send(text: string): void {
    if (this.#isGone || this.#link === undefined) return;
    const { outbox } = this.#link;
    outbox.latin1(text);
    outbox.endFrame();
  }

  /** Pauses reading. */
  pause(): void {
    this.#link?.pause();
  }

  resume(): void {
    if (!this.#isGone) this.#link?.resume();
  }

  #heard(b: Buffer, start: number, end: number): void {
    if (this.#isGone) return;
    const word = readWord(b, start, end);
    if (word === undefined || word.run !== this.#run) return this.#end(NONSENSE);
    this.handler.said(word);
  }

  #end(how: string): void {
    if (this.#isGone) return;
    this.kill();
    this.handler.gone(how);
  }

  /** Kills the process; its handler is not called any more. */
  kill(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    signalGroup(this.#child.pid, 'SIGKILL');
    this.#link?.destroy();
  }
}

function reasonIn(complaint: string): string | undefined {
  if (/heap out of memory|allocation failed/i.test(complaint)) return 'has run out of memory';
  if (/ERR_ACCESS_DENIED|EvalError/.test(complaint))
    return 'has ended: the program tried something that is not allowed here';
  return undefined;
}

const LONGEST_COMPLAINT = 4096;
/** The maximum length of a word's number and kind. */
const LONGEST_HEAD = 32;
