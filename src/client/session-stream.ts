// Both directions of a session, counted in bytes: what was sent and may have to be sent again, and how much has come.
// Counting begins behind the handshake; without a token nothing is kept.

import { KeptFrames } from './kept-frames.ts';

const SAY_AFTER_BYTES = 256 * 1024;
const SAY_AFTER_FRAMES = 256;

export class SessionStream {
  token: string | undefined;
  #isKept = true;
  readonly #kept = new KeptFrames();
  #received = 0;
  #said = 0;
  #framesSinceSaid = 0;

  /** An `initialize` is on its way. What is sent behind it may belong to a session that can be resumed. */
  begin(): void {
    this.token = undefined;
    this.#isKept = true;
    this.#kept.reset();
  }

  /** It was answered. */
  agree(token: string | undefined): void {
    this.token = token;
    this.#isKept = token !== undefined;
    if (token === undefined) this.#kept.reset();
    this.#received = 0;
    this.#said = 0;
    this.#framesSinceSaid = 0;
  }

  sent(piece: Buffer): void {
    if (this.#isKept) this.#kept.append(piece);
  }

  get sentBytes(): number {
    return this.#kept.sentBytes;
  }

  get receivedBytes(): number {
    return this.#received;
  }

  sentFrom(bytes: number): Buffer[] | undefined {
    return this.#kept.from(bytes);
  }

  acknowledged(bytes: number): void {
    this.#kept.acknowledge(bytes);
  }

  /** A frame of so many bytes has come, its newline included. */
  received(bytes: number): void {
    if (this.token === undefined) return;
    this.#received += bytes;
    this.#framesSinceSaid++;
  }

  /** How many bytes have come, if the daemon should hear of it now. */
  toSay(): number | undefined {
    if (this.#framesSinceSaid < SAY_AFTER_FRAMES && this.#received - this.#said < SAY_AFTER_BYTES) return undefined;
    this.#framesSinceSaid = 0;
    this.#said = this.#received;
    return this.#received;
  }
}
