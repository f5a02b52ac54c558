// One program from start to result. It counts time, output and calls, ends the program at a limit, and words the
// result. It trusts nothing from the process: each word is checked here.

import type { HostAnswer, ProgramHost, ProgramRequest, ProgramServer } from '../meta-tools/programs.ts';
import type { CodeModeSettings } from '../model/settings.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import { byteAt, DEEPEST, OPEN_OBJECT, skipValue, TOO_DEEP } from '../wire/json-grammar.ts';
import { CallWindow } from './call-window.ts';
import { LookUps } from './look-ups.ts';
import type { Sandbox } from './sandbox.ts';
import type { SaidWord } from './words.ts';

export interface ProgramRunOptions {
  readonly request: ProgramRequest;
  readonly host: ProgramHost;
  readonly servers: readonly ProgramServer[];
  readonly sandbox: Sandbox;
  readonly settings: CodeModeSettings;
  readonly clock: Clock;
  /** The directory of Pyodide, for a Python program. */
  readonly pyodide?: string | undefined;
  /** The process's bytes if they exceed its limit; undefined if it limits itself. */
  readonly excess?: (() => number | undefined) | undefined;
  /** The processor time that the process has used; constant if unknown. */
  readonly processorMs: () => number;
  /** Bytes of answers that this client's processes have not read. */
  readonly waitingBytes: () => number;
  /** Called when the program has ended. `isClean`: the process may run another one. */
  readonly over: (isClean: boolean) => void;
  /** Called with errors of ours. */
  readonly failed: (error: unknown) => void;
}

/** The interval at which a program's time is checked. */
const TICK_MS = 50;
const MOST_START_MS = 20_000;
const MOST_LOOK_UPS = 1000;
const LONGEST_LOOK_UP = 16 * 1024;
const MOST_NAMES = 200;
const LONGEST_THROWN = 64 * 1024;
const LONGEST_NAMES = 4096;
/** The maximum bytes of unread answers for all processes of one client. */
const MOST_UNREAD_BYTES = 64 * 1024 * 1024;
const TAB = 0x09;

export class ProgramRun {
  readonly #options: ProgramRunOptions;
  readonly #timeoutMs: number;
  readonly #tick: Timer;
  #lastMs: number;
  #usedMs = 0;
  /** False during the start of the process, which does not count as program time. */
  #hasBegun = false;
  /** The processor time at the last check, while a person is asked something. */
  #processorMs: number | undefined;
  #calls = 0;
  readonly #window: CallWindow;
  readonly #lookUps: LookUps;
  #printed: string[] = [];
  #outputBytes = 0;
  #isOver = false;

