// Answers that are written and that their clients have not taken: bounded together, and in time. Where there are too many bytes,
// whoever has the most of them loses the oldest.

import type { ServerResponse } from 'node:http';
import type { Clock } from '../../util/clock.ts';

interface UnreadAnswersOptions {
  readonly clock: Clock;
  /** The most bytes of all of them together. */
  readonly most: number;
  /** A client that takes nothing for so long is cut off. */
  readonly stallMs: number;
  /** A client was cut off. */
  readonly refused: () => void;
}

interface Unread {
  readonly owner: string;
  bytes: number;
  /** When its client has last taken some of it. */
  takenMs: number;
}

export class UnreadAnswers {
  readonly #options: UnreadAnswersOptions;
  /** The oldest is the first. */
  readonly #all = new Map<ServerResponse, Unread>();
  #bytes = 0;

  constructor(options: UnreadAnswersOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  /** Notes an answer to which nothing more is added, unless all of it was taken at once. `owner` is the principal's key. */
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

  /** Forgets the bytes that were taken meanwhile. */
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
    // The connection too: Node would keep what it has been given for it.
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
