// One process in which programs run. Gets its code through a pipe, because the package may have gone by the time that it is started.
// It is not trusted: what it says is read like words of a stranger, and it is killed at the first that makes no sense.

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
  /** A word of the run at hand. Nobody has looked at its text. */
  said(word: SaidWord): void;
  /** The process has taken some of what waited for it. */
  drained(): void;
  /** The process is gone, or of no use any more. */
  gone(how: string): void;
}

export interface SandboxOptions {
  readonly confinement: Confinement;
  /** The packed code of the process. */
  readonly code: Buffer;
  /** Processes that must end when the daemon is killed. */
  readonly guard: { add(group: number): void; drop(group: number): void };
  readonly maxWordBytes: number;
  /** The environment of the daemon has secrets; the process gets none of it. */
  readonly heapMiB: number;
  /** Open files that whoever has started the daemon has left to it, and to all that it starts. */
  readonly inherited: readonly number[];
  /** Paths that the process may read. */
  readonly paths?: readonly string[];
  /** Reads what the process says in turn with all else in the daemon; `turn` writes what it hears. */
  readonly pacer: ReadPacer;
  readonly turn: FlushTurn;
  /** Hears of errors of ours. */
  readonly failed: (error: unknown) => void;
}

type LinkOptions = Pick<SandboxOptions, 'maxWordBytes' | 'turn' | 'pacer' | 'failed'>;

/** Closes what is not its own, and runs the packed CommonJS of descriptor 3. */
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
  /** The number of the run at hand. Words of another one make no sense. */
  #run = 0;

  constructor({ confinement, code, guard, heapMiB, inherited, paths = [], ...options }: SandboxOptions) {
    checkDescriptors();
    const readable = paths.map((path) => `--allow-fs-read=${path}`);
    const { file, args } = confinement.command(
      [...nodeArguments(heapMiB), ...readable, '-e', RUN_FROM_PIPE, ...inheritedDescriptors(inherited).map(String)],
      paths,
    );
    // A group of its own, which the guard ends if the daemon cannot.
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

  /** Begins a run. From here on, only words of this one are heard. */
  start(request: object): void {
    const run = { ...request, number: ++this.#run, mostWordBytes: this.#maxWordBytes };
    this.send(Buffer.from(JSON.stringify({ run })).toString('latin1'));
  }

  /** Sends a line of JSON, each character one byte. */
  send(text: string): void {
    if (this.#isGone || this.#link === undefined) return;
    const { outbox } = this.#link;
    outbox.latin1(text);
    outbox.endFrame();
  }

  /** Reads no further words for now. */
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

  /** Ends the process now; its handler hears no more. */
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
/** The number and the kind of a word. */
const LONGEST_HEAD = 32;