  constructor(options: ProgramRunOptions) {
    this.#options = options;
    const { request, sandbox, settings, clock, pyodide } = options;
    this.#timeoutMs = Math.min(request.timeoutMs ?? settings.timeoutMs, settings.timeoutMs);
    this.#lastMs = clock.now();
    this.#tick = clock.every(TICK_MS, () => this.#look());
    this.#window = new CallWindow({
      waitingBytes: () => sandbox.waitingBytes,
      paused: (isPaused) => (isPaused ? sandbox.pause() : sandbox.resume()),
    });
    this.#lookUps = new LookUps(options.host, request.servers);
    sandbox.handler = {
      said: (word) => this.#said(word),
      drained: () => this.#contained(() => this.#window.goOn()),
      gone: (how) => this.#gone(how),
    };
    const servers = options.servers.filter(({ name }) => request.servers?.includes(name) !== false);
    sandbox.start({
      ...{ code: request.code, servers: JSON.stringify(servers), memoryBytes: settings.maxMemoryBytes, pyodide },
    });
  }

  /** Ends it without a result. */
  stop(): void {
    this.#finish(false);
  }

  /** Ends it with this text as its result. */
  giveUp(reason: string): void {
    this.#end(reason, false);
  }

  #finish(isClean: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#tick.cancel();
    this.#window.close();
    this.#lookUps.close();
    this.#options.sandbox.resume();
    this.#options.over(isClean);
  }

  #look(): void {
    const { clock, host, excess } = this.#options;
    const now = clock.now();
    const bytes = excess?.();
    if (bytes !== undefined) return this.#memoryLimit(`${bytes} bytes in use`);
    if (!this.#hasBegun) {
      if (now - this.#lastMs >= MOST_START_MS) this.#end('The process of the program has not started in time', false);
      return;
    }
    this.#usedMs += this.#usedSince(now - this.#lastMs, host.isAsking());
    this.#lastMs = now;
    if (this.#usedMs >= this.#timeoutMs) this.#limit('time', `${this.#timeoutMs} ms`, 'codeMode.timeoutMs');
  }

  /** The part of the last interval that counts: while a person is asked, only the processor time. */
  #usedSince(passedMs: number, isAsking: boolean): number {
    const before = this.#processorMs;
    this.#processorMs = isAsking ? this.#options.processorMs() : undefined;
    if (this.#processorMs === undefined || before === undefined) return passedMs;
    return Math.min(passedMs, Math.max(0, this.#processorMs - before));
  }

  #memoryLimit(used: string): void {
    const setting = this.#options.request.language === 'python' ? 'maxPythonMemoryBytes' : 'maxMemoryBytes';
    this.#limit('memory', `${this.#options.settings[setting]} bytes, ${used}`, `codeMode.${setting}`);
  }

  #gone(how: string): void {
    if (how === 'has run out of memory') return this.#memoryLimit('all of them in use');
    this.#end(`The process of the program ${how}`, false);
  }

  #said(word: SaidWord): void {
    this.#contained(() => this.#take(word));
  }

  #contained(task: () => void): void {
    if (this.#isOver) return;
    try {
      task();
    } catch (error) {
      this.#options.failed(error);
      this.#end('The bridge has failed at a word of the program', false);
    }
  }

  #take(word: SaidWord): void {
    // It begins once, and before that it may only say that it cannot.
    if (word.kind === 'begun' ? this.#hasBegun : !this.#hasBegun && word.kind !== 'trap') return this.#nonsense();
    switch (word.kind) {
      case 'begun':
        this.#hasBegun = true;
        this.#lastMs = this.#options.clock.now();
        return;
      case 'print':
        return this.#print(textOf(decoded(word)));
      case 'call':
        return this.#call(word);
      case 'search':
      case 'describe':
        return this.#lookUp(word);
      case 'returned':
        return this.#returned(word);
      case 'threw':
        return this.#threw(word);
      case 'trap':
        return this.#end(`InterpreterError: ${textOf(membersOf(decoded(word)).message)}`, false);
      case 'limit':
        return this.#memoryLimit(`${Number(latin1Of(word))} bytes in use`);
      case 'large':
        return this.#tooLarge(latin1Of(word));
      case 'idle':
        return this.#nonsense();
    }
  }

  #nonsense(): void {
    this.#end('The process of the program has said something that makes no sense', false);
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

  /** True if the program may make one more request. */
  #mayAsk(): boolean {
    const { maxCalls } = this.#options.settings;
    if (++this.#calls <= maxCalls) return true;
    this.#limit('calls', `${maxCalls} calls`, 'codeMode.maxCalls');
    return false;
  }

  /**
   * Handles a call: ID, SERVER, TOOL and the arguments, all JSON, separated by tabs. Long arguments are not decoded.
   */
  #call({ b, from, to }: SaidWord): void {
    const { host, request } = this.#options;
    const serverFrom = placeBehindTab(b, from, to);
    const toolFrom = placeBehindTab(b, serverFrom, to);
    const argsFrom = placeBehindTab(b, toolFrom, to);
    if (argsFrom === to || argsFrom - from > LONGEST_NAMES) return this.#nonsense();
    const [id, server, tool] = decodedParts(b, from, argsFrom - 1);
    if (typeof id !== 'number' || typeof server !== 'string' || typeof tool !== 'string') return this.#nonsense();
    if (!this.#mayAsk()) return;
    const bytes = to - argsFrom;
    const answered = this.#answers(id);
    const refused = (code: string, message: string): void => void answered(refusal(code, message));
    if (request.servers?.includes(host.nameOf(server)) === false)
      return refused('SERVER_NOT_FOUND', `The program was given no server ${JSON.stringify(server)}`);
    const end = skipValue(b, argsFrom, 0, DEEPEST);
    if (end === TOO_DEEP)
      return refused('TOOL_ARGUMENTS_INVALID', `The arguments of ${server}.${tool} nest deeper than JSON may here`);
    if (end !== to || byteAt(b, argsFrom) !== OPEN_OBJECT)
      return refused('TOOL_ARGUMENTS_INVALID', `${server}.${tool} takes one object with its arguments`);
    const argumentsText = b.latin1Slice(argsFrom, to);
    this.#window.add(bytes, () =>
      host.call(server, tool, argumentsText, (answer) => {
        const sentBytes = answered(answer);
        if (!this.#isOver) this.#contained(() => this.#window.ended(bytes, sentBytes));
      }),
    );
  }

  #lookUp({ kind, b, from, to }: SaidWord): void {
    const [id, ...values] = to - from > LONGEST_LOOK_UP ? [numberAt(b, from)] : decodedParts(b, from, to);
    if (typeof id !== 'number') return this.#nonsense();
    if (!this.#mayAsk()) return;
    const answered = this.#answers(id);
    const refused = (message: string): void => void answered(refusal('TOOL_ARGUMENTS_INVALID', message));
    if (to - from > LONGEST_LOOK_UP) return refused(`${kind} takes at most ${LONGEST_LOOK_UP} bytes`);
    if (this.#lookUps.size >= MOST_LOOK_UPS) return refused('The program looks up more at once than it may');
    if (kind === 'search') return this.#lookUps.search(textOf(values[0]), values[1], answered);
    const names = Array.isArray(values[0]) ? new Set(values[0].map(textOf)) : new Set<string>();
    if (names.size > MOST_NAMES) return refused(`describe takes at most ${MOST_NAMES} names`);
    this.#lookUps.describe([...names], answered);
  }

  /** Returns a function that sends the answer to a word and returns its size. */
  #answers(id: number): (answer: HostAnswer) => number {
    return ({ is, text }) => {
      if (this.#isOver) return 0;
      const { sandbox, waitingBytes } = this.#options;
      const line = `{"id":${id},"${is}":${text}}`;
      sandbox.send(line);
      if (line.length > SMALL_ANSWER && waitingBytes() > MOST_UNREAD_BYTES)
        this.#end(
          `The program was ended because it did not read its answers: ${waitingBytes()} bytes of them waited. Start fewer calls at once.`,
          false,
        );
      return line.length;
    };
  }

  // --- end ---

  /** Passes on the returned value as the program wrote it: it is text for the model, and is not parsed here. */
  #returned(word: SaidWord): void {
    const { b, from, to } = word;
    const isText = b[from] === QUOTE;
    const text = from === to ? undefined : isText ? textOf(decoded(word)) : b.toString('utf8', from, to);
    this.#outputBytes += Buffer.byteLength(text ?? '');
    if (this.#outputBytes > this.#options.settings.maxOutputBytes) return this.#returnedTooMuch(this.#outputBytes);
    const isNothing = text === undefined && this.#printed.length === 0;
    this.#conclude(isNothing ? NOTHING : text, false, true);
  }

  #returnedTooMuch(bytes: number): void {
    const hint = 'Return less: filter, count or cut in the program.';
    this.#limit('output', `${bytes} bytes`, 'codeMode.maxOutputBytes', hint);
  }

  /** Handles a word that was too long to send: `KIND BYTES`. */
  #tooLarge(text: string): void {
    const [kind, bytes] = text.split(' ');
    if (kind === 'print') return this.#tooMuchOutput();
    if (kind === 'returned') return this.#returnedTooMuch(Number(bytes));
    this.#nonsense();
  }

  #threw(word: SaidWord): void {
    if (word.to - word.from > LONGEST_THROWN) return this.#nonsense();
    const { name, message, stack, code } = membersOf(decoded(word));
    const [, line] = /\bprogram:(\d+)/.exec(textOf(stack)) ?? [];
    const place = line === undefined ? '' : ` (line ${line})`;
    const codeWord =
      typeof code === 'string' || typeof code === 'number' ? ` [${String(code).slice(0, LONGEST_CODE)}]` : '';
    const source = line === undefined ? undefined : this.#options.request.code.split('\n')[Number(line) - 1];
    const shown = source === undefined ? '' : `\n${line} | ${source.slice(0, LONGEST_LINE)}`;
    this.#conclude(`${textOf(name)}: ${textOf(message)}${codeWord}${place}${shown}`, true, true);
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
    // Output was counted when it arrived. An error comes from the program too, and may have any length.
    const told = isError ? text?.slice(0, LONGEST_ERROR) : text;
    const content = [
      ...(told === undefined ? [] : [{ type: 'text', text: told }]),
      ...(printed === '' ? [] : [{ type: 'text', text: `Printed:\n${printed}` }]),
    ];
    this.#options.host.ended(JSON.stringify({ content, ...(isError && { isError: true }) }));
  }
}

