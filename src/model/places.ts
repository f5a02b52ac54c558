// The places of clients that have no connection of their own on the daemon's socket: those over HTTP, and those of other hosts. They leave the last quarter
// to the clients on the socket, and none of them takes what the others need, however many sessions it begins and forgets.

import type { Limits } from './limits.ts';

/** The owner of the places of all clients of other hosts. Which of them has how many is decided where they come in. */
export const OTHER_HOSTS = 'other hosts';

export class Places {
  readonly #most: number;
  readonly #ofOwner = new Map<string, number>();
  #taken = 0;

  constructor({ maxClients }: Pick<Limits, 'maxClients'>) {
    this.#most = Math.max(1, maxClients - Math.max(1, maxClients >> 2));
  }

  /** An owner may have twice as many as are free. So one alone gets two thirds, and however many are greedy, there is one for the next. */
  hasRoom(owner: string): boolean {
    return (this.#ofOwner.get(owner) ?? 0) < 2 * (this.#most - this.#taken);
  }

  take(owner: string): void {
    this.#ofOwner.set(owner, (this.#ofOwner.get(owner) ?? 0) + 1);
    this.#taken++;
  }

  giveBack(owner: string): void {
    this.#taken--;
    const left = (this.#ofOwner.get(owner) ?? 0) - 1;
    if (left > 0) this.#ofOwner.set(owner, left);
    else this.#ofOwner.delete(owner);
  }
}
