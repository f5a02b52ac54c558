// The outgoing side of one stream of the limit: small pieces are copied into a block, large ones passed on as they
// are, and everything that a turn of the event loop produced leaves in one write.
// It never waits for the peer, so it must only be used with peers that read.

const BLOCK_BYTES = 65536;
const LARGE_BYTES = 8192;

let due = [];

function flushAll() {
  const writers = due;
  due = [];
  for (const writer of writers) writer.flush();
}

export class TurnBlockWriter {
  #stream;
  #block = Buffer.allocUnsafeSlow(0);
  #from = 0;
  #used = 0;
  #isDue = false;

  constructor(stream) {
    this.#stream = stream;
  }

  /** Appends a text of which each character is one byte. */
  latin1(text) {
    this.#schedule();
    this.#makeRoom(text.length);
    this.#used += this.#block.latin1Write(text, this.#used);
  }

  /** Appends b[from, to), which must not change any more. */
  bytes(b, from, to) {
    this.#schedule();
    if (to - from < LARGE_BYTES) {
      this.#makeRoom(to - from);
      this.#used += b.copy(this.#block, this.#used, from, to);
      return;
    }
    this.#emit();
    this.#stream.write(b.subarray(from, to));
  }

  flush() {
    this.#isDue = false;
    this.#emit();
    this.#stream.uncork();
  }

  #schedule() {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#stream.cork();
    if (due.length === 0) setImmediate(flushAll);
    due.push(this);
  }

  #makeRoom(bytes) {
    if (this.#used + bytes <= this.#block.length) return;
    this.#emit();
    this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#from = this.#used = 0;
  }

  #emit() {
    if (this.#used > this.#from) this.#stream.write(this.#block.subarray(this.#from, this.#used));
    this.#from = this.#used;
  }
}
