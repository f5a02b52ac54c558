// Both directions of a session, counted in bytes: the sent bytes that may have to be sent again, and the number of
// received bytes. Counting begins behind the handshake. Bytes are kept while a session may be resumed; never for a
// client without a handshake.

import { KeptBytes } from '../wire/kept-bytes.ts';
import { RECEIVED_BYTES, RECEIVED_FRAMES } from '../wire/resume-notices.ts';

/** Beyond this the oldest bytes are dropped, and the session cannot be resumed from there. */
const MOST_KEPT = 8 * 1024 * 1024;
/** Sent bytes never change, so all are kept where they are. */
const kept = (): KeptBytes => new KeptBytes(MOST_KEPT, 0);

export class SessionStream {
  token: string | undefined;
  #isKept = false;
  #kept = kept();
  #sent = 0;
  #received = 0;
  #said = 0;
  #framesSinceSaid = 0;

  /** Called when an `initialize` is on its way. Anything sent behind it may belong to a session that can be resumed. */
  begin(): void {
    this.token = undefined;
    this.#isKept = true;
    this.#kept = kept();
    this.#sent = 0;
  }

  /** Called when the `initialize` was answered. */
  agree(token: string | undefined): void {
    this.token = token;
    this.#isKept = token !== undefined;
    if (!this.#isKept) this.#kept = kept();
    this.#received = 0;
    this.#said = 0;
    this.#framesSinceSaid = 0;
  }

  sent(piece: Buffer): void {
    this.#sent += piece.length;
    if (this.#isKept) this.#kept.add(piece);
  }

  get sentBytes(): number {
    return this.#sent;
  }

  get receivedBytes(): number {
    return this.#received;
  }

  sentFrom(bytes: number): Buffer[] | undefined {
    return this.#kept.behind(bytes);
  }

  acknowledged(bytes: number): void {
    this.#kept.release(Math.min(bytes, this.#kept.to));
  }

  /** True if this memory holds anything for the next connection. */
  isIn(memory: ArrayBufferLike): boolean {
    return this.#kept.isIn(memory);
  }

  /** Counts received bytes of whole frames, with their newlines. */
  received(bytes: number, frames = 1): void {
    if (this.token === undefined) return;
    this.#received += bytes;
    this.#framesSinceSaid += frames;
  }

  /** Returns the number of received bytes if the daemon should hear it now. */
  toSay(): number | undefined {
    if (this.#framesSinceSaid < RECEIVED_FRAMES && this.#received - this.#said < RECEIVED_BYTES) return undefined;
    this.#framesSinceSaid = 0;
    this.#said = this.#received;
    return this.#received;
  }
}
