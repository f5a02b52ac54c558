// Redraws a person's terminal and leaves it as it was; to a pipe, adds each snapshot.

import { EventEmitter } from 'node:events';
import type { CliHost } from '../host.ts';
import { cut } from './table.ts';

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_REST = '\u001b[J';
/** `q`, and the characters of Ctrl-C and Ctrl-D while the terminal passes all keys on. */
const ENDING_KEYS = ['q', 'Q', '\u0003', '\u0004'];

/** One key: a character, or the sequence that a terminal sends for an arrow key and the like. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal sends.
const KEY = /\u001b[[O][\d;]*[A-Za-z~]|[\s\S]/gu;

interface Terminal extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}
interface Keyboard extends NodeJS.ReadableStream {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): void;
}

export class LiveScreen extends EventEmitter<{ ended: []; resized: [] }> {
  readonly #out: Terminal;
  readonly #keys: Keyboard;
  readonly isTerminal: boolean;
  #lines: readonly string[] = [];
  #isOpen = false;
  /** Takes a key; false if it has no meaning here and may end the program. */
  onKey: (key: string) => boolean = () => false;

  constructor({ stdin, stdout }: Pick<CliHost, 'stdin' | 'stdout'>) {
    super();
    this.#out = stdout as unknown as Terminal;
    this.#keys = stdin as unknown as Keyboard;
    this.isTerminal = this.#out.isTTY === true;
  }

  open(): void {
    this.#isOpen = true;
    this.#out.on('error', this.#end); // the reader of the pipe has gone
    if (!this.isTerminal) return;
    this.#out.on('resize', this.#resize);
    this.#out.write(ENTER);
    if (this.#keys.isTTY !== true) return;
    this.#keys.setRawMode?.(true);
    this.#keys.on('data', this.#pressed);
  }

  /** The size that fits; unlimited for a pipe. */
  get size(): { readonly columns: number; readonly rows: number } {
    const { columns = 80, rows = 24 } = this.#out;
    return { columns, rows };
  }

  show(lines: readonly string[]): void {
    if (!this.#isOpen) return;
    this.#lines = lines;
    if (this.isTerminal) this.#draw();
    else this.#out.write(`${lines.join('\n')}\n\n`);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (!this.isTerminal) return;
    this.#out.off('resize', this.#resize);
    this.#out.write(LEAVE);
    if (this.#keys.isTTY !== true) return;
    this.#keys.off('data', this.#pressed);
    this.#keys.setRawMode?.(false);
    this.#keys.pause();
  }

  readonly #end = (): void => void this.emit('ended');

  /** Draws again for a new size, or cuts the same lines to it. */
  readonly #resize = (): void => {
    if (!this.emit('resized')) this.#draw();
  };

  readonly #pressed = (keys: Buffer | string): void => {
    for (const [key] of String(keys).matchAll(KEY)) if (!this.onKey(key) && ENDING_KEYS.includes(key)) this.#end();
  };

  readonly #draw = (): void => {
    const { columns = 80, rows = 24 } = this.#out;
    // Cleared before writing: after a full line, clearing would remove its last character.
    const lines = fitting(this.#lines, rows).map((line) => CLEAR_LINE + cut(line, columns));
    this.#out.write(HOME + lines.join('\n') + (lines.length < rows ? `\n${CLEAR_REST}` : ''));
  };
}

/** The lines that fit. The last one always stays, and says how many are hidden. */
function fitting(lines: readonly string[], rows: number): readonly string[] {
  if (lines.length <= rows) return lines;
  const hidden = lines.slice(rows - 1, -1).filter((line) => line !== '').length;
  return [...lines.slice(0, rows - 1), `${lines.at(-1) ?? ''}; lines not shown: ${hidden}`];
}
