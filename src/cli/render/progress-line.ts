// The progress of a call: one line on a person's terminal, written over and gone in the end. In a pipe
// there is nothing of it.

import type { LogMessage, Progress } from '../../client/tool-client.ts';
import type { CliHost } from '../host.ts';
import { printable } from './table.ts';

const CLEAR = '\r\u001b[K';

export class ProgressLine {
  readonly #name: string;
  readonly #stderr: CliHost['stderr'];
  readonly #width: number | undefined;
  #line = '';
  /** Log messages that came while the person was asked something. */
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

  /** Log messages of the server stay to be read. */
  log(message: LogMessage): void {
    const { level, data } = message;
    if (this.#width === undefined || level === 'debug') return;
    if (this.#held !== undefined) return void this.#held.push(message);
    const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
    this.#stderr.write(`${this.#line === '' ? '' : CLEAR}${printable(`[${level}] ${text}`)}\n${this.#line}`);
  }

  /** Leaves the terminal to `work`, which asks the person something; what the server logs meanwhile follows. */
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
