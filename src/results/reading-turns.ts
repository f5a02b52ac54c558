// The turns in which kept results are read: one at a time, and one of each owner after the other, so that an owner that asks
// for much holds up nobody but itself.

import { FairQueue } from '../core/fair-queue.ts';

type Job = () => Promise<void>;

export class ReadingTurns {
  readonly #waiting = new FairQueue<object | string, Job>();
  #isBusy = false;

  /** Runs a job when its turn comes. */
  run<Result>(owner: object | string, job: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(owner, () => job().then(resolve, reject));
      void this.#next();
    });
  }

  async #next(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let job = this.#take(); job !== undefined; job = this.#take()) await job();
    this.#isBusy = false;
  }

  #take(): Job | undefined {
    return this.#waiting.take(() => true);
  }
}
