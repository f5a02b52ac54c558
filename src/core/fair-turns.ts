// Turns for work that takes time: one piece at a time, owner after owner, and other work runs in between. An owner with
// much work delays only itself.

import { FairQueue } from '../util/fair-queue.ts';
import { nextTurn } from '../util/next-turn.ts';

type Job = () => Promise<void>;

export class FairTurns {
  readonly #waiting = new FairQueue<object | string, Job>();
  #isBusy = false;

  /** Runs a job when its turn comes. */
  run<Result>(owner: object | string, job: () => Result | Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(owner, async () => {
        try {
          resolve(await job());
        } catch (error) {
          reject(error as Error);
        }
      });
      void this.#next();
    });
  }

  async #next(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let job = this.#take(); job !== undefined; job = this.#take()) {
      await job();
      if (this.#waiting.size > 0) await nextTurn();
    }
    this.#isBusy = false;
  }

  #take(): Job | undefined {
    return this.#waiting.take(() => true);
  }
}
