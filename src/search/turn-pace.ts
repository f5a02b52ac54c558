// Long work in short pieces: after so much of it, others have their turn. It counts work and not time, so that it does
// the same on every machine.

export class TurnPace {
  readonly #most: number;
  readonly #yieldTurn: () => Promise<void>;
  #done = 0;

  /** Others have their turn after each `most` of whatever is counted. */
  constructor(most: number, yieldTurn: () => Promise<void>) {
    this.#most = most;
    this.#yieldTurn = yieldTurn;
  }

  async spend(work: number): Promise<void> {
    this.#done += work;
    if (this.#done < this.#most) return;
    this.#done = 0;
    await this.#yieldTurn();
  }
}
