// How many servers are started at the same time: few processes, because each of them keeps a core busy while it loads;
// many connections, because they only wait. A start that takes long gives its turn away, so one that hangs holds up nobody.
// Clients take turns, and the servers of one client do: a client that needs sixty holds up another one's by one start.

import type { Counters } from '../core/counters.ts';
import type { Clock } from '../util/clock.ts';

/** A turn lasts no longer. */
const TURN_MS = 3_000;

export interface Applicant {
  readonly server: string;
  /** The clients that wait for it by now; nobody, if the bridge itself does. */
  readonly askers: () => Iterable<object>;
}

interface Waiting extends Applicant {
  readonly start: () => void;
}

const BRIDGE = {};

export class StartGate {
  readonly #most: number;
  readonly #clock: Clock;
  readonly #counters: Pick<Counters, 'startsQueued'>;
  #taken = 0;
  #waiting: Waiting[] = [];
  /** The last place that was given away at the end of the line. */
  #lastPlace = 0;
  /** Places of those who ask: who was served goes to the end. */
  readonly #placeOfAsker = new WeakMap<object, number>();
  /** The same of servers, while any wait. */
  readonly #placeOfServer = new Map<string, number>();

  constructor(most: number, { clock, counters }: { clock: Clock; counters: Pick<Counters, 'startsQueued'> }) {
    this.#most = most;
    this.#clock = clock;
    this.#counters = counters;
  }

  /** Calls `start` when it may, with what is to be called once this server has started, or could not be. */
  enter(applicant: Applicant, start: (leave: () => void) => void): void {
    if (this.#taken < this.#most) return this.#enter(start);
    this.#counters.startsQueued++;
    const waiting = { ...applicant, start: () => this.#enter(start) };
    this.#waiting.push(waiting);
    this.#placeOf(waiting);
  }

  #enter(start: (leave: () => void) => void): void {
    this.#taken++;
    let isInside = true;
    const leave = (): void => {
      if (!isInside) return;
      isInside = false;
      timer.cancel();
      this.#taken--;
      this.#takeNext()?.start();
    };
    const timer = this.#clock.after(TURN_MS, leave);
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

  /** Of the first in line of those who ask for it. */
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
