// Complete answers that clients have not fully read: limited together, and in time. If there are too many bytes, the
// principal with the most loses its oldest answer.

import type { ServerResponse } from 'node:http';
import type { Clock } from '../../util/clock.ts';

interface UnreadAnswersOptions {
  readonly clock: Clock;
  /** The maximum number of bytes in total. */
  readonly most: number;
  /** A client that reads nothing for this long is cut off. */
  readonly stallMs: number;
  /** Called when a client was cut off. */
  readonly refused: () => void;
}

interface Unread {
  readonly owner: string;
  bytes: number;
  /** The time at which its client last read some of it. */
  takenMs: number;
}

export class UnreadAnswers {
  readonly #options: UnreadAnswersOptions;
  /** Oldest first. */
  readonly #all = new Map<ServerResponse, Unread>();
  #bytes = 0;

  constructor(options: UnreadAnswersOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  /** Notes a complete answer, unless it was fully read at once. `owner` is the principal's key. */
  note(response: ServerResponse, owner: string): void {
    const bytes = response.writableLength;
    if (bytes === 0 || response.destroyed || this.#all.has(response)) return;
    this.#all.set(response, { owner, bytes, takenMs: this.#options.clock.now() });
    this.#bytes += bytes;
    response.once('close', () => this.#forget(response));
    if (this.#bytes > this.#options.most) this.#bound();
  }

  #forget(response: ServerResponse): void {
    const unread = this.#all.get(response);
    if (unread === undefined) return;
    this.#all.delete(response);
    this.#bytes -= unread.bytes;
  }

  /** Updates the counts of unread bytes. */
  #measure(): void {
    const nowMs = this.#options.clock.now();
    for (const [response, unread] of this.#all) {
      const bytes = response.writableLength;
      if (bytes === unread.bytes) continue;
      this.#bytes -= unread.bytes - bytes;
      unread.bytes = bytes;
      unread.takenMs = nowMs;
    }
  }

  #bound(): void {
    this.#measure();
    while (this.#bytes > this.#options.most) {
      const sums = new Map<string, number>();
      for (const { owner, bytes } of this.#all.values()) sums.set(owner, (sums.get(owner) ?? 0) + bytes);
      const [greatest] = [...sums].reduce((one, other) => (other[1] > one[1] ? other : one));
      const [oldest] = [...this.#all].find(([, { owner }]) => owner === greatest) ?? [];
      if (oldest === undefined) return;
      this.#cutOff(oldest);
    }
  }

  #cutOff(response: ServerResponse): void {
    this.#options.refused();
    this.#forget(response);
    // Destroys the connection too: Node would keep the bytes for it.
    response.socket?.destroy();
    response.destroy();
  }

  /** Called once a second. */
  tick(nowMs: number): void {
    this.#measure();
    for (const [response, { takenMs }] of [...this.#all])
      if (nowMs - takenMs >= this.#options.stallMs) this.#cutOff(response);
  }
}
