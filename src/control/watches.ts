// All watches of the daemon: `bridge/watch` and `bridge/unwatch`. It listens to calls, questions, messages and
// incidents only while somebody watches. A watch ends with its connection.

import type { Concerned, Events, Incident } from '../core/events.ts';
import type { ControlPeer } from '../core/router.ts';
import type { Limits } from '../model/limits.ts';
import { LIMITS } from '../model/settings.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { bounded } from './bounded-text.ts';
import { EventFilter } from './event-filter.ts';
import type { DaemonEvent, MessageEvent, WatchReport } from './event-report.ts';
import { type FollowedCall, FollowedCalls } from './followed-calls.ts';
import type { PastEvents } from './past-events.ts';
import { MOST_QUEUED, mostUnreadBytes, Watch } from './watch.ts';

/** At most four batches per second. */
const PERIOD_MS = 250;
const PERIODS_PER_SECOND = 1000 / PERIOD_MS;
const LONGEST_BATCH_MS = 60_000;
const MOST_WATCHES = 64;
const MOST_OF_A_CONNECTION = 8;
const DEFAULT_CALLS_PER_SECOND = 1000;
/** More would cost the bridge's clients too much. */
const MOST_CALLS_PER_SECOND = 5000;
const MOST_MESSAGES = 200;
/** The number of different incidents counted per period. */
const MOST_INCIDENTS = 100;

/** The parts of a daemon that watches listen to. */
export interface WatchedDaemon {
  readonly events: Events;
  readonly past: PastEvents;
  readonly limits: Limits;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly date: () => number;
}

type Params = Readonly<Record<string, unknown>>;

/** Incidents with the same name and the same client or server. */
interface IncidentCount {
  readonly name: Incident;
  readonly client: string | null;
  readonly server: string | null;
  times: number;
}

export class Watches {
  readonly #options: WatchedDaemon;
  readonly calls: FollowedCalls;
  readonly #watches = new Set<Watch>();
  #messages: MessageEvent[] = [];
  #incidents = new Map<string, IncidentCount>();
  #stops: readonly (() => void)[] = [];
  #timer: Timer | undefined;
  #isSendDue = false;
  #lastName = 0;

  constructor(options: WatchedDaemon) {
    this.#options = options;
    const { events, clock, date } = options;
    const happened = (event: DaemonEvent, call: FollowedCall): void => this.#tell(event, call);
    this.calls = new FollowedCalls({ events, clock, date, happened });
  }

  get size(): number {
    return this.#watches.size;
  }

  /** Messages between clients since somebody began to watch, newest first. */
  get messages(): readonly MessageEvent[] {
    return this.#messages.toReversed();
  }

