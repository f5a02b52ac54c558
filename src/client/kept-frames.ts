// What was sent in a session and may have to be sent again: whole frames, by where they stand in its stream of bytes.
// Only references are kept. Beyond the bound the oldest are let go of: then the session cannot be resumed from there.

const NEWLINE = 0x0a;
const MOST_BYTES = 8 * 1024 * 1024;

export class KeptFrames {
  #pieces: Buffer[] = [];
  /** Where the first of them begins, and where the last one ends. */
  #from = 0;
  #to = 0;
  readonly #mostBytes: number;

  constructor(mostBytes: number = MOST_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** Bytes that were sent in this session. */
  get sentBytes(): number {
    return this.#to;
  }

  /** A new session begins. */
  reset(): void {
    this.#pieces = [];
    this.#from = 0;
    this.#to = 0;
  }

  /** `piece` has frames with their newlines, and must not change any more. */
  append(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#to += piece.length;
    // The last one stays, however long it is.
    while (this.#pieces.length > 1 && this.#to - this.#from > this.#mostBytes) this.#drop();
  }

  /** The other side has what stands before `bytes`. */
  acknowledge(bytes: number): void {
    for (
      let first = this.#pieces[0];
      first !== undefined && this.#from + first.length <= bytes;
      first = this.#pieces[0]
    )
      this.#drop();
  }

  /** What was sent from there on; undefined if that is not kept any more, or was never sent. */
  from(bytes: number): Buffer[] | undefined {
    if (bytes < this.#from || bytes > this.#to) return undefined;
    let at = this.#from;
    const behind: Buffer[] = [];
    for (const piece of this.#pieces) {
      const skipped = Math.max(0, bytes - at);
      if (skipped < piece.length) behind.push(piece.subarray(skipped));
      at += piece.length;
    }
    return behind;
  }

  #drop(): void {
    this.#from += this.#pieces.shift()?.length ?? 0;
  }
}

/** Calls back with each frame of a piece. */
export function eachFrame(piece: Buffer, use: (b: Buffer, start: number, end: number) => void): void {
  for (let start = 0; start < piece.length; ) {
    const end = piece.indexOf(NEWLINE, start);
    use(piece, start, end);
    start = end + 1;
  }
}
