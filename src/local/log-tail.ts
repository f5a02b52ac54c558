// Reads the end of a log and all later lines, even if the log is renamed to FILE.1 meanwhile (bounded-log). The bytes
// before the last position tell if the file is still the same. It never writes.

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { BridgeError, systemCode } from '../util/bridge-error.ts';

const READ = constants.O_RDONLY | constants.O_NONBLOCK;
const PIECE_BYTES = 64 * 1024;
/** The number of bytes that identify the position: one log line, which holds its time, or most of one. */
const KNOWN_BYTES = 256;
const NEWLINE = 0x0a;

export class LogTail {
  readonly #path: string;
  #position = 0;
  /** The bytes before the position. */
  #known = Buffer.alloc(0);
  /** A line that is not complete yet. */
  #begun = Buffer.alloc(0);
  readonly #isWanted: (line: string) => boolean;

  /** Lines that `isWanted` refuses are left out, and not counted. */
  constructor(path: string, isWanted: (line: string) => boolean = () => true) {
    this.#path = path;
    this.#isWanted = isWanted;
  }

  /** Returns the last `count` lines; `more` continues behind them. Undefined if there is no log. */
  last(count: number): string[] | undefined {
    for (let most = count; ; most *= 4) {
      this.#begun = NOTHING;
      const all = this.#lastOfAll(most);
      const wanted = all?.filter(this.#isWanted);
      if (all === undefined || wanted === undefined) return undefined;
      if (wanted.length >= count || all.length < most) return wanted.slice(Math.max(0, wanted.length - count));
    }
  }

  #lastOfAll(count: number): string[] | undefined {
    const file = tailOf(this.#path, count);
    if (file === undefined) return undefined;
    this.#stand(file.end, file.bytes);
    const lines = this.#linesIn(file.bytes);
    const missing = count - lines.length;
    const before = missing > 0 && file.isAll ? (tailOf(`${this.#path}.1`, missing)?.bytes ?? NOTHING) : NOTHING;
    const all = [...linesOf(before), ...lines];
    return all.slice(Math.max(0, all.length - count));
  }

  /** Returns the lines written since the last call. If the log has been removed, it waits for a new one. */
  more(): string[] {
    return this.#moreOfAll().filter(this.#isWanted);
  }

  #moreOfAll(): string[] {
    const known = this.#known;
    const bytes = bytesFrom(this.#path, this.#position - known.length);
    if (bytes === undefined) return [];
    if (startsWith(bytes, known)) {
      this.#stand(this.#position + bytes.length - known.length, bytes);
      return this.#linesIn(bytes.subarray(known.length));
    }
    return [...this.#linesIn(this.#putAside(known)), ...this.#fromStart()];
  }

  /** Reads the rest of the file that was renamed. */
  #putAside(known: Buffer): Buffer {
    const old = bytesFrom(`${this.#path}.1`, this.#position - known.length) ?? NOTHING;
    return startsWith(old, known) ? old.subarray(known.length) : NOTHING;
  }

  #fromStart(): string[] {
    this.#begun = NOTHING;
    const bytes = bytesFrom(this.#path, 0) ?? NOTHING;
    this.#stand(bytes.length, bytes);
    return this.#linesIn(bytes);
  }

  #stand(position: number, before: Buffer): void {
    this.#position = position;
    this.#known = Buffer.from(before.subarray(-KNOWN_BYTES));
  }

  #linesIn(bytes: Buffer): string[] {
    const all = Buffer.concat([this.#begun, bytes]);
    const end = all.lastIndexOf(NEWLINE) + 1;
    this.#begun = Buffer.from(all.subarray(end));
    return linesOf(all.subarray(0, end));
  }
}

const NOTHING = Buffer.alloc(0);

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.length >= start.length && bytes.subarray(0, start.length).equals(start);
}

function linesOf(bytes: Buffer): string[] {
  return bytes.toString('utf8').split('\n').slice(0, -1);
}

/** The bytes of the last `count` lines; undefined if there is no such file. */
function tailOf(path: string, count: number): { bytes: Buffer; end: number; isAll: boolean } | undefined {
  return reading(path, (fd, size) => {
    let start = size;
    let bytes = NOTHING;
    while (start > 0 && newlinesIn(bytes) <= count) {
      const length = Math.min(Math.max(PIECE_BYTES, bytes.length), start);
      start -= length;
      bytes = Buffer.concat([readAt(fd, start, length), bytes]);
    }
    return { bytes, end: size, isAll: start === 0 };
  });
}

function newlinesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

function bytesFrom(path: string, position: number): Buffer | undefined {
  return reading(path, (fd, size) => readAt(fd, position, Math.max(0, size - position)));
}

function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const count = readSync(fd, bytes, done, length - done, position + done);
    if (count === 0) break; // it was emptied just now
    done += count;
  }
  return bytes.subarray(0, done);
}

function reading<Result>(path: string, read: (fd: number, size: number) => Result): Result | undefined {
  try {
    const fd = openSync(path, READ);
    try {
      const stat = fstatSync(fd);
      return stat.isFile() ? read(fd, stat.size) : undefined;
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    const code = systemCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    if (code === undefined) throw error;
    throw new BridgeError('FILE_UNUSABLE', `Cannot read the log ${path}: ${code}`, {
      hint: 'See: mcp-bridge doctor',
      cause: error,
    });
  }
}
