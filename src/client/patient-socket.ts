// A socket on which a write that fails because the other side has gone is not the end of reading: what that has said before
// it went is still in the kernel, and says more than the failure does. The failure is told when that has been read.
// With an input it reads frames into that, and emits no data.

import { Socket, type SocketConstructorOpts } from 'node:net';
import { systemCode } from '../util/bridge-error.ts';
import type { FrameInput } from '../wire/frame-input.ts';

type Done = (error?: Error | null) => void;
/** Of writes. With any other failure the other side may be there, and would never end. */
const GONE: ReadonlySet<string | undefined> = new Set(['EPIPE', 'ECONNRESET']);

type Chunks = { chunk: unknown; encoding: BufferEncoding }[];

export class PatientSocket extends Socket {
  /** What the kernel has taken, and the other side may have read. */
  takenBytes = 0;
  readonly input: FrameInput | undefined;

  constructor(input?: FrameInput) {
    super(input === undefined ? {} : ({ onread: input.reader() } as SocketConstructorOpts));
    this.input = input;
  }

  override _write(chunk: unknown, encoding: BufferEncoding, done: Done): void {
    this.#write(bytesOf(chunk, encoding), (written) => super._write(chunk, encoding, written), done);
  }

  override _writev(chunks: Chunks, done: Done): void {
    const bytes = chunks.reduce((sum, { chunk, encoding }) => sum + bytesOf(chunk, encoding), 0);
    this.#write(bytes, (written) => super._writev?.(chunks, written), done);
  }

  #write(bytes: number, write: (written: Done) => void, done: Done): void {
    let isRefused = false;
    let hasReturned = false;
    write((error) => {
      if (!error) return done();
      // Node tries at once, and only what was taken in part is tried again: so nothing of this one was taken.
      if (!hasReturned) isRefused = true;
      if (!GONE.has(systemCode(error)) || this.readableEnded || this.destroyed) return done(error);
      this.once('end', () => done(error));
    });
    hasReturned = true;
    if (!isRefused) this.takenBytes += bytes;
  }
}

function bytesOf(chunk: unknown, encoding: BufferEncoding): number {
  return typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : (chunk as Uint8Array).length;
}
