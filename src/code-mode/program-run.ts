// One program from its start to its result. Counts its time, its output and its calls, ends it at a limit, and words what comes of it.
// Nothing that the process says is trusted: each word is checked here.

import type { HostAnswer, ProgramHost, ProgramRequest, ProgramServer } from '../meta-tools/programs.ts';
import type { CodeModeSettings } from '../model/settings.ts';
import { failureOf } from '../protocol/rpc-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { INTERPRETER_FAILED } from './guest.ts';
import type { Sandbox } from './sandbox.ts';
import { typeDeclarations } from './type-declarations.ts';

export interface ProgramRunOptions {
  readonly request: ProgramRequest;
  readonly host: ProgramHost;
  readonly servers: readonly ProgramServer[];
  readonly sandbox: Sandbox;
  readonly settings: CodeModeSettings;
  readonly clock: Clock;
  /** The directory of Pyodide, for a program in Python. */
  readonly pyodide?: string | undefined;
  /** The bytes of the process, if they are more than it may have; undefined where it bounds itself. */
  readonly excess?: (() => number | undefined) | undefined;
  /** The program is over. `isClean` is true if the process may run another one. */
  readonly over: (isClean: boolean) => void;
  /** Hears of errors of ours. */
  readonly failed: (error: unknown) => void;
}

/** How often the time of a program is looked at. */
const TICK_MS = 50;
const MOST_START_MS = 20_000;
const MOST_WAITING_ANSWERS = 1000;

export class ProgramRun {
  readonly #options: ProgramRunOptions;
  readonly #timeoutMs: number;
  readonly #tick: Timer;
  #lastMs: number;
  #usedMs = 0;
  /** The start of the process does not count. */
  #hasBegun = false;
  #calls = 0;
  #waiting = 0;
  #printed: string[] = [];
  #outputBytes = 0;
  #isOver = false;

  constructor(options: ProgramRunOptions) {
    this.#options = options;
    const { request, sandbox, settings, clock, pyodide } = options;
    this.#timeoutMs = Math.min(request.timeoutMs ?? settings.timeoutMs, settings.timeoutMs);
    this.#lastMs = clock.now();
    this.#tick = clock.every(TICK_MS, () => this.#look());
    sandbox.handler = {
      said: (word) => this.#said(word),
      gone: (how) => this.#gone(how),
    };
    const servers = options.servers.filter(({ name }) => request.servers?.includes(name) !== false);
    sandbox.send(
      latin1({
        run: { code: request.code, servers: JSON.stringify(servers), memoryBytes: settings.maxMemoryBytes, pyodide },
      }),
    );
  }

  /** Ends it without a result. */
  stop(): void {
    this.#finish(false);
  }

