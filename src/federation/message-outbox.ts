// The core's output for a peer on another host, message by message instead of as a stream of bytes. Each message is
// gathered in one piece of memory and handed on whole. The bytes are copied once, because the frame that holds them may
// be reused.

import { type ByteSink, type FlushTurn, Outbox } from '../wire/outbox.ts';

const NOTHING = Buffer.alloc(0);
const NEWLINE = 0x0a;
/** The room for what follows: a short message, or the end of a long one. */
const ROOM = 256;

/** Called with each message in b[0, end), with a newline behind it. */
export type TakeMessage = (b: Buffer, end: number) => void;

/** Makes a sink that only reports how many bytes wait. */
export function idleSink(waitingBytes: () => number): ByteSink {
  const nothing = (): void => undefined;
  return {
    write: () => true,
    cork: nothing,
    uncork: nothing,
    get writableLength() {
      return waitingBytes();
    },
  };
}

/** Hands on each message as soon as it is whole. */
export class MessageOutbox extends Outbox {
  /** The message so far; the memory may be longer. */
  #gathered: Buffer = NOTHING;
  #used = 0;
  #written = 0;
  #isClosed = false;
  /** Undefined while nobody wants the message. */
  #take: TakeMessage | undefined;

  constructor(sink: ByteSink, turn: FlushTurn, take?: TakeMessage) {
    super(sink, turn);
    this.#take = take;
  }

  /** Sends everything written from now on to `take`, or nowhere. */
  aim(take: TakeMessage | undefined): void {
    this.#take = this.#isClosed ? undefined : take;
  }

  override latin1(text: string): void {
    const at = this.#place(text.length);
    if (at >= 0) this.#gathered.latin1Write(text, at);
  }

  override utf8(text: string): void {
    const at = this.#place(Buffer.byteLength(text));
    if (at >= 0) this.#gathered.utf8Write(text, at);
  }

  override bytes(b: Buffer, from: number, to: number): void {
    const at = this.#place(to - from);
    if (at >= 0) b.copy(this.#gathered, at, from, to);
  }

  /** Makes room for more bytes and returns their place; -1 if nobody gets them. */
  #place(bytes: number): number {
    this.#written += bytes;
    if (this.#take === undefined) return -1;
    const at = this.#used;
    this.#used += bytes;
    if (this.#used < this.#gathered.length) return at;
    const longer = Buffer.allocUnsafe(Math.max(this.#used + ROOM, 2 * this.#gathered.length));
    this.#gathered.copy(longer, 0, 0, at);
    this.#gathered = longer;
    return at;
  }

  override endFrame(): void {
    const take = this.#take;
    if (take === undefined) return;
    this.#place(0); // makes memory for the newline even if nothing was written
    const b = this.#gathered;
    const end = this.#used;
    b[end] = NEWLINE;
    this.#gathered = NOTHING;
    this.#used = 0;
    take(b, end);
  }

  override flush(): void {
    // A message leaves when it is whole.
  }

  override get queuedBytes(): number {
    return this.sink.writableLength;
  }

  override get blockedBytes(): number {
    return this.sink.writableLength;
  }

  override get appendedBytes(): number {
    return this.#written;
  }

  override get takenBytes(): number {
    return this.#written - this.queuedBytes;
  }

  override close(): void {
    this.#isClosed = true;
    this.#take = undefined;
  }
}

interface WholeMessage {
  readonly b: Buffer;
  readonly end: number;
}

/** Hands on messages at the end of their turn, when output for others leaves too. */
export class TurnOutbox extends MessageOutbox {
  #messages: WholeMessage[] = [];
  #messageBytes = 0;
  readonly #hand: TakeMessage;

  constructor(sink: ByteSink, turn: FlushTurn, hand: TakeMessage) {
    super(sink, turn, (b, end) => this.#gather(b, end));
    this.#hand = hand;
  }

  #gather(b: Buffer, end: number): void {
    if (this.#messages.push({ b, end }) === 1) this.turn.add(this);
    this.#messageBytes += end;
  }

  override flush(): void {
    const messages = this.#messages;
    this.#messages = [];
    this.#messageBytes = 0;
    for (const { b, end } of messages) this.#hand(b, end);
  }

  override get queuedBytes(): number {
    return super.queuedBytes + this.#messageBytes;
  }

  override close(): void {
    super.close();
    this.#messages = [];
    this.#messageBytes = 0;
  }
}
