// One connection to a daemon, as frames. An unfinished frame at its end is dropped.

import type { Duplex } from 'node:stream';
import { FrameInput } from '../wire/frame-input.ts';
import { PatientSocket } from './bridge-socket.ts';

export interface DaemonLinkHandler {
  /** Called with whole frames, each with its newline. */
  frames(link: DaemonLink, b: Buffer, start: number, end: number): void;
  longFrame(link: DaemonLink, pieces: readonly Buffer[], bytes: number): void;
  /** Called when all frames of a chunk have come. */
  chunkEnded(link: DaemonLink): void;
  /** True if nobody refers any more to the frames that have come. */
  isDone(link: DaemonLink): boolean;
  drained(link: DaemonLink): void;
  /** Called once, last. */
  closed(link: DaemonLink, error: Error | undefined): void;
}

/** The maximum size of a frame. The daemon has its own limit; its config may raise that to this. */
const MOST_FRAME_BYTES = 1 << 30;
/** The time for sending the rest when this side leaves. */
const LEAVE_MS = 2000;
/** A daemon that is told of the end says what is left, and ends. A stopped one (Ctrl-Z) does neither. */
const LAST_WORDS_MS = 30_000;

/** Makes the memory into which a socket to a daemon reads frames. */
export function newDaemonInput(): FrameInput {
  return new FrameInput({ maxFrameBytes: MOST_FRAME_BYTES, isTakenAtOnce: true });
}

export class DaemonLink {
  readonly #stream: Duplex;
  #writtenBytes = 0;
  #silence: NodeJS.Timeout | undefined;

  constructor(stream: Duplex, handler: DaemonLinkHandler) {
    this.#stream = stream;
    let failure: Error | undefined;
    const own = stream instanceof PatientSocket ? stream.input : undefined;
    const input = own ?? newDaemonInput();
    input.start({
      frames: (b, start, end) => handler.frames(this, b, start, end),
      longFrame: (pieces, bytes) => handler.longFrame(this, pieces, bytes),
      readEnded: () => {
        this.#silence?.refresh();
        handler.chunkEnded(this);
      },
      overflowed: () => this.destroy(),
      mayReuse: () => handler.isDone(this),
    });
    if (own === undefined) stream.on('data', (chunk: Buffer) => input.push(chunk, 0, chunk.length));
    stream.on('drain', () => handler.drained(this));
    stream.on('error', (error) => {
      failure = error;
      stream.destroy();
    });
    stream.on('end', () => stream.end());
    stream.once('close', () => {
      clearTimeout(this.#silence);
      handler.closed(this, failure);
    });
  }

  /** The number of bytes at the end of the output that never left: nobody has them. */
  get refusedBytes(): number {
    return this.#stream instanceof PatientSocket ? this.#writtenBytes - this.#stream.takenBytes : 0;
  }

  /** Writes bytes. False means: no more until `drained`. */
  write(bytes: Buffer): boolean {
    this.#writtenBytes += bytes.length;
    return this.#stream.write(bytes) || this.#stream.writableLength === 0;
  }

  /** Writes several pieces, which leave together. False means: no more until `drained`. */
  writeAll(pieces: readonly Buffer[]): boolean {
    this.#stream.cork();
    let takes = true;
    for (const piece of pieces) takes = this.write(piece);
    this.#stream.uncork();
    return takes || this.#stream.writableLength === 0;
  }

  /** True if the kernel has copied everything written. */
  get hasSentAll(): boolean {
    return this.#stream instanceof PatientSocket && this.#stream.writableLength === 0;
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  /** Ends the writing. The reading goes on to its end. */
  endWriting(): void {
    this.#stream.end();
    this.#silence = setTimeout(() => {
      if (this.#stream.isPaused()) this.#silence?.refresh();
      else this.destroy();
    }, LAST_WORDS_MS).unref();
  }

  /** Closes as soon as everything written is on its way. */
  leave(): void {
    const late = setTimeout(() => this.destroy(), LEAVE_MS).unref();
    this.#stream.end(() => {
      clearTimeout(late);
      this.destroy();
    });
  }

  destroy(): void {
    this.#stream.destroy();
  }
}
