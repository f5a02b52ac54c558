// Limits how many servers start at the same time: few processes, because each keeps a core busy while it loads; many
// connections, because they only wait. A slow start gives up its turn, so one that hangs blocks nobody. Clients take
// turns, and so do the servers of one client: a client that needs sixty delays another client's server by only one
// start.

import type { Events } from '../core/events.ts';
import { type Clock, turnOf } from '../util/clock.ts';

/** The longest turn. */
const TURN_MS = 3_000;

export interface Applicant {
  readonly server: string;
  /** The clients that wait for the server now; empty if only the bridge does. */
  readonly askers: () => Iterable<object>;
}

interface Waiting extends Applicant {
  readonly start: () => void;
}

const BRIDGE = {};

export class StartGate {
  readonly #most: number;
  readonly #clock: Clock;
  readonly #events: Events;
  #taken = 0;
  #waiting: Waiting[] = [];
  /** The last place in the queue that was given out. */
  #lastPlace = 0;
  /** The place of each client. A client that was served goes to the end of the queue. */
  readonly #placeOfAsker = new WeakMap<object, number>();
  /** The same for servers, by name. Empty while nothing waits. */
  readonly #placeOfServer = new Map<string, number>();

  constructor(most: number, { clock, events }: { clock: Clock; events: Events }) {
    this.#most = most;
    this.#clock = clock;
    this.#events = events;
  }

  /** Calls `start` when it is the applicant's turn. `leave` must be called when the server has started or failed. */
  enter(applicant: Applicant, start: (leave: () => void) => void): void {
    if (this.#taken < this.#most) return this.#enter(start);
    this.#events.incident.tell('startsQueued', applicant.server);
    const waiting = { ...applicant, start: () => this.#enter(start) };
    this.#waiting.push(waiting);
    this.#placeOf(waiting);
  }

  #enter(start: (leave: () => void) => void): void {
    this.#taken++;
    const leave = turnOf(this.#clock, TURN_MS, () => {
      this.#taken--;
      this.#takeNext()?.start();
    });
    start(leave);
  }

  #takeNext(): Waiting | undefined {
    let next: Waiting | undefined;
    let best = { place: 0, ofServer: 0 };
    for (const waiting of this.#waiting) {
      const rank = { place: this.#placeOf(waiting), ofServer: this.#placeOfServer.get(waiting.server) ?? 0 };
      const isBefore = rank.place < best.place || (rank.place === best.place && rank.ofServer < best.ofServer);
      if (next === undefined || isBefore) [next, best] = [waiting, rank];
    }
    if (next !== undefined) this.#served(next);
    return next;
  }

  /** The place of the first in the queue among the clients that ask. */
  #placeOf(applicant: Applicant): number {
    let first = Number.POSITIVE_INFINITY;
    for (const asker of askersOf(applicant)) {
      const place = this.#placeOfAsker.get(asker) ?? ++this.#lastPlace;
      this.#placeOfAsker.set(asker, place);
      first = Math.min(first, place);
    }
    return first;
  }

  #served(waiting: Waiting): void {
    this.#waiting = this.#waiting.filter((one) => one !== waiting);
    for (const asker of askersOf(waiting)) this.#placeOfAsker.set(asker, ++this.#lastPlace);
    this.#placeOfServer.set(waiting.server, ++this.#lastPlace);
    if (this.#waiting.length === 0) this.#placeOfServer.clear();
  }
}

function askersOf({ askers }: Applicant): readonly object[] {
  const clients = [...askers()];
  return clients.length === 0 ? [BRIDGE] : clients;
}
