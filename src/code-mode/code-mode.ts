// Runs the programs of all clients, each in a process that no other client uses. After a program, the process is kept
// for a minute for the same client, and ends with its client. The number of processes is limited.

import type { ProgramHost, ProgramRequest, Programs, RunningProgram } from '../meta-tools/programs.ts';
import type { CodeModeSettings } from '../model/settings.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { FlushTurn } from '../wire/outbox.ts';
import type { ReadPacer } from '../wire/read-pacer.ts';
import type { Confinement } from './confinement.ts';
import { processorMs, residentBytes } from './process-watch.ts';
import { ProgramRun } from './program-run.ts';
import { Sandbox, type SandboxOptions } from './sandbox.ts';
import { mostWordBytes } from './words.ts';

export { findConfinement } from './confinement.ts';

export interface CodeModeOptions {
  readonly settings: CodeModeSettings;
  readonly confinement: Confinement;
  /** The packed code of the process for JavaScript programs. */
  readonly code: Buffer;
  /** The parts that Python programs need; undefined if they are not run. */
  readonly python?: PythonPlace | undefined;
  readonly guard: SandboxOptions['guard'];
  readonly inherited: readonly number[];
  readonly pacer: ReadPacer;
  readonly turn: FlushTurn;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly failed: (error: unknown) => void;
}

interface PythonPlace {
  readonly code: Buffer;
  /** The directory of the package `pyodide`. */
  readonly pyodide: string;
}

const KEPT_MS = 60_000;
const MOST_ENDING_MS = 250;
const MOST_CODE_BYTES = 256 * 1024;
/** The fraction of running programs that one client may have; for remote users, all their clients together. */
const OWN_PART = 0.25;
const OWNERS_PART = 0.5;
/** Node's own memory, besides the interpreter's. */
const HEAP_MIB = 64;
/** The same for Python, whose interpreter uses part of it. */
const PYTHON_HEAP_MIB = 256;

interface RunningHere {
  readonly client: object;
  readonly owner: string | undefined;
  readonly sandbox: Sandbox;
  /** True while its client must come back with answers. */
  readonly isAway: () => boolean;
}

interface IdleSandbox {
  readonly sandbox: Sandbox;
  readonly client: object;
  readonly timer: Timer;
}

export class CodePrograms implements Programs {
  readonly #options: CodeModeOptions;
  readonly #running = new Map<ProgramRun, RunningHere>();
  /** Processes whose program has ended but that have not reported idle. */
  readonly #ending = new Set<Sandbox>();
  /** The clients that have run programs and are still connected. */
  readonly #clients = new WeakSet<object>();
  #isClosed = false;
  /** Least recently used first. */
  #idle: readonly IdleSandbox[] = [];

  constructor(options: CodeModeOptions) {
    this.#options = options;
    options.logger.info('programs of models are run', { confinedBy: options.confinement.name });
  }

  /** The number of processes. */
  get processes(): number {
    return this.#running.size + this.#ending.size + this.#idle.length;
  }

