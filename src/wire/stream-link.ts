// A link over Node streams: one socket, or a child's stdout and stdin. It owns their events and nothing else.

import type { Readable, Writable } from 'node:stream';
import { type Frame, FrameSplitter } from './frame-splitter.ts';
import { GradualSink } from './gradual-sink.ts';
import { beginsHttp } from './http-start.ts';
import type { Carrier, CarrierHandler, LinkHandler } from './link.ts';
import { type FlushTurn, Outbox } from './outbox.ts';
import type { IsOver, PacedQueue, ReadPacer } from './read-pacer.ts';

export interface StreamLinkOptions {
  readonly maxFrameBytes: number;
  readonly turn: FlushTurn;
  /** For a server: limits how much is handed on in one turn. */
  readonly pacer?: ReadPacer | undefined;
  /**
   * Called instead of all other handlers if the peer speaks HTTP. The stream is paused and still has everything that
   * arrived.
   */
  readonly onHttp?: (() => void) | undefined;
}

export class StreamLink implements Carrier {
  readonly outbox: Outbox;
  readonly #readable: Readable;
  readonly #writable: Writable;
  readonly #sink: GradualSink;
  readonly #maxFrameBytes: number;
  #openSides: number;
  #handler: LinkHandler | undefined;
  #splitter: FrameSplitter | undefined;
  /** Counts arriving bytes; undefined if nobody needs the count. */
  #count: ((chunk: Buffer) => void) | undefined;
  /** Chunks of a server, which are cut into frames when there is time. */
  #paced: PacedQueue<Buffer> | undefined;
  /** True while the owner wants no more input. */
  #isPaused = false;
  /** Set until it is known if the peer speaks HTTP. */
  #onHttp: StreamLinkOptions['onHttp'];
  /** The first bytes, while they are too few to decide. */
  #first: Buffer | undefined;
  /** Stops listening to the stream. */
  #leave: (() => void) | undefined;

  constructor(readable: Readable, writable: Writable, options: StreamLinkOptions) {
    this.#readable = readable;
    this.#writable = writable;
    this.#maxFrameBytes = options.maxFrameBytes;
    this.#sink = new GradualSink(writable);
    this.outbox = new Outbox(this.#sink, options.turn);
    this.#openSides = this.#isOneStream ? 1 : 2;
    if (options.pacer !== undefined) this.pace(options.pacer);
    this.#onHttp = options.onHttp;
  }

  get #isOneStream(): boolean {
    return (this.#readable as unknown) === this.#writable;
  }

  start(handler: LinkHandler): void {
    this.#handler = handler;
    if (this.#splitter !== undefined) return this.#splitter.handTo(handler);
    const splitter = new FrameSplitter(this.#maxFrameBytes, handler);
    this.#splitter = splitter;
    const data = (chunk: Buffer): void => this.#push(splitter, chunk);
    const end = (): void =>
      this.#contain(() => {
        this.#paced?.flush();
        this.#handler?.ended();
      });
    const close = (): void => {
      if (--this.#openSides > 0) return;
      this.outbox.close();
      this.#contain(() => this.#handler?.closed());
    };
    // A failed write or read ends in 'close', which handles it.
    const error = (): void => this.destroy();
    const drain = (): void =>
      this.#contain(() => {
        this.#sink.drained();
        this.outbox.drained();
        this.#handler?.drained();
      });
    const readable = this.#readable;
    const writable = this.#writable;
    readable.on('data', data).on('end', end).on('error', error).on('close', close);
    writable.on('drain', drain);
    if (!this.#isOneStream) writable.on('error', error).on('close', close);
    if (this.#onHttp === undefined) return;
    this.#leave = () => {
      readable.off('data', data).off('end', end).off('error', error).off('close', close);
      writable.off('drain', drain);
    };
  }

  /** Takes the first bytes of a peer that may speak HTTP. Returns the bytes to cut into frames, if any. */
  #probe(chunk: Buffer): Buffer | undefined {
    const came = this.#first === undefined ? chunk : Buffer.concat([this.#first, chunk]);
    const isHttp = beginsHttp(came);
    this.#first = isHttp === undefined ? came : undefined;
    if (isHttp === undefined) return undefined;
    const onHttp = this.#onHttp;
    const leave = this.#leave;
    this.#onHttp = undefined;
    this.#leave = undefined;
    if (!isHttp) return came;
    leave?.();
    this.outbox.close();
    this.#readable.pause();
    this.#readable.unshift(came);
    onHttp?.();
    return undefined;
  }

  pace(pacer: ReadPacer): void {
    this.#paced ??= pacer.queue<Buffer>({
      take: (chunk, isOver) => this.#cut(chunk, isOver),
      pause: () => this.#readable.pause(),
      resume: () => this.#isPaused || this.#readable.resume(),
      failed: (error) => this.#fail(error),
    });
  }

  #cut(chunk: Buffer, isOver?: IsOver): Buffer | undefined {
    const end = this.#splitter?.push(chunk, isOver) ?? chunk.length;
    return end < chunk.length ? chunk.subarray(end) : undefined;
  }

  #push(splitter: FrameSplitter, came: Buffer): void {
    const chunk = this.#onHttp === undefined ? came : this.#probe(came);
    if (chunk === undefined) return;
    if (this.#paced !== undefined) return this.#paced.push(chunk, chunk.length);
    try {
      splitter.push(chunk);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Runs a task and catches its errors: an error in a stream event would end the process. */
  #contain(task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    try {
      this.#handler?.failed?.(error);
    } finally {
      this.destroy();
    }
  }

  get heldBytes(): number {
    return this.#splitter?.heldBytes ?? 0;
  }

  handTo(handler: CarrierHandler, { b, end }: Frame): number {
    this.#handler = handler;
    this.#splitter?.handTo(handler);
    if (this.#count !== undefined) this.#readable.off('data', this.#count);
    // Node does not report the current chunk to a new listener, but reports all of it to an old one.
    const count = (chunk: Buffer): void => {
      if (this.#count === count) this.#contain(() => handler.read(chunk.length));
    };
    this.#count = count;
    this.#readable.on('data', count);
    return this.#splitter?.bytesBehind(b, end) ?? 0;
  }

  pause(): void {
    this.#isPaused = true;
    this.#readable.pause();
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#paced?.isEmpty !== false) this.#readable.resume();
  }

  end(): void {
    this.outbox.flush();
    this.outbox.close(); // writing after the end would fail, and the queued bytes would be lost
    this.#sink.end();
    this.resume();
  }

  destroy(): void {
    this.#paced?.drop();
    this.outbox.close();
    this.#readable.destroy();
    this.#writable.destroy();
  }
}
