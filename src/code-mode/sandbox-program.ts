// The process that runs programs of models, one after another, each in its own interpreter. It speaks lines of JSON on
// stdin and stdout. It limits only the interpreter's memory: the daemon watches everything else, trusts no line from
// here, and ends the process.

import { read, readSync, writeSync } from 'node:fs';
import { setPriority } from 'node:os';
import { StringDecoder } from 'node:string_decoder';
import variant from '@jitl/quickjs-wasmfile-release-sync';
import wasm from '@jitl/quickjs-wasmfile-release-sync/wasm';
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
} from 'quickjs-emscripten-core';
import { transform } from 'sucrase';
import { type GuestError, guest } from './guest.ts';
import { Speaker } from './words.ts';

/** A request of the daemon. */
export interface RunRequest {
  readonly code: string;
  /** JSON: the servers with names and descriptions. */
  readonly servers: string;
  readonly memoryBytes: number;
  readonly number: number;
  readonly mostWordBytes: number;
}

const PAGE = 64 * 1024;
/** The interpreter's own memory, without a program. */
const LEAST_PAGES = 256;
/** Deeper recursion ends in an error, before the process's stack overflows. */
const STACK_BYTES = 256 * 1024;
/** The number of jobs after which the program's end is checked. */
const MOST_JOBS = 100;

/** Writes lines synchronously: a stream would take twice as long, and buffer the output of an endless program. */
function write(text: string): void {
  let left = Buffer.from(text);
  try {
    while (left.length > 0) left = left.subarray(writeSync(1, left));
  } catch {
    process.exit(0); // the daemon has ended
  }
}

const compiled = new WebAssembly.Module(wasm);

/** An interpreter with the globals of programs, for one program. */
interface Interpreter {
  readonly context: QuickJSContext;
  readonly start: QuickJSHandle;
  readonly receive: QuickJSHandle;
  readonly awaited: QuickJSHandle;
  readonly memory: WebAssembly.Memory;
  readonly mostBytes: number;
  /** The program running in it. */
  program: Program | undefined;
}

async function makeInterpreter(memoryBytes: number): Promise<Interpreter> {
  const maximum = Math.max(LEAST_PAGES, Math.floor(memoryBytes / PAGE));
  const memory = new WebAssembly.Memory({ initial: LEAST_PAGES, maximum });
  const module = await newQuickJSWASMModuleFromVariant(
    newVariant(variant as unknown as QuickJSSyncVariant, { wasmModule: compiled, wasmMemory: memory }),
  );
  const runtime = module.newRuntime();
  runtime.setMaxStackSize(STACK_BYTES);
  const context = runtime.newContext();
  const say = context.newFunction('send', (kind, text) => {
    const isTaken = made.program?.say(context.getString(kind), context.getString(text));
    return isTaken === false ? context.false : context.true;
  });
  const wait = context.newFunction('wait', (id, ms) =>
    made.program?.wait(context.getNumber(id), context.getNumber(ms)),
  );
  const host = context.newObject();
  context.setProp(host, 'send', say);
  context.setProp(host, 'wait', wait);
  const make = context.unwrapResult(context.evalCode(`(${guest.toString()})`, 'guest'));
  const globals = context.unwrapResult(context.callFunction(make, context.undefined, host));
  const made: Interpreter = {
    context,
    start: context.getProp(globals, 'start'),
    receive: context.getProp(globals, 'receive'),
    awaited: context.getProp(globals, 'awaited'),
    memory,
    mostBytes: maximum * PAGE,
    program: undefined,
  };
  return made;
}

class Program {
  readonly #parts: Interpreter;
  readonly #context: QuickJSContext;
  readonly #speaker: Speaker;
  readonly #over: () => void;
  readonly #timers = new Set<NodeJS.Timeout>();
  #isOver = false;
  /** The number of unanswered words to the daemon. */
  #asked = 0;

  /** `over` is called once, when the program has ended and nothing of it runs. */
  constructor(interpreter: Interpreter, speaker: Speaker, over: () => void) {
    this.#parts = interpreter;
    this.#context = interpreter.context;
    this.#speaker = speaker;
    this.#over = over;
    interpreter.program = this;
  }