  run(request: ProgramRequest, host: ProgramHost): RunningProgram {
    const { settings, clock, failed } = this.#options;
    this.#refuseTooMuch(request);
    const { client } = request;
    const servers = host.servers();
    const isPython = request.language === 'python';
    const sandbox = isPython
      ? this.#startPython()
      : (this.#takeIdle(client) ?? this.#start({ code: this.#options.code, heapMiB: HEAP_MIB }));
    const run = new ProgramRun({
      ...{ request, host, servers, sandbox, settings, clock, failed },
      processorMs: () => (sandbox.pid === undefined ? 0 : processorMs(sandbox.pid)),
      waitingBytes: () => this.#waitingBytesOf(client),
      ...(isPython && { pyodide: this.#options.python?.pyodide, excess: () => this.#excessOf(sandbox) }),
      over: (wasClean) => {
        const isClean = wasClean && !isPython; // a Python program may have changed the interpreter
        this.#running.delete(run);
        if (isClean) this.#keepOnceIdle(sandbox, client);
        else sandbox.kill();
      },
    });
    this.#running.set(run, { client, owner: request.owner, sandbox, isAway: () => host.isAway() });
    this.#clients.add(client);
    return run;
  }

  #waitingBytesOf(client: object): number {
    let bytes = 0;
    for (const running of this.#running.values()) if (running.client === client) bytes += running.sandbox.waitingBytes;
    return bytes;
  }

  #refuseTooMuch({ client, owner, code }: ProgramRequest): void {
    const { maxPrograms } = this.#options.settings;
    if (Buffer.byteLength(code) > MOST_CODE_BYTES)
      throw new BridgeError('TOOL_ARGUMENTS_INVALID', `A program may have at most ${MOST_CODE_BYTES} bytes`);
    const owns = (one: RunningHere): boolean => owner !== undefined && one.owner === owner;
    const own = this.#count((one) => one.client === client);
    const isFull =
      own >= Math.ceil(maxPrograms * OWN_PART) ||
      (this.#count(owns) >= Math.ceil(maxPrograms * OWNERS_PART) && !this.#endWaiting(owns)) ||
      (this.#running.size >= maxPrograms && !this.#endWaiting(() => true));
    if (isFull)
      throw new BridgeError('CODE_BUSY', `${own} programs of this client run, and ${this.#running.size} in all`, {
        hint: 'Wait until one of them has ended, or do more in one program.',
      });
  }

  #count(isMeant: (one: RunningHere) => boolean): number {
    return [...this.#running.values()].filter(isMeant).length;
  }

  /** Ends the oldest program whose client is away; false if there is none. */
  #endWaiting(isMeant: (one: RunningHere) => boolean): boolean {
    for (const [run, one] of this.#running) {
      if (!isMeant(one) || !one.isAway()) continue;
      run.giveUp('The program was ended while it waited for its client, because others needed its place');
      return true;
    }
    return false;
  }

  #startPython(): Sandbox {
    const { python } = this.#options;
    if (python === undefined) throw new BridgeError('TOOL_DISABLED', 'Programs in Python are not run here');
    const { code, pyodide } = python;
    return this.#start({ code, heapMiB: PYTHON_HEAP_MIB, paths: [pyodide] });
  }

  #excessOf({ pid }: Sandbox): number | undefined {
    const bytes = pid === undefined ? 0 : residentBytes(pid);
    return bytes > this.#options.settings.maxPythonMemoryBytes ? bytes : undefined;
  }

  #makeRoom(): void {
    if (this.processes >= this.#options.settings.maxPrograms) this.#endIdle(this.#idle[0]);
  }

  #start(own: Pick<SandboxOptions, 'code' | 'heapMiB' | 'paths'>): Sandbox {
    const { confinement, settings, guard, inherited, pacer, turn, failed } = this.#options;
    this.#makeRoom();
    const maxWordBytes = mostWordBytes(settings.maxOutputBytes);
    return new Sandbox({ confinement, guard, inherited, maxWordBytes, pacer, turn, failed, ...own });
  }

  #takeIdle(client: object): Sandbox | undefined {
    const found = this.#idle.find((idle) => idle.client === client);
    if (found === undefined) return undefined;
    found.timer.cancel();
    this.#idle = this.#idle.filter((idle) => idle !== found);
    return found.sandbox;
  }

  /** Keeps a process once it is idle: parts of a program may run on after it has returned. */
  #keepOnceIdle(sandbox: Sandbox, client: object): void {
    this.#ending.add(sandbox);
    const late = this.#options.clock.after(MOST_ENDING_MS, () => end());
    const end = (): void => {
      late.cancel();
      this.#ending.delete(sandbox);
      sandbox.kill();
    };
    sandbox.handler = {
      said: (word) => {
        if (word.kind !== 'idle' || this.#isClosed || !this.#clients.has(client)) return end();
        late.cancel();
        this.#ending.delete(sandbox);
        this.#keep(sandbox, client);
      },
      drained: () => undefined,
      gone: end,
    };
  }

  #keep(sandbox: Sandbox, client: object): void {
    const drop = (): void => this.#drop(sandbox);
    sandbox.handler = { said: drop, drained: () => undefined, gone: drop };
    this.#endIdle(this.#idle.find((idle) => idle.client === client));
    const timer = this.#options.clock.after(KEPT_MS, () => this.#drop(sandbox));
    this.#idle = [...this.#idle, { sandbox, client, timer }];
  }

  #drop(sandbox: Sandbox): void {
    this.#endIdle(this.#idle.find((idle) => idle.sandbox === sandbox));
  }

  #endIdle(idle: IdleSandbox | undefined): void {
    if (idle === undefined) return;
    idle.timer.cancel();
    idle.sandbox.kill();
    this.#idle = this.#idle.filter((other) => other !== idle);
  }

  /** Ends the idle processes of a client that has gone. Running programs are stopped by their requests. */
  forget(client: object): void {
    this.#clients.delete(client);
    for (const idle of this.#idle.filter((one) => one.client === client)) this.#endIdle(idle);
  }

  close(): void {
    this.#isClosed = true;
    for (const sandbox of [...this.#ending]) sandbox.kill();
    for (const idle of this.#idle) this.#endIdle(idle);
    for (const run of [...this.#running.keys()]) run.stop();
  }
}
