// Gathers lines and writes them together, so that a caller neither waits for the disk nor pays for a system call. Lines
// that cannot be written are kept for a while, tried again, and counted if they are lost.

import { messageOf } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import type { LineBatch, RotatedFile } from './rotated-file.ts';

export interface LineLogOptions {
  readonly file: Pick<RotatedFile, 'append' | 'close'>;
  readonly clock: Pick<Clock, 'after'>;
  /** Makes the line that says how many lines are missing before it. */
  readonly lossLine: (lost: number) => string;
  /** Called with the reason when writing begins to fail, and without one when it works again. */
  readonly changed: (failure: string | undefined) => void;
}

/** The most time that lines wait; a killed process loses at most these. */
const GATHER_MS = 50;
/** At this size the lines are written at once. */
const ENOUGH = 256 * 1024;
const RETRY_MS = 1000;
/** The most bytes held while a slow disk is written to; the next one is the limit while writing fails. */
const MOST_HELD = 32 * 1024 * 1024;
const MOST_HELD_FAILING = 1024 * 1024;

const TOO_SLOW = 'it is written more slowly than lines come';

export class LineLog {
  readonly #options: LineLogOptions;
  readonly #gathered = new LineBuffer();
  /** The lines that are being written, or that could not be written. */
  #batch: LineBatch | undefined;
  #batchLines = 0;
  #writing: Promise<void> | undefined;
  #isClosing = false;
  #timer: Timer | undefined;
  #lostInARow = 0;
  #failure: string | undefined;
  /** The number of lines in the file; `lost` counts those that never will be. */
  written = 0;
  lost = 0;

  constructor(options: LineLogOptions) {
    this.#options = options;
  }

  /** The reason why writing fails at present; undefined while it works. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Adds a line; it includes the newline. */
  append(line: string): void {
    const most = this.#failure === undefined ? MOST_HELD : MOST_HELD_FAILING;
    if (this.#gathered.bytes + line.length > most && this.#gathered.lines > 0) return this.#lose();
    this.#gathered.add(line);
    if (this.#writing !== undefined) return; // that write takes this line too
    if (this.#timer === undefined) this.#writeIn(GATHER_MS);
    if (this.#gathered.bytes >= ENOUGH && this.#failure === undefined) void this.write();
  }

  #lose(): void {
    this.lost++;
    this.#lostInARow++;
    this.#fail(TOO_SLOW);
  }

  #writeIn(ms: number): void {
    this.#timer = this.#options.clock.after(ms, () => {
      this.#timer = undefined;
      void this.write();
    });
  }

  /** Writes the gathered lines; without any, tests that writing works. */
  write(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      // A line may have come between the last check and this one.
      if (this.#gathered.lines > 0 && this.#timer === undefined && !this.#isClosing) this.#writeIn(GATHER_MS);
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    try {
      do {
        this.#batch ??= this.#takeGathered();
        await this.#options.file.append(this.#batch);
        this.written += this.#batchLines;
        this.#gathered.giveBack(this.#batch.bytes);
        this.#batch = undefined;
        this.#succeed();
      } while (this.#gathered.bytes >= ENOUGH || (this.#isClosing && this.#gathered.lines > 0));
      if (this.#gathered.lines > 0) this.#writeIn(GATHER_MS);
    } catch (error) {
      this.#fail(messageOf(error));
      if (!this.#isClosing) this.#writeIn(RETRY_MS);
    }
  }

  #takeGathered(): LineBatch {
    this.#batchLines = this.#gathered.lines;
    return { bytes: this.#gathered.take(), done: 0 };
  }

  #fail(failure: string): void {
    if (this.#failure === undefined) this.#options.changed(failure);
    this.#failure ??= failure;
  }

  #succeed(): void {
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#options.changed(undefined);
    if (this.#lostInARow === 0) return;
    // The lines gathered meanwhile came before the lost ones.
    this.#gathered.add(this.#options.lossLine(this.#lostInARow));
    this.#lostInARow = 0;
  }

  /** Tries once to write all lines; those that cannot be written are lost. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#writing;
    if (this.#gathered.lines > 0 || this.#batch !== undefined) await this.write();
    this.#timer?.cancel();
    this.#options.file.close();
  }
}

// --- the lines that wait ---

const BLOCK_BYTES = 288 * 1024;
/** The most bytes of a character in UTF-8. */
const MOST_BYTES = 3;

/**
 * Lines as bytes, one behind the other, until all are taken at once. Each line is written once, into a block that is
 * used again: joining strings and encoding them later takes more than twice as long.
 */
class LineBuffer {
  /** Full blocks, and lines that fit into no block. */
  #pieces: Buffer[] = [];
  #pieceBytes = 0;
  #block: Buffer | undefined;
  #used = 0;
  #spare: Buffer | undefined;
  lines = 0;

  get bytes(): number {
    return this.#pieceBytes + this.#used;
  }

  add(line: string): void {
    this.lines++;
    const most = line.length * MOST_BYTES;
    if (most > BLOCK_BYTES) return this.#addPiece(Buffer.from(line));
    if (this.#block === undefined || this.#used + most > BLOCK_BYTES) this.#turnPage();
    if (this.#block !== undefined) this.#used += this.#block.utf8Write(line, this.#used);
  }

  #turnPage(): void {
    this.#endBlock();
    this.#block = this.#spare ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#spare = undefined;
  }

  #addPiece(piece: Buffer): void {
    this.#endBlock();
    this.#pieces.push(piece);
    this.#pieceBytes += piece.length;
  }

  #endBlock(): void {
    if (this.#block === undefined || this.#used === 0) return;
    this.#pieces.push(this.#block.subarray(0, this.#used));
    this.#pieceBytes += this.#used;
    this.#block = undefined;
    this.#used = 0;
  }

  /** Takes all bytes; nobody may change them before they are given back. */
  take(): Buffer {
    this.#endBlock();
    const [first, ...others] = this.#pieces;
    const taken = first === undefined ? EMPTY : others.length === 0 ? first : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.lines = 0;
    return taken;
  }

  /** Takes a buffer back that is no longer needed. */
  giveBack({ buffer, byteOffset }: Buffer): void {
    if (byteOffset === 0 && buffer.byteLength === BLOCK_BYTES) this.#spare = Buffer.from(buffer);
  }
}

const EMPTY = Buffer.alloc(0);
