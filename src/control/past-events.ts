// Keeps events that are rare: clients, instances, changed tools, approvals. It listens while the daemon runs, keeps the
// last ones of each group, and passes each on to watchers. Nothing here runs during a call.

import type { Events, ObservedClient } from '../core/events.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import { bounded } from './bounded-text.ts';
import type { EventFilter } from './event-filter.ts';
import type { DaemonEvent } from './event-report.ts';

/** The number of events kept per group. */
const MOST_KEPT = 200;
/** Ordinary events of clients and instances. There are many, and they must not displace rarer ones. */
const EVERYDAY: ReadonlySet<string> = new Set([
  'client.ready',
  'client.left',
  'client.away',
  'client.back',
  'instance.starting',
  'instance.ready',
  'instance.stopped',
]);
/** The maximum number of names in one event. */
const MOST_NAMES = 50;
const LONGEST_MESSAGE = 1000;

interface KeptEvent {
  readonly event: DaemonEvent;
  /** The event's position among all events. */
  readonly place: number;
}

export class PastEvents {
  readonly #date: () => number;
  /** The events of each group, oldest first. */
  readonly #kept = new Map<string, KeptEvent[]>();
  #lastPlace = 0;
  readonly #numbers = new WeakMap<object, number>();
  #lastNumber = 0;
  readonly #ready = new WeakSet<ObservedClient>();
  /** Called for each event; undefined while nobody watches. */
  heard: ((event: DaemonEvent) => void) | undefined;

  constructor(events: Events, date: () => number) {
    this.#date = date;
    this.#hearClients(events);
    this.#hearServers(events);
  }

  /** The last events that match the filter, oldest first. */
  last(count: number, filter: EventFilter): DaemonEvent[] {
    if (count <= 0) return [];
    const taken = [...this.#kept.values()].flat().filter(({ event }) => filter.takes(event));
    const inOrder = taken.sort((one, other) => one.place - other.place);
    return inOrder.slice(-count).map(({ event }) => event);
  }

  /** The number by which events name an instance. */
  numberOf(instance: object): number {
    const known = this.#numbers.get(instance);
    if (known !== undefined) return known;
    this.#numbers.set(instance, ++this.#lastNumber);
    return this.#lastNumber;
  }

  #hearClients(events: Events): void {
    const client = ({ clientId, name }: ObservedClient) => ({ client: clientId, name: bounded(name) });
    events.clientReady.on((one) => {
      this.#ready.add(one);
      const { version, view, protocolVersion = null } = one;
      const said = { version: bounded(version), view: bounded(view?.name ?? ''), protocolVersion };
      this.#keep({ kind: 'client.ready', at: this.#date(), ...client(one), ...said });
    });
    events.clientRefused.on((one, why) =>
      this.#keep({ kind: 'client.refused', at: this.#date(), ...client(one), reason: bounded(why, LONGEST_MESSAGE) }),
    );
    events.clientCutOff.on((one, why) =>
      this.#keep({ kind: 'client.cutOff', at: this.#date(), ...client(one), reason: bounded(why, LONGEST_MESSAGE) }),
    );
    events.clientAway.on((one) => this.#keep({ kind: 'client.away', at: this.#date(), ...client(one) }));
    events.clientBack.on((one) => this.#keep({ kind: 'client.back', at: this.#date(), ...client(one) }));
    events.clientLeft.on((one) => {
      // No event reported a client that was never ready, or that only watches.
      if (this.#ready.delete(one)) this.#keep({ kind: 'client.left', at: this.#date(), ...client(one) });
    });
  }

  #hearServers(events: Events): void {
    type Observed = { readonly server: string };
    const instance = (one: Observed) => ({ server: bounded(one.server), instance: this.numberOf(one) });
    const failure = ({ code, message }: BridgeError) => ({ code, message: bounded(message, LONGEST_MESSAGE) });
    events.instanceStarting.on((one) => this.#keep({ kind: 'instance.starting', at: this.#date(), ...instance(one) }));
    events.instanceReady.on((one) => this.#keep({ kind: 'instance.ready', at: this.#date(), ...instance(one) }));
    events.instanceStopped.on((one) => this.#keep({ kind: 'instance.stopped', at: this.#date(), ...instance(one) }));
    events.instanceFailed.on((one, error) =>
      this.#keep({ kind: 'instance.failed', at: this.#date(), ...instance(one), ...failure(error) }),
    );
    events.instanceDied.on((one, error) =>
      this.#keep({ kind: 'instance.died', at: this.#date(), ...instance(one), ...failure(error) }),
    );
    events.serverDialledIn.on((name) =>
      this.#keep({ kind: 'server.connected', at: this.#date(), server: bounded(name) }),
    );
    events.toolsChanged.on((server, names) => {
      const tools = names.slice(0, MOST_NAMES).map((name) => bounded(name));
      this.#keep({ kind: 'tools.changed', at: this.#date(), server: bounded(server), tools });
    });
    events.approvalsWanted.on((cwd, count) =>
      this.#keep({ kind: 'approvals.wanted', at: this.#date(), cwd: bounded(cwd, LONGEST_MESSAGE), count }),
    );
  }

  #keep(event: DaemonEvent): void {
    const group = groupOf(event);
    const kept = this.#kept.get(group) ?? [];
    if (kept.length >= MOST_KEPT) kept.shift();
    kept.push({ event, place: ++this.#lastPlace });
    this.#kept.set(group, kept);
    this.heard?.(event);
  }
}

/** The group of an event. Events compete for room only within their group. */
function groupOf({ kind }: DaemonEvent): string {
  const [about = kind] = kind.split('.');
  return EVERYDAY.has(kind) ? `${about}, everyday` : about;
}