  open(peer: ControlPeer, params: Params): WatchReport {
    const { limits, date, past } = this.#options;
    const batchMs = batchMsOf(params.batchMs);
    const callsPerSecond = callsPerSecondOf(params.callsPerSecond);
    const refused = this.#refusalFor(peer);
    const filter = new EventFilter(params);
    const last = past.last(countOf(params.past, 0), filter);
    const said = { at: date(), mostQueued: MOST_QUEUED, batchMs, callsPerSecond, past: last };
    if (refused !== undefined) return { watch: null, refused, ...said };
    if (this.#watches.size === 0) this.#start();
    const terms = {
      name: `w${++this.#lastName}`,
      filter,
      periods: Math.ceil(batchMs / PERIOD_MS),
      callsPerPeriod: Math.ceil(callsPerSecond / PERIODS_PER_SECOND),
      mostUnreadBytes: mostUnreadBytes(limits.maxQueuedBytesPerClient),
      date,
    };
    const watch = new Watch(peer, terms, this.calls);
    this.#watches.add(watch);
    peer.isWatching = true;
    this.#changed();
    return { watch: watch.name, refused: null, ...said };
  }

  #refusalFor(peer: ControlPeer): string | undefined {
    if (!peer.isOpen) return 'The connection has ended.';
    if (this.#watches.size >= MOST_WATCHES) return `The daemon has ${MOST_WATCHES} watches already.`;
    const own = [...this.#watches].filter((watch) => watch.peer === peer).length;
    return own < MOST_OF_A_CONNECTION ? undefined : `This connection has ${MOST_OF_A_CONNECTION} watches already.`;
  }

  /** Ends a watch of this connection; false if it has no watch of this name. */
  close(peer: ControlPeer, name: string): boolean {
    const watch = [...this.#watches].find((one) => one.peer === peer && one.name === name);
    if (watch === undefined) return false;
    this.#watches.delete(watch);
    peer.isWatching = [...this.#watches].some((one) => one.peer === peer);
    this.#changed();
    return true;
  }

  /** Ends all watches of a closed connection. */
  #gone(client: object): void {
    const before = this.#watches.size;
    for (const watch of this.#watches) if (watch.peer === client) this.#watches.delete(watch);
    if (this.#watches.size < before) this.#changed();
  }

  #changed(): void {
    if (this.#watches.size === 0) return this.#stop();
    if ([...this.#watches].some(({ wantsCalls }) => wantsCalls)) this.calls.start();
    else this.calls.stop();
    this.calls.renewBudget(this.#callsPerPeriod());
  }

  #callsPerPeriod(): number {
    return Math.max(0, ...[...this.#watches].map(({ callsPerPeriod }) => callsPerPeriod));
  }

  #start(): void {
    const { events, past, clock, date } = this.#options;
    past.heard = (event) => this.#tell(event);
    this.#stops = [
      events.clientLeft.on((client) => this.#gone(client)),
      events.questionAsked.on((client, server, about) =>
        this.#tell({ kind: 'question.asked', at: date(), client: client.clientId, server, about }),
      ),
      events.questionEnded.on((client, server, end) =>
        this.#tell({ kind: 'question.ended', at: date(), client: client.clientId, server, end }),
      ),
      events.messageSent.on((outcome, { clientId: from }, { to, method, bytes }) => {
        const known = { to: to === '' ? null : bounded(to), method: method === '' ? null : bounded(method) };
        const event = { kind: 'message.sent' as const, at: date(), outcome, from, ...known, bytes: bytes || null };
        this.#messages = [...this.#messages.slice(1 - MOST_MESSAGES), event];
        this.#tell(event);
      }),
      events.incident.on((name, concerned) => this.#count(name, concerned)),
    ];
    this.#timer = clock.every(PERIOD_MS, () => this.#tick());
  }

  #stop(): void {
    this.#options.past.heard = undefined;
    for (const stop of this.#stops) stop();
    this.#stops = [];
    this.#timer?.cancel();
    this.#timer = undefined;
    this.calls.stop();
    this.#messages = [];
    this.#incidents.clear();
  }

  /** Reports the first incident of a kind at once, and all others of the period together: there may be thousands. */
  #count(name: Incident, concerned: Concerned): void {
    const client = typeof concerned === 'object' ? concerned.clientId : null;
    const server = typeof concerned === 'string' ? bounded(concerned) : null;
    const key = `${name} ${client ?? ''} ${server ?? ''}`;
    const known = this.#incidents.get(key);
    if (known !== undefined) {
      known.times++;
      return;
    }
    if (this.#incidents.size >= MOST_INCIDENTS) return;
    this.#incidents.set(key, { name, client, server, times: 0 });
    this.#tellIncident({ name, client, server, times: 1 });
  }

  #tellIncident({ name, client, server, times }: IncidentCount): void {
    const limit = LIMIT_COUNTERS.has(name);
    this.#tell({ kind: 'incident', at: this.#options.date(), name, client, server, limit, times });
  }

  #tick(): void {
    const incidents = this.#incidents;
    this.#incidents = new Map();
    for (const incident of incidents.values()) if (incident.times > 0) this.#tellIncident(incident);
    this.calls.renewBudget(this.#callsPerPeriod());
    for (const watch of this.#watches) watch.tick(this.calls);
  }

  #tell(event: DaemonEvent, call?: FollowedCall): void {
    for (const watch of this.#watches) if (watch.take(event, call) && watch.sendsAtOnce) this.#sendSoon();
  }

  /** Sends at the end of the turn, so that simultaneous events share a batch. */
  #sendSoon(): void {
    if (this.#isSendDue) return;
    this.#isSendDue = true;
    this.#options.clock.after(0, () => {
      this.#isSendDue = false;
      for (const watch of this.#watches) if (watch.sendsAtOnce) watch.send(this.calls);
    });
  }
}

/** The counters that show that a limit was reached. */
const LIMIT_COUNTERS: ReadonlySet<string> = new Set(
  Object.values(LIMITS).flatMap((row) => ('counters' in row ? [...row.counters] : [])),
);

function batchMsOf(value: unknown): number {
  const wanted = countOf(value, 0);
  return wanted === 0 ? 0 : Math.min(LONGEST_BATCH_MS, Math.max(PERIOD_MS, wanted));
}

function callsPerSecondOf(value: unknown): number {
  return Math.min(MOST_CALLS_PER_SECOND, countOf(value, DEFAULT_CALLS_PER_SECOND));
}

function countOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : otherwise;
}