  #finish(isClean: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#tick.cancel();
    this.#options.over(isClean);
  }

  #look(): void {
    const { clock, host, excess } = this.#options;
    const now = clock.now();
    const bytes = excess?.();
    if (bytes !== undefined) return this.#memoryLimit(`${bytes} bytes`);
    if (!this.#hasBegun) {
      if (now - this.#lastMs >= MOST_START_MS) this.#end('The process of the program has not started in time', false);
      return;
    }
    if (!host.isAsking()) this.#usedMs += now - this.#lastMs;
    this.#lastMs = now;
    if (this.#usedMs >= this.#timeoutMs) this.#limit('time', `${this.#timeoutMs} ms`, 'codeMode.timeoutMs');
  }

  #memoryLimit(used: string): void {
    const setting = this.#options.request.language === 'python' ? 'maxPythonMemoryBytes' : 'maxMemoryBytes';
    this.#limit('memory', used, `codeMode.${setting}`);
  }

  #gone(how: string): void {
    if (how === 'has run out of memory') return this.#memoryLimit('all that it may have');
    this.#end(`The process of the program ${how}`, false);
  }

  #said(word: unknown): void {
    if (this.#isOver) return;
    try {
      this.#take(membersOf(word));
    } catch (error) {
      this.#options.failed(error);
      this.#end('The bridge has failed at a word of the program', false);
    }
  }

  #take(word: Readonly<Record<string, unknown>>): void {
    switch (word.is) {
      case 'ready':
        return;
      case 'begun':
        this.#hasBegun = true;
        this.#lastMs = this.#options.clock.now();
        return;
      case 'print':
        return this.#print(textOf(word.text));
      case 'call':
        return this.#call(word);
      case 'search':
      case 'describe':
        return this.#lookUp(word);
      case 'returned':
        return this.#returned(word.value);
      case 'threw':
        return this.#threw(membersOf(word.error));
      case 'limit':
        return this.#memoryLimit(`${String(word.bytes)} bytes`);
      default:
        this.#end('The process of the program has said something that makes no sense', false);
    }
  }

  #print(text: string): void {
    const left = this.#options.settings.maxOutputBytes - this.#outputBytes;
    const bytes = Buffer.byteLength(text) + 1;
    this.#outputBytes += bytes;
    if (bytes <= left) this.#printed.push(text);
    else {
      this.#printed.push(Buffer.from(text).subarray(0, Math.max(0, left)).toString());
      this.#tooMuchOutput();
    }
  }

  #tooMuchOutput(): void {
    this.#limit('output', `more than ${this.#options.settings.maxOutputBytes} bytes`, 'codeMode.maxOutputBytes');
  }

  #call({ id, server, tool, args }: Readonly<Record<string, unknown>>): void {
    const { host, settings, request } = this.#options;
    if (typeof id !== 'number')
      return this.#end('The process of the program has said something that makes no sense', false);
    if (++this.#calls > settings.maxCalls)
      return this.#limit('calls', `${settings.maxCalls} calls`, 'codeMode.maxCalls');
    const answered = this.#answers(id);
    const name = textOf(server);
    if (request.servers?.includes(name) === false)
      return answered(refusal('SERVER_NOT_FOUND', `The program was given no server ${JSON.stringify(name)}`));
    if (!isRecord(args))
      return answered(refusal('TOOL_ARGUMENTS_INVALID', `${name}.${textOf(tool)} takes one object with its arguments`));
    host.call(name, textOf(tool), latin1(args), answered);
  }

  #lookUp({ is, id, query, options, names }: Readonly<Record<string, unknown>>): void {
    const { host } = this.#options;
    if (typeof id !== 'number' || this.#waiting >= MOST_WAITING_ANSWERS)
      return this.#end('The program looks up more at once than it may', false);
    const answered = this.#answers(id);
    if (is === 'search') return host.search(textOf(query), options, answered);
    const wanted = Array.isArray(names) ? names.slice(0, MOST_WAITING_ANSWERS).map(textOf) : [];
    host.tools(wanted).then(
      (tools) => answered({ is: 'value', text: latin1(typeDeclarations(tools)) }),
      (error: unknown) => answered({ is: 'error', text: Buffer.from(failureOf(error)).toString('latin1') }),
    );
  }

  #answers(id: number): (answer: HostAnswer) => void {
    this.#waiting++;
    return ({ is, text }) => {
      this.#waiting--;
      if (!this.#isOver) this.#options.sandbox.send(`{"id":${id},"${is}":${text}}`);
    };
  }

  // --- its end ---

  #returned(value: unknown): void {
    const text = value === undefined ? undefined : typeof value === 'string' ? value : JSON.stringify(value);
    this.#outputBytes += Buffer.byteLength(text ?? '');
    if (this.#outputBytes > this.#options.settings.maxOutputBytes)
      return this.#limit(
        'output',
        `${this.#outputBytes} bytes`,
        'codeMode.maxOutputBytes',
        'Return less: filter, count or cut in the program.',
      );
    const isNothing = text === undefined && this.#printed.length === 0;
    this.#conclude(isNothing ? NOTHING : text, false, true);
  }

  #threw({ name, message, stack, code }: Readonly<Record<string, unknown>>): void {
    const [, line] = /\bprogram:(\d+)/.exec(textOf(stack)) ?? [];
    const place = line === undefined ? '' : ` (line ${line})`;
    const word = typeof code === 'string' || typeof code === 'number' ? ` [${code}]` : '';
    const source = line === undefined ? undefined : this.#options.request.code.split('\n')[Number(line) - 1];
    const shown = source === undefined ? '' : `\n${line} | ${source.slice(0, LONGEST_LINE)}`;
    const text = `${textOf(name)}: ${textOf(message)}`.slice(0, LONGEST_ERROR);
    this.#conclude(`${text}${word}${place}${shown}`, true, textOf(name) !== INTERPRETER_FAILED);
  }

  #limit(limit: string, used: string, setting: string, hint = ''): void {
    const took = `It ran for ${Math.round(this.#usedMs)} ms and made ${this.#calls} calls.`;
    this.#end(`The program was ended at its limit of ${limit}: ${used} (${setting}). ${took} ${hint}`.trim(), false);
  }

  #end(text: string, isClean: boolean): void {
    this.#conclude(text, true, isClean);
  }

  #conclude(text: string | undefined, isError: boolean, isClean: boolean): void {
    if (this.#isOver) return;
    this.#finish(isClean);
    const printed = this.#printed.join('\n');
    const content = [
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...(printed === '' ? [] : [{ type: 'text', text: `Printed:\n${printed}` }]),
    ];
    this.#options.host.ended(JSON.stringify({ content, ...(isError && { isError: true }) }));
  }
}

const NOTHING = 'The program has ended. It returned nothing and printed nothing: end it with return to get a value.';
const LONGEST_LINE = 200;
const LONGEST_ERROR = 4000;

function refusal(code: string, message: string): HostAnswer {
  return { is: 'error', text: latin1({ code: -32602, message, data: { code } }) };
}

function latin1(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('latin1');
}
