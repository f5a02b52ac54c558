// Gathers frames that follow each other in one chunk, so that they leave in one write and without a copy. A long frame
// leaves in the pieces in which it came, also in one write.

import { NEWLINE } from './bytes.ts';

const NEWLINE_BYTE = 0x0a;

export class FrameRun {
  readonly #write: (bytes: Buffer) => void;
  readonly #writeAll: (pieces: readonly Buffer[]) => void;
  #b: Buffer | undefined;
  #from = 0;
  #to = 0;

  constructor(write: (bytes: Buffer) => void, writeAll: (pieces: readonly Buffer[]) => void) {
    this.#write = write;
    this.#writeAll = writeAll;
  }

  /** The number of gathered bytes that are not written yet. */
  get bytes(): number {
    return this.#b === undefined ? 0 : this.#to - this.#from;
  }

  /** Adds a frame in b[start, end). A newline follows it, or the CR before one, which is left out. */
  add(b: Buffer, start: number, end: number): void {
    if (this.#b !== b || this.#to !== start) this.flush();
    if (b[end] !== NEWLINE_BYTE) {
      this.flush();
      this.#write(Buffer.concat([b.subarray(start, end), NEWLINE]));
      return;
    }
    if (this.#b === undefined) this.#from = start;
    this.#b = b;
    this.#to = end + 1;
  }

  /** Adds whole frames in b[start, end), with their newlines. */
  addAll(b: Buffer, start: number, end: number): void {
    if (this.#b !== b || this.#to !== start) this.flush();
    if (this.#b === undefined) this.#from = start;
    this.#b = b;
    this.#to = end;
  }

  /** Adds one frame in pieces that hold it and its newline. */
  addLong(pieces: readonly Buffer[]): void {
    this.flush();
    this.#writeAll(pieces);
  }

  flush(): void {
    const b = this.#b;
    if (b === undefined) return;
    this.#b = undefined;
    this.#write(b.subarray(this.#from, this.#to));
  }
}
