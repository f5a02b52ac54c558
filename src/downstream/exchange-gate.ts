// Limits the open requests at servers at URLs, because each holds a descriptor until it is answered. One server gets at
// most a quarter of them, so one that never answers delays nobody else. Further requests wait, and the servers take
// turns.

type Start = (leave: () => void) => void;

export class ExchangeGate {
  readonly #most: number;
  /** Doors with a request waiting, in the order of their turns. */
  readonly #waiting = new Set<ExchangeDoor>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** A door for one server. */
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
  /** Called with this door when a request begins to wait, and with nothing when one has ended. */
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
   * Calls `start` when it is the request's turn. `leave` must be called once, when its connection is free again.
   * Returns a function that gives up the place in the queue.
   */
  enter(start: Start): () => void {
    this.#waiting.add(start);
    this.#changed(this);
    return () => void this.#waiting.delete(start);
  }

  /** Starts the next request. */
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