  start(code: string, servers: string): void {
    const context = this.#context;
    this.#do(() => {
      const program = context.evalCode(`(async () => {${code}\n})`, 'program');
      if (program.error !== undefined) return program;
      return context.callFunction(this.#parts.start, context.undefined, program.value, context.newString(servers));
    });
  }

  /** True if timers are pending. */
  get hasTimers(): boolean {
    return this.#timers.size > 0 && !this.#isOver;
  }

  /** Sends a word of the guest; false if it is too long. Nothing may follow a program's end. */
  say(kind: string, text: string): boolean {
    if (this.#isOver) return true;
    if (kind === 'threw' && this.#isOutOfMemory(text)) {
      this.#isOver = true;
      this.#saidLimit();
      return true;
    }
    const saying = this.#speaker.sayForProgram(kind, text);
    if (saying === 'last') this.#isOver = true;
    if (saying === 'asked') this.#asked++;
    return saying !== 'too-long';
  }

  /** True if memory ran out. Without memory for an error object, the interpreter throws null. */
  #isOutOfMemory(text: string): boolean {
    const { memory, mostBytes } = this.#parts;
    if (text.startsWith('{"name":"InternalError","message":"out of memory"')) return true; // also thrown for a single object that is too large
    return /out of memory|"message":"null"/.test(text) && memory.buffer.byteLength > mostBytes / 2;
  }

  #saidLimit(): void {
    this.#speaker.say('limit', String(this.#parts.memory.buffer.byteLength));
  }

  wait(id: number, ms: number): void {
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        this.#receive(JSON.stringify({ timer: id }));
      },
      Math.max(0, Math.min(ms, 0x7fffffff)),
    );
    this.#timers.add(timer);
  }

  /** Called when nothing of the program runs any more. */
  #end(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#parts.program = undefined;
    this.#over();
  }

  /** Takes an answer. */
  answered(text: string): void {
    this.#asked--;
    this.#receive(text);
  }

  #receive(text: string): void {
    if (this.#isOver) return;
    this.#do(() => {
      const handle = this.#context.newString(text);
      const result = this.#context.callFunction(this.#parts.receive, this.#context.undefined, handle);
      handle.dispose();
      return result;
    });
  }

  #do(task: () => ReturnType<QuickJSContext['callFunction']>): void {
    try {
      const result = task();
      if (result.error === undefined) this.#runJobs();
      else this.#broke(this.#context.dump(result.error));
      result.dispose();
    } catch (error) {
      this.#broke(error);
    }
    if (this.#isOver) this.#end();
  }

  /** Runs pending jobs, but none after the program has ended. */
  #runJobs(): void {
    const { runtime } = this.#context;
    for (let isMore = true; isMore && !this.#isOver; ) {
      const done = runtime.executePendingJobs(MOST_JOBS);
      if (done.error !== undefined) return this.#broke(this.#context.dump(done.error));
      isMore = done.value === MOST_JOBS;
    }
    if (this.#isOver || this.#asked > 0) return;
    const awaited = this.#context.unwrapResult(
      this.#context.callFunction(this.#parts.awaited, this.#context.undefined),
    );
    const isStuck = this.#context.getNumber(awaited) === 0;
    awaited.dispose();
    if (isStuck) this.#broke({ name: 'Error', message: 'The program waits for something that never comes' });
  }

  #broke(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // Errors thrown by the interpreter are not Node errors. A Node error means a trap, and nothing more may run here.
    if (error instanceof Error) return this.#speaker.say('trap', JSON.stringify({ message: trapIn(error) }));
    const { name, message, stack } = (error ?? {}) as Partial<GuestError>;
    const told = {
      name: typeof name === 'string' ? name.slice(0, 200) : 'Error',
      message: (typeof message === 'string' ? message : String(error)).slice(0, 4000),
      ...(typeof stack === 'string' && { stack: stack.slice(0, 4000) }),
    };
    const text = JSON.stringify(told);
    if (this.#isOutOfMemory(text)) this.#saidLimit();
    else this.#speaker.say('threw', text);
  }
}

function trapIn({ message }: Error): string {
  return /call stack/.test(message) ? 'The program nests deeper than the interpreter can follow' : message;
}

interface ParseFault {
  readonly message: string;
  readonly line: number | undefined;
}

