// Frames for a reader that may be paused, where they come from many places and nobody else holds them back: they wait
// here, and are handed on in their order. Whoever adds frames limits them, by `isFull` or by their bytes.

/** The most frames that wait for one reader. */
const MOST_WAITING = 64;

interface WaitingFrame {
  readonly hand: () => void;
  readonly bytes: number;
}

export class WaitingFrames {
  #isPaused = false;
  #waiting: WaitingFrame[] = [];

  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** True if nothing more should be added at present. */
  get isFull(): boolean {
    return this.#waiting.length >= MOST_WAITING;
  }

  /** The bytes of all that wait. */
  get bytes(): number {
    let sum = 0;
    for (const { bytes } of this.#waiting) sum += bytes;
    return sum;
  }

  /** Hands a frame on, at once or when its turn comes. */
  add(hand: () => void, bytes: number): void {
    if (!this.#isPaused && this.#waiting.length === 0) return hand();
    this.#waiting.push({ hand, bytes });
  }

  pause(): void {
    this.#isPaused = true;
  }

  /** Hands on what waits, until the reader pauses again. */
  resume(): void {
    this.#isPaused = false;
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      next.hand();
      if (this.#isPaused) return;
    }
  }

  /** Forgets what waits. */
  drop(): void {
    this.#waiting = [];
  }
}
