// Other hosts, put together: this daemon's place among them, what it offers there, and the servers of theirs that may be used here. It is
// loaded only where the config names a bus.

import { createHash, randomBytes } from 'node:crypto';
import type { FederationReport } from '../model/federation-report.ts';
import type { FederationSettings } from '../model/federation-settings.ts';
import type { Limits } from '../model/limits.ts';
import type { BusPrincipal } from '../model/principal.ts';
import type { BusServer } from '../model/server-definition.ts';
import { NO_FILTER } from '../model/tool-rules.ts';
import type { Clock } from '../util/clock.ts';
import { anyOf } from '../util/glob.ts';
import type { Logger } from '../util/logger.ts';
import type { Carrier } from '../wire/link.ts';
import type { FlushTurn } from '../wire/outbox.ts';
import type { Bus } from './bus.ts';
import { Home, type OpenContext } from './home.ts';
import type { HomeConnection } from './home-connection.ts';
import { type Board, HostList, type KnownHost, type OfferedServer } from './host-list.ts';
import { boardFault, NatsBoard } from './nats-board.ts';
import { NatsBus, NOT_YET } from './nats-bus.ts';
import { Owner } from './owner.ts';
import { ServiceAnswers } from './service-answers.ts';

export interface FederationOptions {
  readonly settings: FederationSettings;
  readonly clock: Clock;
  readonly turn: FlushTurn;
  readonly limits: Limits;
  readonly version: string;
  readonly uid: number;
  readonly logger: Logger;
  /** Makes a session for a link, with this one view. */
  readonly accept: (link: Carrier, principal: BusPrincipal, view: string) => unknown;
  /** Why policy does not let a server of this name be used; undefined if it does. */
  readonly refusalOf: (name: string) => string | undefined;
  /** True if the hints on the tools of a server are believed. */
  readonly trustsHints: (name: string) => boolean;
  /** Other servers can be used now. */
  readonly changed: () => void;
  /** Something of another host was refused. */
  readonly refused: () => void;
  readonly failed: (error: unknown) => void;
}

/** The bus with all that belongs to it, so that a test can bring another one. */
export interface Ground {
  readonly bus: Bus;
  readonly board: Board;
  readonly server: () => { readonly address: string; readonly version: string } | undefined;
  readonly close: () => Promise<void>;
}

const RUN_BYTES = 9;
/** The most that was refused and is said in the log each second. */
const MOST_TOLD = 20;

export class Federation {
  readonly #options: FederationOptions;
  readonly #ground: Ground;
  readonly #run = randomBytes(RUN_BYTES).toString('base64url');
  readonly #owner: Owner;
  readonly #home: Home;
  readonly #list: HostList;
  readonly #services: ServiceAnswers;
  readonly #use: (text: string) => boolean;
  readonly #unwatch: () => void;
  #boardFault: string | undefined;
  #conflict: string | undefined;
  readonly #denied = new Set<string>();
  #servers: ReadonlyMap<string, BusServer> = new Map();
  /** Names without a host that were asked for, and that more than one host offers. */
  readonly #anywhere = new Map<string, BusServer>();
  #offered: readonly string[] = [];
  #told = 0;
  #toldMs = 0;

