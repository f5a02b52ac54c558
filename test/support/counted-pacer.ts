// A pacer of the real event loop for whose clock each look takes a fifth of a millisecond, so that a share of what comes
// fills its turn whatever the machine does. It counts the turns that were needed.

import { ReadPacer } from '../../src/wire/read-pacer.ts';

export class CountedPacer extends ReadPacer {
  readonly #count: { turns: number };

  constructor() {
    const count = { turns: 0 };
    let nowMs = 0;
    super({
      now: () => {
        nowMs += 0.2;
        return nowMs;
      },
      defer: (task) => {
        setImmediate(() => {
          count.turns++;
          task();
        });
      },
    });
    this.#count = count;
  }

  get turns(): number {
    return this.#count.turns;
  }
}
