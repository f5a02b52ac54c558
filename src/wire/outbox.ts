// The bytes on their way out of one link: everything written in one turn of the event loop leaves in one write.
//
//   block   [ written ....... | gathered this turn ...... | free ............ ]
//                             ^ from                      ^ used
//
// Small pieces are copied into a block, large ones are passed on as they are. Bytes of a block are overwritten only
// when the sink no longer uses them: then the block goes back to the shelf, and another link fills it. If a sink never
// reports that, the next link continues after its bytes. A link that has to wait keeps its block; otherwise each of its
// small frames would pin another one.

/** The part of a stream.Writable that is used here. */
export interface ByteSink {
  write(bytes: Uint8Array): boolean;
  cork(): void;
  uncork(): void;
  readonly writableLength: number;
  /** True if it keeps none of the given memory, even while bytes wait. */
  readonly copies?: boolean;
  /** True if it frees the memory of bytes that no longer wait. */
  readonly letsGo?: boolean;
}

/** The maximum length of a written piece of a block. */
export const BLOCK_BYTES = 16_384;
/** From this size on, passing bytes on costs less than copying. */
const LARGE_PIECE = 4096;
/**
 * Up to this length, a loop copies text or bytes faster than a call into Node, which first makes a view. Ids are that
 * short, and so is the part of a frame before the id.
 */
const SHORT_PIECE = 32;
const NEWLINE = 0x0a;
/** A block with less room than this is not worth keeping. */
const LEAST_ROOM = 1024;
/**
 * After this many blocks the turn is flushed early: otherwise a message to ten thousand clients would need that many
 * blocks.
 */
const MOST_BLOCKS = 64;

class Block {
  readonly bytes = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  used = 0;
  /** The bytes before this position belong to a sink that never reports when it has freed them. */
  pinned = 0;
}

/** Flushes all outboxes of a process together, once a turn. */
export class FlushTurn {
  readonly #defer: (flush: () => void) => void;
  readonly #failed: (error: unknown) => void;
  readonly #shelf: Block[] = [];
  #dirty: Outbox[] = [];
  #isDue = false;
  #blocksTaken = 0;

  /** `failed` is called with an error of one outbox, which is closed then; all others go on. */
  constructor(defer: (flush: () => void) => void = setImmediate, failed: (error: unknown) => void = () => undefined) {
    this.#defer = defer;
    this.#failed = failed;
  }

  add(outbox: Outbox): void {
    this.#dirty.push(outbox);
    if (this.#isDue) return;
    this.#isDue = true;
    this.#defer(() => {
      this.#isDue = false;
      this.flush();
    });
  }

  takeBlock(): Block {
    if (this.#blocksTaken >= MOST_BLOCKS) this.flush();
    this.#blocksTaken++;
    return this.#shelf.pop() ?? new Block();
  }

  /** Takes back a block whose bytes may still be on their way. */
  giveBack(block: Block): void {
    block.pinned = block.used;
    this.#put(block);
  }

  /** Takes back a block whose bytes have left. */
  giveBackFree(block: Block): void {
    block.used = block.pinned;
    this.#put(block);
  }

  #put(block: Block): void {
    if (BLOCK_BYTES - block.used >= LEAST_ROOM && this.#shelf.length < MOST_BLOCKS) this.#shelf.push(block);
  }

  /** Drops the blocks on the shelf: a busy moment may have needed many. */
  dropShelf(): void {
    this.#shelf.length = 0;
  }

  /** Writes everything gathered in this turn so far. */
  flush(): void {
    const due = this.#dirty;
    this.#dirty = [];
    this.#blocksTaken = 0;
    for (const outbox of due) this.#flushOne(outbox);
  }

  #flushOne(outbox: Outbox): void {
    try {
      outbox.flush();
    } catch (error) {
      outbox.close();
      this.#failed(error);
    }
  }
}

export class Outbox {
  readonly sink: ByteSink;
  readonly turn: FlushTurn;
  #block: Block | undefined;
  #from = 0;
  /** Full blocks whose bytes may wait in the sink, with the total byte count at the end of each. */
  #spent: { readonly block: Block; readonly endsAt: number }[] | undefined;
  #appendedBytes = 0;
  #isCorked = false;
  #isDirty = false;
  #isClosed = false;

  constructor(sink: ByteSink, turn: FlushTurn) {
    this.sink = sink;
    this.turn = turn;
  }