  constructor(options: FederationOptions, ground: Ground = natsGround(options)) {
    this.#options = options;
    this.#ground = ground;
    const { settings, clock, version } = options;
    const { tenant, user, host } = settings;
    const { bus, board } = ground;
    this.#use = anyOf(settings.use);
    const run = this.#run;
    const common = { ...options, bus, tenant, user, host };
    this.#owner = new Owner({
      ...common,
      run,
      refused: ({ user: who, host: from, server }, why) =>
        this.#note('a request of another host was refused', { user: who, from, server, why }),
    });
    this.#list = new HostList({
      ...{ board, clock, tenant, host, run, version },
      load: () => this.#owner.load.calls,
      isDown: () => this.#home.down !== undefined,
      changed: () => this.#hostsChanged(),
      gone: (gone) => this.#owner.hostGone(gone),
      refused: (from, why) => this.#onBadEntry(from, why),
      fault: (why) => this.#onBoardFault(why),
      faultOf: boardFault,
    });
    this.#home = new Home({
      ...common,
      hasBulk: settings.hasBulkConnection,
      runOf: (name) => this.#list.get(name)?.run,
      ownersOf: (name) => this.#usableOfferersOf(name).map(({ host: owner }) => owner),
      refused: (server, why) => this.#note('something of another host was not taken', { server, why }),
    });
    this.#services = new ServiceAnswers({
      bus,
      run,
      version,
      host,
      calls: () => this.#owner.begun,
      startedAt: new Date().toISOString(),
    });
    this.#unwatch = bus.watch((event) => {
      if (event.is === 'up') this.#list.busIsUp();
      if (event.is === 'down' && event.why !== NOT_YET) options.logger.warn('NATS is away', { why: event.why });
      if (event.is === 'denied') this.#onDenied(event.operation, event.subject);
    });
  }

  // --- what is offered ---

  /** Offers these of the own servers. */
  offer(servers: readonly OfferedServer[]): void {
    this.#offered = servers.map(({ name }) => name);
    this.#owner.offer(servers.map(({ name, ...terms }) => ({ name, isForAny: !isBound(terms) })));
    this.#list.offer(servers);
  }

  // --- what can be used ---

  #hostsChanged(): void {
    const servers = new Map<string, BusServer>();
    const { settings, refusalOf } = this.#options;
    for (const known of this.#list.hosts) {
      if (known.host === settings.host) continue;
      for (const offered of known.servers) {
        const name = `${offered.name}@${known.host}`;
        if (!this.#use(name) && !this.#use(offered.name)) continue;
        if (refusalOf(name) !== undefined || refusalOf(offered.name) !== undefined) continue;
        const isOnly = this.#offerersOf(offered.name).length === 1;
        servers.set(name, this.#definition(name, offered, known.host, isOnly ? [offered.name] : []));
      }
    }
    this.#servers = servers;
    this.#anywhere.clear();
    this.#options.changed();
  }

  #offerersOf(name: string): KnownHost[] {
    const { host } = this.#options.settings;
    return this.#list.hosts.filter(
      (known) => known.host !== host && known.servers.some((server) => server.name === name),
    );
  }

  #usableOfferersOf(name: string): KnownHost[] {
    return this.#offerersOf(name).filter(({ host }) => this.#servers.has(`${name}@${host}`));
  }

  #definition(
    name: string,
    { name: offeredName, description, mark, sharing, nature }: OfferedServer,
    host: string | undefined,
    alsoNamed: readonly string[],
  ): BusServer {
    return {
      ...{ transport: 'bus', name, offeredName, host, mark, description },
      ...{ timeoutMs: undefined, startTimeoutMs: undefined, idleMs: undefined, tools: NO_FILTER },
      trustHints: this.#options.trustsHints(name),
      sharing: isBound({ sharing, nature }) ? (sharing ?? 'dedicated') : 'shared',
      ...(nature !== undefined && { nature }),
      ...(alsoNamed.length > 0 && { alsoNamed }),
    };
  }

  /** The servers of other hosts, by their names with the host. */
  get servers(): ReadonlyMap<string, BusServer> {
    return this.#servers;
  }

  /** A server by its name alone, where several hosts offer it: any of them answers. */
  anywhere(name: string): BusServer | undefined {
    const known = this.#anywhere.get(name);
    if (known !== undefined) return known;
    const offerers = this.#usableOfferersOf(name);
    const offers = offerers.flatMap(({ servers }) => servers.filter((server) => server.name === name));
    const [first] = offers;
    if (first === undefined || offers.some(isBound)) return undefined;
    const marks = [...new Set(offers.map(({ mark }) => mark))].toSorted();
    const mark = marks.length === 1 ? first.mark : createHash('sha256').update(marks.join()).digest('hex').slice(0, 32);
    const definition = this.#definition(name, { ...first, mark }, undefined, []);
    this.#anywhere.set(name, definition);
    return definition;
  }

  /** The names without a host that were asked for. */
  get askedAnywhere(): Iterable<BusServer> {
    return this.#anywhere.values();
  }

  open(definition: BusServer, context: OpenContext): HomeConnection {
    return this.#home.open(definition, context);
  }

  /** Why nothing can be asked of other hosts; undefined if it can. */
  get down(): string | undefined {
    return this.#home.down;
  }

  // --- faults ---

  #onBadEntry(host: string, why: string): void {
    if (host === this.#options.settings.host) this.#conflict = `${host}: ${why}`;
    this.#note('the entry of a host was not taken', { host, why });
  }

  #onBoardFault(why: string | undefined): void {
    if (why !== undefined && why !== this.#boardFault) this.#options.logger.warn('the list of hosts', { why });
    this.#boardFault = why;
  }

  #onDenied(operation: string, subject: string): void {
    if (subject.startsWith('mcp.v1.req.') && operation === 'publish') return; // whoever has asked is told
    if (this.#denied.size >= MOST_TOLD || this.#denied.has(`${operation} ${subject}`)) return;
    this.#denied.add(`${operation} ${subject}`);
    this.#options.logger.warn('NATS does not permit something that federation needs', { operation, subject });
  }

  /** A peer that is refused all the time fills no log. */
  #note(what: string, facts: Record<string, string>): void {
    this.#options.refused();
    const nowMs = this.#options.clock.now();
    if (nowMs - this.#toldMs >= 1000) {
      this.#toldMs = nowMs;
      this.#told = 0;
    }
    if (this.#told++ < MOST_TOLD) this.#options.logger.warn(what, facts);
  }

  // --- reports ---

  async report(): Promise<FederationReport> {
    const { settings, clock } = this.#options;
    const { down } = this.#home;
    const denied = [...this.#denied].map(
      (what) => `NATS does not let this daemon ${what}: see docs/federation.md for the permissions`,
    );
    const faults = [down === undefined ? undefined : `NATS is away: ${down}`, this.#boardFault, this.#conflict];
    const latencies =
      down === undefined
        ? await this.#services.latencies(
            this.#list.hosts.map(({ run }) => run),
            clock,
          )
        : new Map<string, number>();
    const nowMs = clock.now();
    return {
      ...{ host: settings.host, tenant: settings.tenant, user: settings.user, nats: this.#ground.server() ?? null },
      faults: [...faults.flatMap((fault) => fault ?? []), ...denied],
      offered: this.#offered,
      callsOfOthers: this.#owner.load.calls,
      hosts: this.#list.hosts.map(({ host, run, version, servers, calls, seenMs }) => ({
        ...{ host, version, calls, seenMs: Math.round(nowMs - seenMs) },
        servers: servers.map(({ name }) => name),
        used: servers.flatMap(({ name }) => (this.#servers.has(`${name}@${host}`) ? [name] : [])),
        latencyMs: latencies.get(run) ?? null,
      })),
    };
  }

  /** Says goodbye: others look for nothing here any more. Calls that are under way go on. */
  async leave(): Promise<void> {
    this.#owner.takeNoMore();
    await this.#list.close();
  }

  /** Ends all calls. */
  async close(): Promise<void> {
    this.#unwatch();
    await this.#list.close();
    this.#owner.close();
    this.#home.close();
    this.#services.close();
    await this.#ground.close();
  }
}

/** True for a server that keeps something for one client, or must not run twice: any other copy of it is another server. */
function isBound({ sharing, nature }: Pick<OfferedServer, 'sharing' | 'nature'>): boolean {
  return sharing === 'dedicated' || nature?.keepsState !== undefined || nature?.losesWrites !== undefined;
}

function natsGround({ settings, clock, failed }: FederationOptions): Ground {
  const { nats, host, hasBulkConnection: hasBulk } = settings;
  const bus = new NatsBus({ settings: nats, name: `mcp-bridge ${host}`, hasBulk, clock, failed });
  const board = new NatsBoard(() => bus.connection);
  return { bus, board, server: () => bus.server, close: () => bus.close() };
}
