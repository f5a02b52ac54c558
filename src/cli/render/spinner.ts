// One line on a person's terminal that says what a command waits for, moves while it lasts and is gone afterwards. It is on
// stderr, so that what is read from stdout never has it; a pipe gets nothing of it.

import type { CliHost } from '../host.ts';
import { counted, printable } from './table.ts';

const SIGNS = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const CLEAR = '\r\u001b[K';
const STEP_MS = 100;
/** Work that ends sooner than this shows nothing: a flash helps nobody. */
const PATIENCE_MS = 300;
/** From here on the time is told, too. */
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

  /** True if there is a terminal to see it. */
  get isSeen(): boolean {
    return this.#width !== undefined;
  }

  /** Shows what `text` says while `work` lasts. */
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

  /** Makes room for what is to stay; the line comes again while there is something to wait for. */
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

/** '' for none. */
export function waitingFor(names: readonly string[]): string {
  const [first, ...others] = names;
  if (first === undefined) return '';
  const more = names.length - MOST_NAMES;
  if (more > 0) return `Waiting for ${names.slice(0, MOST_NAMES).join(', ')} and ${counted(more, 'more server')}`;
  const last = others.pop();
  return `Waiting for ${[first, ...others].join(', ')}${last === undefined ? '' : ` and ${last}`}`;
}
