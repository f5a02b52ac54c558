// A sink for an outbox that keeps every piece it was given, by reference and as a copy, and takes as much as it is told.

import type { ByteSink } from '../../src/wire/outbox.ts';

export class RecordingSink implements ByteSink {
  readonly #pieces: { readonly given: Uint8Array; readonly copy: Buffer }[] = [];
  #corks = 0;
  #pending = 0;
  /** True while written bytes stay with the sink until take(). */
  isBlocked = false;
  /** True for a sink like a socket: it reads the memory of waiting bytes until they are taken, and never after. */
  letsGo = false;
  /** False once bytes were changed before they were taken. */
  #isTakenIntact = true;
  /** The pieces that were taken as a whole, and the bytes taken of the next one. */
  #takenPieces = 0;
  #takenOfNext = 0;
  writableLength = 0;
  /** How often bytes left: each uncork with something pending, and each write without a cork. */
  flushes = 0;

  write(bytes: Uint8Array): boolean {
    this.#pieces.push({ given: bytes, copy: Buffer.from(bytes) });
    if (this.isBlocked || this.writableLength > 0) this.writableLength += bytes.length;
    else this.#takenPieces = this.#pieces.length;
    if (this.#corks === 0) this.flushes++;
    else this.#pending++;
    return !this.isBlocked;
  }
  cork(): void {
    this.#corks++;
  }
  uncork(): void {
    if (--this.#corks > 0 || this.#pending === 0) return;
    this.#pending = 0;
    this.flushes++;
  }

  /** The peer takes this many of the bytes that wait. */
  take(bytes: number): void {
    let left = Math.min(bytes, this.writableLength);
    this.writableLength -= left;
    while (left > 0) {
      const piece = this.#pieces[this.#takenPieces];
      if (piece === undefined) throw new Error('more was taken than was written');
      const from = this.#takenOfNext;
      const to = Math.min(piece.copy.length, from + left);
      this.#isTakenIntact &&= piece.copy.subarray(from, to).equals(piece.given.subarray(from, to));
      left -= to - from;
      this.#takenOfNext = to;
      if (to < piece.copy.length) break;
      this.#takenPieces++;
      this.#takenOfNext = 0;
    }
  }

  get corks(): number {
    return this.#corks;
  }
  get writes(): number {
    return this.#pieces.length;
  }
  /** Everything that was written, as it was when it was written. */
  get bytes(): Buffer {
    return Buffer.concat(this.#pieces.map(({ copy }) => copy));
  }
  get text(): string {
    return this.bytes.toString('utf8');
  }
  /** True if no piece was changed while the sink had a right to it. */
  get isIntact(): boolean {
    if (this.letsGo) return this.#isTakenIntact;
    return this.#pieces.every(({ given, copy }) => copy.equals(given));
  }
}

/** The `defer` of a FlushTurn that waits for the test to say when a turn ends. */
export class ManualTurn {
  readonly #deferred: (() => void)[] = [];
  /** How often a flush was asked for. */
  asked = 0;
  readonly defer = (flush: () => void): void => {
    this.asked++;
    this.#deferred.push(flush);
  };
  end(): void {
    for (const flush of this.#deferred.splice(0)) flush();
  }
}