  /** Bytes that the peer has not read yet. */
  get queuedBytes(): number {
    return this.sink.writableLength + (this.#block === undefined ? 0 : this.#block.used - this.#from);
  }

  /** The bytes that were written but not accepted by the kernel; `drained` follows once they are. */
  get blockedBytes(): number {
    return this.sink.writableLength;
  }

  /** The number of bytes since the link began. */
  get appendedBytes(): number {
    return this.#appendedBytes;
  }

  /** The number of bytes that the peer has read since the link began. */
  get takenBytes(): number {
    return this.#appendedBytes - this.queuedBytes;
  }

  /** Appends a text in latin1. */
  latin1(text: string): void {
    if (text.length > LARGE_PIECE) return this.bytes(Buffer.from(text, 'latin1'), 0, text.length);
    const block = this.#room(text.length);
    if (text.length > SHORT_PIECE) block.bytes.latin1Write(text, block.used);
    else writeShort(block, text);
    block.used += text.length;
    this.#appendedBytes += text.length;
  }

  utf8(text: string): void {
    const encoded = Buffer.from(text);
    this.bytes(encoded, 0, encoded.length);
  }

  /** Appends b[from, to), which must not change after this. */
  bytes(b: Buffer, from: number, to: number): void {
    if (to - from < LARGE_PIECE) {
      const block = this.#room(to - from);
      if (to - from > SHORT_PIECE) b.copy(block.bytes, block.used, from, to);
      else copyShort(block, b, from, to);
      block.used += to - from;
      this.#appendedBytes += to - from;
      return;
    }
    this.#appendedBytes += to - from;
    if (this.#isClosed) return;
    this.#emitGathered();
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.sink.cork();
    }
    this.sink.write(b.subarray(from, to));
  }

  /** Ends a frame; it leaves together with everything else of this turn. */
  endFrame(): void {
    const block = this.#room(1);
    block.bytes[block.used++] = NEWLINE;
    this.#appendedBytes++;
    if (this.#isDirty || this.#isClosed) return;
    this.#isDirty = true;
    this.turn.add(this);
  }

  flush(): void {
    this.#isDirty = false;
    if (this.#isClosed) return;
    this.#emitGathered();
    if (this.#isCorked) {
      this.#isCorked = false;
      this.sink.uncork();
    }
    this.#releaseSpent();
    const block = this.#block;
    if (block === undefined || (this.sink.writableLength > 0 && this.sink.copies !== true)) return;
    this.#block = undefined;
    if (this.#hasLetGo) this.turn.giveBackFree(block);
    else this.turn.giveBack(block);
  }

  /** Called when the sink has accepted what waited. */
  drained(): void {
    this.#releaseSpent();
  }

  /** Drops everything from here on: the link has ended. */
  close(): void {
    this.#isClosed = true;
    this.#spent = undefined; // the sink may still be writing
    const block = this.#block;
    this.#block = undefined;
    if (block !== undefined) this.turn.giveBack(block);
  }

  /** True if no written byte is in use any more. */
  get #hasLetGo(): boolean {
    const { copies, letsGo, writableLength } = this.sink;
    return copies === true || (letsGo === true && writableLength === 0);
  }

  #releaseSpent(): void {
    const spent = this.#spent;
    if (spent === undefined) return;
    const released = this.sink.copies === true ? this.#appendedBytes : this.takenBytes;
    let passed = 0;
    for (const { block, endsAt } of spent) {
      if (endsAt > released) break;
      this.turn.giveBackFree(block);
      passed++;
    }
    if (passed === spent.length) this.#spent = undefined;
    else if (passed > 0) spent.splice(0, passed);
  }

  #room(bytes: number): Block {
    if (this.#block !== undefined && this.#block.used + bytes <= BLOCK_BYTES) return this.#block;
    if (!this.#isClosed) this.#emitGathered();
    this.#setAside();
    let block = this.turn.takeBlock();
    if (block.used + bytes > BLOCK_BYTES) block = new Block();
    this.#block = block;
    this.#from = block.used;
    return block;
  }

  #emitGathered(): void {
    const block = this.#block;
    if (block === undefined || block.used === this.#from) return;
    const gathered = block.bytes.subarray(this.#from, block.used);
    this.#from = block.used;
    // Corked until the turn is flushed, so that a full block needs no separate system call.
    if (!this.#isCorked && this.#isDirty) {
      this.#isCorked = true;
      this.sink.cork();
    }
    this.sink.write(gathered);
  }

  /** Continues without the block, which has too little room. */
  #setAside(): void {
    const block = this.#block;
    this.#block = undefined;
    if (block === undefined) return;
    if (this.#isClosed || this.sink.letsGo !== true) return this.turn.giveBack(block);
    this.#spent ??= [];
    this.#spent.push({ block, endsAt: this.#appendedBytes });
  }
}

function writeShort({ bytes, used }: Block, text: string): void {
  for (let i = 0; i < text.length; i++) bytes[used + i] = text.charCodeAt(i);
}

function copyShort({ bytes, used }: Block, b: Buffer, from: number, to: number): void {
  for (let i = from; i < to; i++) bytes[used + i - from] = b[i] as number;
}
