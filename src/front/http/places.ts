// The places that each principal takes among the clients of the bridge, over HTTP. Nobody takes all of them, however many sessions
// a client begins and forgets.

export class Places {
  readonly #most: number;
  readonly #taken = new Map<string, number>();

  /** `most` is the number that one principal may take. */
  constructor(most: number) {
    this.#most = most;
  }

  hasRoom(owner: string): boolean {
    return (this.#taken.get(owner) ?? 0) < this.#most;
  }

  take(owner: string): void {
    this.#taken.set(owner, (this.#taken.get(owner) ?? 0) + 1);
  }

  giveBack(owner: string): void {
    const left = (this.#taken.get(owner) ?? 0) - 1;
    if (left > 0) this.#taken.set(owner, left);
    else this.#taken.delete(owner);
  }
}