const NOTHING = 'The program has ended. It returned nothing and printed nothing: end it with return to get a value.';
const LONGEST_LINE = 200;
const LONGEST_ERROR = 4000;
const LONGEST_CODE = 200;
/** Smaller answers are not measured, because their number is limited. */
const SMALL_ANSWER = 4096;
const QUOTE = 0x22;

/** Parses a word's text as JSON; undefined if it is invalid. */
function decoded({ b, from, to }: SaidWord): unknown {
  try {
    return JSON.parse(b.toString('utf8', from, to));
  } catch {
    return undefined;
  }
}

/** Parses the tab-separated JSON texts in b[from, to). */
function decodedParts(b: Buffer, from: number, to: number): unknown[] {
  try {
    return b
      .toString('utf8', from, to)
      .split('\t')
      .map((part): unknown => JSON.parse(part));
  } catch {
    return [];
  }
}

function latin1Of({ b, from, to }: SaidWord): string {
  return b.latin1Slice(from, Math.min(to, from + 40));
}

/** The number before the first tab. */
function numberAt(b: Buffer, from: number): number {
  return Number.parseInt(b.latin1Slice(from, from + 16), 10);
}

/** The position after the next tab; `to` if there is none. */
function placeBehindTab(b: Buffer, from: number, to: number): number {
  const at = from >= to ? -1 : b.indexOf(TAB, from);
  return at < 0 || at >= to ? to : at + 1;
}

function refusal(code: string, message: string): HostAnswer {
  return { is: 'error', text: latin1({ code: -32602, message, data: { code } }) };
}

function latin1(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('latin1');
}
