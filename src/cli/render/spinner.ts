// The line on a person's terminal while a command waits: what it waits for, and a call's progress. It is overwritten
// and finally removed. It goes to stderr, so that it never mixes with stdout; a pipe gets nothing.

import type { LogMessage, Progress } from '../../client/tool-client.ts';
import type { CliHost } from '../host.ts';
import { counted, printable } from './table.ts';

const SIGNS = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const CLEAR = '\r\u001b[K';
const STEP_MS = 100;
/** Shorter work shows nothing, because a flash helps nobody. */
const PATIENCE_MS = 300;
/** After this time, the elapsed time is shown too. */
const TIMED_MS = 2_000;
const MOST_NAMES = 3;

export class Spinner {
  readonly #stderr: CliHost['stderr'];
  readonly #width: number | undefined;
  #steps = 0;
  #isShown = false;
  #isHeld = false;

  constructor({ stderr, environment }: Pick<CliHost, 'stderr' | 'environment'>) {
    const { isTTY, columns } = stderr as { readonly isTTY?: boolean; readonly columns?: number };
    this.#stderr = stderr;
    this.#width = isTTY === true && environment.TERM !== 'dumb' ? columns || 80 : undefined;
  }

  /** True if there is a terminal. */
  get isSeen(): boolean {
    return this.#width !== undefined;
  }

  /** Shows `text` while `work` lasts. */
  async during<Result>(text: () => string, work: Promise<Result>): Promise<Result> {
    if (!this.isSeen) return work;
    const timer = setInterval(() => this.#show(text()), STEP_MS);
    this.#steps = 0;
    try {
      return await work;
    } finally {
      clearInterval(timer);
      this.clear();
    }
  }

  /** Leaves the terminal to `work`, which asks the person something. */
  async heldFor<Result>(work: Promise<Result>): Promise<Result> {
    this.clear();
    this.#isHeld = true;
    try {
      return await work;
    } finally {
      this.#isHeld = false;
    }
  }

  /** Removes the line so that lasting text can be printed; it appears again while work goes on. */
  clear(): void {
    if (this.#isShown) this.#stderr.write(CLEAR);
    this.#isShown = false;
  }

  #show(text: string): void {
    if (this.#isHeld) return;
    const ms = ++this.#steps * STEP_MS;
    if (ms < PATIENCE_MS || text === '') return this.clear();
    const time = ms < TIMED_MS ? '' : ` (${Math.floor(ms / 1000)} s)`;
    const line = `${SIGNS[this.#steps % SIGNS.length]} ${printable(text)}${time}`;
    this.#stderr.write(CLEAR + [...line].slice(0, (this.#width ?? 0) - 1).join(''));
    this.#isShown = true;
  }
}

/** The text for these servers; '' for none. */
export function waitingFor(names: readonly string[]): string {
  const [first, ...others] = names;
  if (first === undefined) return '';
  const more = names.length - MOST_NAMES;
  if (more > 0) return `Waiting for ${names.slice(0, MOST_NAMES).join(', ')} and ${counted(more, 'more server')}`;
  const last = others.pop();
  return `Waiting for ${[first, ...others].join(', ')}${last === undefined ? '' : ` and ${last}`}`;
}

/** Shows the progress of a call, and the server's log messages. */
export class ProgressLine {
  readonly #name: string;
  readonly #stderr: CliHost['stderr'];
  readonly #width: number | undefined;
  #line = '';
  /** Log messages that arrived while the person was asked something. */
  #held: LogMessage[] | undefined;

  constructor(name: string, { stderr }: CliHost) {
    const { isTTY, columns } = stderr as { readonly isTTY?: boolean; readonly columns?: number };
    this.#name = name;
    this.#stderr = stderr;
    this.#width = isTTY === true ? columns || 80 : undefined;
  }

  show({ progress, total, message }: Progress): void {
    if (this.#width === undefined || this.#held !== undefined) return;
    const share =
      total !== undefined && total > 0 ? ` of ${total} (${Math.floor((100 * (progress ?? 0)) / total)} %)` : '';
    const text = printable(`${this.#name}: ${progress ?? ''}${share} ${message}`.trim());
    this.#line = [...text].slice(0, this.#width - 1).join('');
    this.#stderr.write(CLEAR + this.#line);
  }

  /** Prints a log message of the server; it stays on the screen. */
  log(message: LogMessage): void {
    const { level, data } = message;
    if (this.#width === undefined || level === 'debug') return;
    if (this.#held !== undefined) return void this.#held.push(message);
    const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
    this.#stderr.write(`${this.#line === '' ? '' : CLEAR}${printable(`[${level}] ${text}`)}\n${this.#line}`);
  }

  /** Leaves the terminal to `work`, which asks the person something; log messages follow afterwards. */
  async heldFor<Result>(work: Promise<Result>): Promise<Result> {
    this.clear();
    this.#held = [];
    try {
      return await work;
    } finally {
      const messages = this.#held;
      this.#held = undefined;
      for (const message of messages) this.log(message);
    }
  }

  clear(): void {
    if (this.#line !== '') this.#stderr.write(CLEAR);
    this.#line = '';
  }
}
