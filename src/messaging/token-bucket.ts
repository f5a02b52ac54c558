// How often somebody may do something: so many a second, and twice as many at once.

export class TokenBucket {
  readonly #perMs: number;
  readonly #most: number;
  #left: number;
  #lookedMs: number;

  constructor(perSecond: number, nowMs: number) {
    this.#perMs = perSecond / 1000;
    this.#most = perSecond * 2;
    this.#left = this.#most;
    this.#lookedMs = nowMs;
  }

  /** Whether it may be done now, which then counts. */
  take(nowMs: number): boolean {
    this.#left = Math.min(this.#most, this.#left + (nowMs - this.#lookedMs) * this.#perMs);
    this.#lookedMs = nowMs;
    if (this.#left < 1) return false;
    this.#left--;
    return true;
  }
}
