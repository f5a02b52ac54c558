// One process in which programs run. Gets its code through a pipe, because the package may have gone by the time that it is started.
// It is not trusted: what it says is read like words of a stranger, and it is killed at the first that makes no sense.

import { type ChildProcess, spawn } from 'node:child_process';
import { Writable } from 'node:stream';
import { signalGroup } from '../downstream/process-groups.ts';
import { checkDescriptors } from '../local/descriptors.ts';
import { FrameSplitter } from '../wire/frame-splitter.ts';
import { type Confinement, nodeArguments } from './confinement.ts';

export interface SandboxHandler {
  /** A word of the process: JSON that nobody has looked at. */
  said(word: unknown): void;
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
  /** Paths that the process may read. */
  readonly paths?: readonly string[];
}

/** Runs the packed CommonJS of descriptor 3. */
const RUN_FROM_PIPE = `
const Module = require('node:module');
const program = new Module('sandbox');
program.filename = 'sandbox';
program._compile(require('node:zlib').gunzipSync(require('node:fs').readFileSync(3)).toString(), 'sandbox');
program.exports.runSandbox();
`;

const NOBODY: SandboxHandler = { said: () => undefined, gone: () => undefined };

export class Sandbox {
  handler: SandboxHandler = NOBODY;
  readonly #child: ChildProcess;
  #isGone = false;

  constructor({ confinement, code, guard, maxWordBytes, heapMiB, paths = [] }: SandboxOptions) {
    checkDescriptors();
    const readable = paths.map((path) => `--allow-fs-read=${path}`);
    const { file, args } = confinement.command([...nodeArguments(heapMiB), ...readable, '-e', RUN_FROM_PIPE], paths);
    // A group of its own, which the guard ends if the daemon cannot.
    const child = spawn(file, args, { env: {}, cwd: '/', stdio: ['pipe', 'pipe', 'pipe', 'pipe'], detached: true });
    this.#child = child;
    const { pid } = child;
    if (pid !== undefined) guard.add(pid);
    const kill = (): void => this.kill();
    const source = child.stdio[3];
    if (source instanceof Writable) source.on('error', kill).end(code);
    child.stdin?.on('error', kill);
    child.stdout?.on('error', kill);
    let complaint = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(0, LONGEST_COMPLAINT);
    });
    child.stderr?.on('error', kill);
    const splitter = new FrameSplitter(maxWordBytes, {
      frame: (b, start, end) => this.#heard(b.toString('utf8', start, end)),
      overflowed: () => this.#end('has said more at once than a message may have'),
      badFrame: () => this.#end('has said something that is not UTF-8'),
    });
    child.stdout?.on('data', (chunk: Buffer) => {
      if (!this.#isGone) splitter.push(chunk);
    });
    child.on('error', () => this.#end('cannot be started'));
    child.on('exit', (status, signal) => {
      if (pid !== undefined) guard.drop(pid);
      const isOfMemory = /heap out of memory|allocation failed/i.test(complaint);
      this.#end(isOfMemory ? 'has run out of memory' : `has ended (${signal ?? status})`);
    });
  }

  /** The process that was started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isUsable(): boolean {
    return !this.#isGone;
  }

  /** Sends a line of JSON, each character one byte. */
  send(text: string): void {
    if (!this.#isGone) this.#child.stdin?.write(`${text}\n`, 'latin1');
  }

  #heard(text: string): void {
    if (this.#isGone) return;
    let word: unknown;
    try {
      word = JSON.parse(text);
    } catch {
      return this.#end('has said something that is not JSON');
    }
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
    this.#child.stdin?.destroy();
    this.#child.stdout?.destroy();
  }
}

const LONGEST_COMPLAINT = 4096;
