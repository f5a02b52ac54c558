// Requests that are open at servers at a URL: each holds a descriptor until it is answered. One server gets no more than a
// quarter of what there is, so that one that never answers holds up nobody else. Those beyond that wait, and the servers
// take turns.

type Start = (leave: () => void) => void;

export class ExchangeGate {
  readonly #most: number;
  /** Doors at which somebody waits; whose turn is next comes first. */
  readonly #waiting = new Set<ExchangeDoor>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** For one server. */
  door(): ExchangeDoor {
    return new ExchangeDoor(Math.max(1, this.#most >> 2), (door) => this.#changed(door));
  }

  #changed(door: ExchangeDoor | undefined): void {
    if (door === undefined) this.#taken--;
    else this.#waiting.add(door);
    for (const next of [...this.#waiting]) {
      if (this.#taken >= this.#most) return;
      if (next.isFull) continue;
      this.#waiting.delete(next);
      this.#taken++;
      next.admit();
      if (next.isWaiting) this.#waiting.add(next);
    }
  }
}

export class ExchangeDoor {
  readonly #most: number;
  /** Somebody waits at this door; or has left, if it is none. */
  readonly #changed: (door: ExchangeDoor | undefined) => void;
  readonly #waiting = new Set<Start>();
  #taken = 0;

  constructor(most: number, changed: (door: ExchangeDoor | undefined) => void) {
    this.#most = most;
    this.#changed = changed;
  }

  get isFull(): boolean {
    return this.#taken >= this.#most;
  }

  get isWaiting(): boolean {
    return this.#waiting.size > 0;
  }

  /**
   * Calls `start` when it may, with what is to be called, once, when its connection is not used any more. Returns what is to
   * be called if nobody wants to start any more: nothing is kept of it then.
   */
  enter(start: Start): () => void {
    this.#waiting.add(start);
    this.#changed(this);
    return () => void this.#waiting.delete(start);
  }

  /** Lets the next one in. */
  admit(): void {
    const [start] = this.#waiting;
    if (start !== undefined) this.#waiting.delete(start);
    this.#taken++;
    const leave = (): void => {
      this.#taken--;
      this.#changed(undefined);
    };
    if (start === undefined) leave();
    else start(leave);
  }
}