/** Removes type annotations. */
function plainCode(code: string): string | ParseFault {
  try {
    return transform(code, { transforms: ['typescript'], disableESTransforms: true, keepUnusedImports: true }).code;
  } catch (error) {
    const { message, loc } = error as { message: string; loc?: { line: number } };
    return { message: message.replace(/ \(\d+:\d+\)$/, ''), line: loc?.line };
  }
}

/** The fault in the interpreter's words, which name what it expected more often; undefined if it fails elsewhere. */
function wordedBy({ context }: Interpreter, code: string, line: number | undefined): string | undefined {
  const made = context.evalCode(`(async () => {${code}\n})`, 'program');
  if (made.error === undefined) return undefined;
  const { message, stack } = (context.dump(made.error) ?? {}) as Partial<GuestError>;
  if (typeof message !== 'string' || !String(stack).includes(`program:${line}`)) return undefined;
  return message
    .slice(0, 400)
    .replace(/^unexpected token in expression: (.*)$/, 'expected an expression, and not $1')
    .replace(/^expecting /, 'expected ');
}

/** Runs programs one after another. */
class Runner {
  #current: Program | undefined;
  /** An interpreter prepared in advance. */
  #spare: Promise<Interpreter> | undefined;

  /** True while the running program can do nothing until an answer arrives. */
  get onlyWaits(): boolean {
    return this.#current?.hasTimers === false;
  }

  take(line: string): void {
    if (!line.startsWith('{"run":')) return this.#current?.answered(line);
    this.#current = undefined;
    const { run } = JSON.parse(line) as { run: RunRequest };
    const speaker = new Speaker(run.number, run.mostWordBytes, write);
    this.#run(run, speaker).catch((error: unknown) =>
      speaker.say(
        'trap',
        JSON.stringify({ message: `The interpreter cannot be started: ${(error as Error).message}` }),
      ),
    );
  }

  async #run({ code, servers, memoryBytes }: RunRequest, speaker: Speaker): Promise<void> {
    speaker.say('begun'); // the program's time counts from here
    const plain = plainCode(code);
    const interpreter = await (this.#spare ?? makeInterpreter(memoryBytes));
    this.#spare = undefined;
    if (typeof plain !== 'string') {
      const { message, line } = plain;
      const worded = /\bexpected/.test(message) ? undefined : wordedBy(interpreter, code, line);
      const told = { name: 'SyntaxError', message: worded === undefined ? message : `${message}: ${worded}` };
      speaker.say('threw', JSON.stringify({ ...told, ...(line !== undefined && { stack: `program:${line}` }) }));
      return speaker.say('idle');
    }
    this.#current = new Program(interpreter, speaker, () => {
      this.#current = undefined;
      speaker.say('idle');
      setImmediate(() => {
        this.#spare ??= makeInterpreter(memoryBytes);
      });
    });
    this.#current.start(plain, servers);
  }
}

const READ_BYTES = 64 * 1024;

/** Reads lines from stdin. It blocks if nothing else can happen, because a stream costs twice as much per answer. */
class Input {
  readonly #runner: Runner;
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  /** Reads while nothing else can happen, and again later. */
  readOn(): void {
    let isDisturbed = false;
    while (this.#runner.onlyWaits && !isDisturbed) isDisturbed = !this.#readNow();
    read(0, this.#buffer, 0, READ_BYTES, null, (error, count) => {
      if (error === null) this.#took(count);
      else if (!isPassing(error)) process.exit(0);
      this.readOn();
    });
  }

  /** Returns false if it was interrupted before anything arrived. */
  #readNow(): boolean {
    let count = 0;
    try {
      count = readSync(0, this.#buffer, 0, READ_BYTES, null);
    } catch (error) {
      if (!isPassing(error)) process.exit(0);
      return false;
    }
    this.#took(count);
    return true;
  }

  #took(count: number): void {
    if (count === 0) process.exit(0); // the daemon has ended
    const lines = (this.#rest + this.#decoder.write(this.#buffer.subarray(0, count))).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#runner.take(line);
  }
}

/** True for temporary errors: a signal arrived, or there is no data yet. */
function isPassing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EINTR' || code === 'EAGAIN';
}

/** Runs the process until stdin ends. */
export function runSandbox(): void {
  setPriority(10); // servers and clients of the machine have priority
  new Input(new Runner()).readOn();
}
