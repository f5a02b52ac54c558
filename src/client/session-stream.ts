// Both directions of a session, counted in bytes: what was sent and may have to be sent again, and how much has come.
// Counting begins behind the handshake. Bytes are kept while a session may be resumed: never for a client without a handshake.

import { KeptBytes } from '../wire/kept-bytes.ts';
import { RECEIVED_BYTES, RECEIVED_FRAMES } from '../wire/resume-notices.ts';

/** Beyond this the oldest is let go of, and the session cannot be resumed from there. */
const MOST_KEPT = 8 * 1024 * 1024;
/** Sent bytes are never changed, so all are kept where they are. */
const kept = (): KeptBytes => new KeptBytes(MOST_KEPT, 0);

export class SessionStream {
  token: string | undefined;
  #isKept = false;
  #kept = kept();
  #sent = 0;
  #received = 0;
  #said = 0;
  #framesSinceSaid = 0;

  /** An `initialize` is on its way. What is sent behind it may belong to a session that can be resumed. */
  begin(): void {
    this.token = undefined;
    this.#isKept = true;
    this.#kept = kept();
    this.#sent = 0;
  }

  /** It was answered. */
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

  /** So many bytes of whole frames have come, their newlines included. */
  received(bytes: number, frames = 1): void {
    if (this.token === undefined) return;
    this.#received += bytes;
    this.#framesSinceSaid += frames;
  }

  /** How many bytes have come, if the daemon should hear of it now. */
  toSay(): number | undefined {
    if (this.#framesSinceSaid < RECEIVED_FRAMES && this.#received - this.#said < RECEIVED_BYTES) return undefined;
    this.#framesSinceSaid = 0;
    this.#said = this.#received;
    return this.#received;
  }
}
