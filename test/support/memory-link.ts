// A pair of links in memory: what one side writes, the other side reads, in chunks, one turn of the loop later.

import { FrameSplitter } from '../../src/wire/frame-splitter.ts';
import type { Link, LinkHandler } from '../../src/wire/link.ts';
import { type ByteSink, type FlushTurn, Outbox } from '../../src/wire/outbox.ts';

class MemoryEnd implements Link, ByteSink {
  readonly outbox: Outbox;
  readonly #maxFrameBytes: number;
  readonly #arrived: Buffer[] = [];
  peer: MemoryEnd | undefined;
  writableLength = 0;
  #handler: LinkHandler | undefined;
  #splitter: FrameSplitter | undefined;
  #isPaused = false;
  #hasEnded = false;
  #peerHasEnded = false;
  #isClosed = false;

  constructor(turn: FlushTurn, maxFrameBytes: number) {
    this.outbox = new Outbox(this, turn);
    this.#maxFrameBytes = maxFrameBytes;
  }

  start(handler: LinkHandler): void {
    this.#handler = handler;
    this.#splitter = new FrameSplitter(this.#maxFrameBytes, handler);
    this.#deliver();
  }

  write(bytes: Uint8Array): boolean {
    const copy = Buffer.from(bytes);
    setImmediate(() => this.peer?.arrive(copy));
    return true;
  }
  cork(): void {
    this.writableLength += 0;
  }
  uncork(): void {
    this.writableLength += 0;
  }

  arrive(chunk: Buffer): void {
    this.#arrived.push(chunk);
    this.#deliver();
  }

  #deliver(): void {
    while (this.#splitter !== undefined && !this.#isPaused && this.#arrived.length > 0)
      this.#splitter.push(this.#arrived.shift() as Buffer);
    if (this.#arrived.length === 0 && this.#peerHasEnded && this.#handler !== undefined) {
      this.#peerHasEnded = false;
      this.#handler.ended();
    }
  }

  pause(): void {
    this.#isPaused = true;
  }
  resume(): void {
    this.#isPaused = false;
    this.#deliver();
  }

  end(): void {
    if (this.#hasEnded || this.#isClosed) return;
    this.outbox.flush();
    this.#hasEnded = true;
    setImmediate(() => this.peer?.peerEnded());
  }

  peerEnded(): void {
    this.#peerHasEnded = true;
    this.#deliver();
    if (this.#hasEnded) this.destroy();
  }

  destroy(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.outbox.close();
    setImmediate(() => {
      this.#handler?.closed();
      this.peer?.peerEnded();
      this.peer?.destroy();
    });
  }
}

export function memoryLinkPair(turn: FlushTurn, maxFrameBytes = 8 * 1024 * 1024): [Link, Link] {
  const one = new MemoryEnd(turn, maxFrameBytes);
  const other = new MemoryEnd(turn, maxFrameBytes);
  one.peer = other;
  other.peer = one;
  return [one, other];
}
