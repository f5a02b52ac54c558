// The places for clients without their own connection on the daemon's socket: over HTTP, and of other hosts. They leave
// the last quarter to clients on the socket, and none of them can take what others need, however many sessions it
// opens.

import { Counts } from '../util/counts.ts';
import type { Limits } from './limits.ts';

/** The owner of the places of all clients of other hosts. They are divided among these hosts where they come in. */
export const OTHER_HOSTS = 'other hosts';

export class Places {
  readonly #most: number;
  readonly #ofOwner = new Counts<string>();
  #taken = 0;

  constructor({ maxClients }: Pick<Limits, 'maxClients'>) {
    this.#most = Math.max(1, maxClients - Math.max(1, maxClients >> 2));
  }

  /**
   * An owner may have twice as many places as are free. A single owner thus gets two thirds, and even with many greedy
   * owners there is a place for the next.
   */
  hasRoom(owner: string): boolean {
    return this.#ofOwner.of(owner) < 2 * (this.#most - this.#taken);
  }

  take(owner: string): void {
    this.#ofOwner.add(owner, 1);
    this.#taken++;
  }

  giveBack(owner: string): void {
    this.#ofOwner.add(owner, -1);
    this.#taken--;
  }
}
