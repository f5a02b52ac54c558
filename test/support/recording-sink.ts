// A sink for an outbox that keeps every piece it was given, by reference and as a copy, and takes as much as it is told.

import type { ByteSink } from '../../src/wire/outbox.ts';

export class RecordingSink implements ByteSink {
  readonly #pieces: { readonly given: Uint8Array; readonly copy: Buffer }[] = [];
  #corks = 0;
  #pending = 0;
  /** Whether written bytes stay with the sink until take(). */
  isBlocked = false;
  writableLength = 0;
  /** How often bytes left: each uncork with something pending, and each write without a cork. */
  flushes = 0;

  write(bytes: Uint8Array): boolean {
    this.#pieces.push({ given: bytes, copy: Buffer.from(bytes) });
    if (this.isBlocked) this.writableLength += bytes.length;
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
    this.writableLength -= Math.min(bytes, this.writableLength);
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
  /** Whether no piece was changed after it was written. */
  get isIntact(): boolean {
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
