// Puts the parts of federation together: this daemon's place among the hosts, what it offers there, and which servers
// of other hosts may be used here. It is loaded only if the config names a bus.

import { randomBytes } from 'node:crypto';
import type { AgentsElsewhere, AgentsHere } from '../model/agent-mail.ts';
import type { BusRefusal } from '../model/bus-refusal.ts';
import type { FederationReport, HostReport, LeaseReport } from '../model/federation-report.ts';
import type { FederationSettings } from '../model/federation-settings.ts';
import type { Limits } from '../model/limits.ts';
import type { Places } from '../model/places.ts';
import type { BusPrincipal } from '../model/principal.ts';
import type { BusServer } from '../model/server-definition.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { deferred } from '../util/deferred.ts';
import { anyOf } from '../util/glob.ts';
import type { Logger } from '../util/logger.ts';
import type { Carrier } from '../wire/link.ts';
import type { FlushTurn } from '../wire/outbox.ts';
import type { ReadPacer } from '../wire/read-pacer.ts';
import { AgentMail } from './agent-mail.ts';
import type { Board } from './board.ts';
import type { Bus } from './bus.ts';
import { type ClaimStore, Claims } from './claims.ts';
import { Home, type OpenContext } from './home.ts';
import type { HomeConnection } from './home-connection.ts';
import { decodeEntries, encodeEntries, type HostEntry, isBound, type OfferedServer } from './host-entry.ts';
import { HostList, type KnownHost } from './host-list.ts';
import { type LeaseBoard, LeaseTable } from './lease-table.ts';
import { NatsBoard } from './nats-board.ts';
import { bucketFault, ENTRIES, LEASES, makeBuckets as makeBucketsOf } from './nats-buckets.ts';
import { type BusServerFacts, NatsBus, NOT_YET } from './nats-bus.ts';
import { NatsLeases } from './nats-leases.ts';
import { OwnHost } from './own-host.ts';
import { Owner } from './owner.ts';
import { ServersElsewhere } from './servers-elsewhere.ts';
import { type ServiceAnswer, ServiceAnswers } from './service-answers.ts';
import { permissionFor, serverOfPattern, serverToken, tokenOf } from './subject.ts';

export interface FederationOptions {
  readonly settings: FederationSettings;
  readonly clock: Clock;
  readonly turn: FlushTurn;
  readonly pacer: ReadPacer;
  readonly limits: Limits;
  /** The places of clients that have no connection of their own. */
  readonly places: Places;
  readonly version: string;
  readonly uid: number;
  readonly logger: Logger;
  /** Makes a session for a link, with this one view. */
  readonly accept: (link: Carrier, principal: BusPrincipal, view: string) => unknown;
  /** The reason why policy forbids a server of this name; undefined if it is allowed. */
  readonly refusalOf: (name: string) => string | undefined;
  /** True if the hints on a server's tools are believed. */
  readonly trustsHints: (name: string) => boolean;
  /** The text in which the last run of this daemon kept the hosts that it knew; undefined if there is none. */
  readonly kept: string | undefined;
  /** Keeps a text for the next run. `text` is called when the text is written. */
  readonly keep: (text: () => string) => void;
  /** The agents of this host; undefined if they exchange no messages. */
  readonly agents?: AgentsHere | undefined;
  /** Called when the usable servers have changed. */
  readonly changed: () => void;
  /** Called when something of another host was refused. */
  readonly refused: (refusal: BusRefusal) => void;
  readonly failed: (error: unknown) => void;
}

/** The bus and everything that belongs to it. A test can bring another one. */
export interface Ground {
  readonly bus: Bus;
  readonly board: Board;
  readonly leases: LeaseBoard;
  /** Loads the store of long answers. */
  readonly claims: () => Promise<ClaimStore>;
  readonly server: () => BusServerFacts | undefined;
  readonly close: () => Promise<void>;
}

const RUN_BYTES = 9;
const RIVAL =
  'another daemon has the same name, so this one offers nothing: give federation.host another value on one of them';
const CONTESTED =
  'another daemon has the same name, and offers nothing while this one does: give federation.host another value on one of them';
/** Changes of leases within this time are told together. */
const TELL_MS = 50;
/** No daemon waits when NATS comes back with fewer hosts than this. */
const FEW_HOSTS = 50;
const DELAY_MS_FOR_EACH = 4;
const MOST_DELAY_MS = 4000;
/** The maximum number of refusals logged per second. */
const MOST_TOLD = 20;
const REFUSED: Readonly<Record<BusRefusal['what'], string>> = {
  request: 'a request of another host was refused',
  answer: 'something of another host was not taken',
  entry: 'the entry of a host was not taken',
  letter: 'a message of another host was refused',
  message: 'a message of another host was dropped unread',
};

export class Federation {
  readonly #options: FederationOptions;
  readonly #ground: Ground;
  readonly #run = randomBytes(RUN_BYTES).toString('base64url');
  readonly #owner: Owner;
  readonly #home: Home;
  readonly #own: OwnHost;
  readonly #mail: AgentMail | undefined;
  readonly #list: HostList;
  readonly #leases: LeaseTable;
  readonly #services: ServiceAnswers;
  readonly #elsewhere: ServersElsewhere;
  readonly #unwatch: () => void;
  readonly #boardFaults = new Map<'read' | 'written' | 'leases', string>();
  #hasRival = false;
  #isContested = false;
  readonly #denied = new Set<string>();
  /** Tokens of this host's own servers; NATS does not let this daemon hear their calls. */
  readonly #unheard = new Set<string>();
  #telling: Timer | undefined;
  readonly #firstLook = deferred<void>();
  #hasLooked = false;
  #isClosed = false;
  #offers: readonly OfferedServer[] = [];
  #told = 0;
  #toldMs = 0;

  constructor(options: FederationOptions, ground: Ground = natsGround(options)) {
    this.#options = options;
    this.#ground = ground;
    const { settings, clock, version } = options;
    const { tenant, user, host } = settings;
    const { bus, board } = ground;
    this.#elsewhere = new ServersElsewhere({
      ...{ use: settings.use, refusalOf: options.refusalOf, trustsHints: options.trustsHints },
      hasLease: (name) => this.#leases.has(name),
      leaseHolderOf: (name) => this.#leases.holderOf(name),
    });
    const run = this.#run;
    const common = { ...options, bus, tenant, user, host, claims: new Claims(ground.claims) };
    this.#owner = new Owner({
      ...common,
      run,
      fenceOf: (name) => this.#leases.fenceOf(name),
      runOf: (other) => this.#list.get(other)?.run,
      refused: ({ user: who, host: from, server }, why, count) =>
        this.#note({ what: 'request', user: who, host: from, server, why, count }),
    });
    const place = { board, clock, tenant, host, run, isDown: () => this.#home.down !== undefined };
    this.#own = new OwnHost({
      ...{ ...place, version, hasAgents: options.agents !== undefined && settings.agents.length > 0 },
      isAlive: async (other) => (await this.#services.ask([{ host, run: other }], clock)).has(other),
      rivalled: (hasRival) => this.#onRival(hasRival),
      contested: (isContested) => this.#onContest(isContested),
      forgotten: () => this.#list.watchAgain(),
      signed: () => this.#leases.tick(),
      fault: (error) => this.#onBoardFault('written', error),
    });
    this.#list = new HostList({
      ...place,
      changed: () => this.#hostsChanged(),
      gone: (gone, itsRun) => this.#onGone(gone, itsRun),
      replaced: (by) => this.#onReplaced(by),
      refused: (from, why) => this.#note({ what: 'entry', host: from, why }),
      fault: (error) => this.#onBoardFault('read', error),
    });
    this.#leases = new LeaseTable({
      ...{ ...place, board: ground.leases },
      sureUntilMs: () => (this.#hasRival ? Number.NEGATIVE_INFINITY : this.#own.sureUntilMs),
      doubted: () => this.#own.signNow(),
      isThere: (other, otherRun, name) => this.#isThere(other, otherRun, name),
      changed: (token) => this.#onLease(token),
      fault: (error) => this.#onBoardFault('leases', error),
    });
    this.#home = new Home({
      ...common,
      hasBulk: settings.hasBulkConnection,
      runOf: (name) => this.#list.get(name)?.run,
      mayAskAny: (name) => this.#elsewhere.mayAskAny(name),
      ownersOf: (name) => this.#elsewhere.ownersOf(name).map(({ host: owner }) => owner),
      refused: (server, host, why) => this.#note({ what: 'answer', server, host, why }),
    });
    this.#services = new ServiceAnswers({
      ...{ bus, run, version, tenant, user, host },
      calls: () => this.#owner.begun,
      openCalls: () => this.#owner.workCount,
      startedAt: new Date().toISOString(),
    });
    this.#mail = this.#makeMail();
    if (options.kept !== undefined) this.#list.remember(decodeEntries(options.kept));
    this.#unwatch = bus.watch((event) => {
      if (event.is === 'up') this.#onUp();
      if (event.is === 'down' && event.why !== NOT_YET) this.#onDown(event.why);
      if (event.is === 'denied') this.#onDenied(event.operation, event.subject);
    });
  }

  // --- agents ---

  #makeMail(): AgentMail | undefined {
    const { settings, agents: here, clock } = this.#options;
    const { tenant, user, host, agents } = settings;
    if (here === undefined || agents.length === 0) return undefined;
    return new AgentMail({
      ...{ bus: this.#ground.bus, clock, tenant, user, host, here, isAllowed: anyOf(agents) },
      hosts: () => this.#list.hosts.flatMap((known) => (known.hasAgents === true ? known.host : [])),
      unreachable: (other) => this.#unreachableHost(other),
      refused: (from, why) => this.#note({ what: 'letter', host: from, why }),
    });
  }

  #unreachableHost(host: string): string | undefined {
    const { down } = this.#home;
    if (down !== undefined) return `NATS is away (${down})`;
    if (this.#list.get(host) !== undefined) return undefined;
    const isSilent = [...this.#list.known].some((known) => known.host === host);
    return isSilent ? 'it gives no sign of life' : 'there is no such host';
  }

  /** The agents of other hosts; undefined if the config lets nobody write to them. */
  get agents(): AgentsElsewhere | undefined {
    return this.#mail;
  }

  // --- what is offered ---

  /** Offers exactly these of the own servers. */
  offer(servers: readonly OfferedServer[]): void {
    this.#offers = servers;
    this.#announce();
    const taken = this.#hasRival ? [] : servers;
    this.#owner.offer(taken.map(({ name, ...terms }) => ({ name, isForAny: !isBound(terms) })));
  }

  /** Announces the servers whose calls reach this host. */
  #announce(): void {
    const heard = this.#offers.filter(({ name }) => this.#isHeard(name));
    this.#own.offer(heard);
    this.#leases.offer(this.#hasRival ? [] : heard.filter(isBound).map(({ name }) => name));
  }

  /** False if NATS does not let this daemon hear the calls of this own server. */
  #isHeard(name: string): boolean {
    return !this.#unheard.has(serverToken(name, this.#options.settings.host));
  }

  /**
   * Called when another daemon has the same name, or has it no more. Two daemons with one name would take each other's
   * calls, so the later one offers nothing.
   */
  #onRival(hasRival: boolean): void {
    this.#hasRival = hasRival;
    if (hasRival) this.#options.logger.error(RIVAL, { host: this.#options.settings.host });
    this.offer(this.#offers);
  }

  /** Called when somebody has overwritten the entry of this host. The bus does not say who. */
  #onReplaced(by: HostEntry | undefined): void {
    const before = this.#own.overwrites;
    this.#own.wasReplaced(by);
    const { host } = this.#options.settings;
    if (this.#own.overwrites > before)
      this.#note({ what: 'entry', host, why: 'somebody else has written over the entry of this host' });
  }

  #onContest(isContested: boolean): void {
    this.#isContested = isContested;
    if (isContested) this.#options.logger.error(CONTESTED, { host: this.#options.settings.host });
  }

  // --- who is there ---

  /**
   * Called when NATS is back. All daemons come back then, so each waits before it speaks: the more hosts, the longer.
   */
  #onUp(): void {
    // NATS says again what it does not permit.
    this.#denied.clear();
    this.#unheard.clear();
    this.#announce();
    const { size } = this.#list;
    const delayMs = size < FEW_HOSTS ? 0 : Math.random() * Math.min(MOST_DELAY_MS, size * DELAY_MS_FOR_EACH);
    this.#own.busIsUp(delayMs);
    const reading = [this.#list.busIsUp(delayMs), this.#leases.busIsUp()];
    void Promise.all(reading).then(() => this.#looked());
  }

  #onDown(why: string): void {
    this.#options.logger.warn('NATS is away', { why });
    this.#looked();
  }

  /** Ends the first look. The hosts found by then count at once, also those of the last run. */
  #looked(): void {
    if (this.#hasLooked || this.#isClosed) return;
    this.#hasLooked = true;
    if (this.#list.size > 0) this.#hostsChanged();
    this.#firstLook.resolve();
  }

  /** Called when a host has left, was started again, or gives no more signs of life. */
  #onGone(host: string, run: string): void {
    const known = [...this.#list.known].find((one) => one.host === host);
    if (known?.isSilent === true) this.#owner.hostSilent(host);
    else this.#owner.hostLeft(host, run);
  }

  // --- servers that remember ---

  #isThere(host: string, run: string | undefined, name: string): boolean {
    const { settings } = this.#options;
    if (host === settings.host) return run === this.#run && this.#offers.some((offered) => offered.name === name);
    const known = this.#list.get(host);
    if (known === undefined || (run !== undefined && known.run !== run)) return false;
    return known.servers.some((offered) => offered.name === name && isBound(offered));
  }

  #onLease(token: string): void {
    const name = this.#elsewhere.leaseChanged(token);
    if (name === undefined) return;
    this.#home.leaseChanged(token, this.#leases.holderOf(name));
    this.#tellSoon();
  }

  /** Tells changes of leases together: many change at once when a host is gone. */
  #tellSoon(): void {
    this.#telling ??= this.#options.clock.after(TELL_MS, () => {
      this.#telling = undefined;
      this.#options.changed();
    });
  }

  // --- what can be used ---

  #hostsChanged(): void {
    this.#elsewhere.update(this.#list.hosts);
    if (this.#home.down === undefined) this.#options.keep(() => encodeEntries(this.#list.hosts));
    this.#options.changed();
  }

  /** The name without a host that reaches this server of another host now; undefined if calls by it go elsewhere. */
  alsoAs(name: string): string | undefined {
    return this.#elsewhere.alsoAs(name);
  }

  /** The servers of other hosts, by name with host. */
  get servers(): ReadonlyMap<string, BusServer> {
    return this.#elsewhere.byName;
  }

  /** Returns a server by its name alone. */
  anywhere(name: string): BusServer | undefined {
    return this.#elsewhere.anywhere(name);
  }

  /** The servers that were asked for by their names without a host. */
  get askedAnywhere(): Iterable<BusServer> {
    return this.#elsewhere.asked;
  }

  open(definition: BusServer, context: OpenContext): HomeConnection {
    const { name, isLeased } = definition;
    if (isLeased !== true) return this.#home.open(definition, context);
    const holder = this.#elsewhere.holderOf(name);
    if (holder === undefined || holder.host === this.#options.settings.host)
      throw new BridgeError('SERVER_UNREACHABLE', `Server ${name} cannot be reached: no host serves it now`, {
        server: name,
        hint: 'One of the hosts that offer it takes over within 30 s. See: mcp-bridge hosts',
      });
    return this.#home.open(definition, context, holder);
  }

  /** The reason why other hosts cannot be asked; undefined if they can. */
  get down(): string | undefined {
    return this.#home.down;
  }

  // --- faults ---

  #onBoardFault(doing: 'read' | 'written' | 'leases', error: unknown): void {
    const bucket = doing === 'leases' ? LEASES : ENTRIES;
    const why = error === undefined ? undefined : bucketFault(error, bucket, this.#ground.server());
    if (why === undefined) return void this.#boardFaults.delete(doing);
    if (![...this.#boardFaults.values()].includes(why)) this.#options.logger.warn('the list of hosts', { why });
    this.#boardFaults.set(doing, why);
  }

  #onDenied(operation: string, subject: string): void {
    if (isToldElsewhere(operation, subject)) return;
    const token = operation === 'subscribe' ? serverOfPattern(subject) : undefined;
    if (token !== undefined) {
      this.#unheard.add(token);
      this.#announce();
    }
    const denied = `${operation} ${permissionFor(subject.replace(this.#run, '*'))}`; // permissions name no run
    if (this.#denied.size >= MOST_TOLD || this.#denied.has(denied)) return;
    this.#denied.add(denied);
    this.#options.logger.warn('NATS does not permit something that federation needs', { operation, subject });
  }

  /** Logs a refusal, at most `MOST_TOLD` per second, so that a peer with endless refusals cannot fill the log. */
  #note(refusal: BusRefusal): void {
    this.#options.refused(refusal);
    const nowMs = this.#options.clock.now();
    if (nowMs - this.#toldMs >= 1000) {
      this.#toldMs = nowMs;
      this.#told = 0;
    }
    const { what, ...facts } = refusal;
    if (this.#told++ < MOST_TOLD) this.#options.logger.warn(REFUSED[what], facts);
  }

  // --- reports ---

  /** Resolves once the hosts that were there are known, or NATS has said why it is away. */
  get firstLook(): Promise<void> {
    return this.#firstLook.promise;
  }

  async report(): Promise<FederationReport> {
    const { settings, clock } = this.#options;
    const known = [...this.#list.known];
    const asked = known.filter(({ isSilent }) => !isSilent);
    const answers = this.#home.down === undefined ? await this.#services.ask(asked, clock) : new Map<string, never>();
    const nowMs = clock.now();
    return {
      ...{ host: settings.host, tenant: settings.tenant, user: settings.user, nats: natsOf(this.#ground.server()) },
      faults: this.#faults,
      offered: this.#hasRival ? [] : this.#offers.flatMap(({ name }) => (this.#isHeard(name) ? [name] : [])),
      ...{ callsOfOthers: this.#owner.workCount, listensOfOthers: this.#owner.listenCount },
      hosts: known.map((host) => this.#reportOf(host, answers.get(host.run), nowMs)),
      leases: this.#leaseReports,
    };
  }

  get #leaseReports(): LeaseReport[] {
    const own = this.#offers.flatMap((offered) => (isBound(offered) ? offered.name : []));
    const names = [...new Set([...own, ...this.#elsewhere.remembering])].toSorted();
    return names.map((server) => {
      const holder = own.includes(server) ? this.#leases.holderOf(server) : this.#elsewhere.holderOf(server);
      return { server, host: holder?.host ?? null };
    });
  }

  get #faults(): string[] {
    const { down } = this.#home;
    return [
      ...(down === undefined ? [] : [`NATS is away: ${down}`]),
      ...new Set(this.#boardFaults.values()),
      ...this.#nameFaults,
      ...this.#elsewhere.disagreements.slice(0, MOST_TOLD),
      ...this.#deniedFaults,
    ];
  }

  get #deniedFaults(): string[] {
    const denied = [...this.#denied];
    return (['publish', 'subscribe'] as const).flatMap((operation) => {
      const subjects = denied.flatMap((what) => (what.startsWith(operation) ? what.slice(operation.length + 1) : []));
      if (subjects.length === 0) return [];
      const listed = subjects.toSorted().join(', ');
      return [
        `NATS does not let this daemon ${operation} to ${listed}: give its user the permissions in docs/federation.md`,
      ];
    });
  }

  /** Faults around the name of this host: other daemons that use it, and foreign writes to its entry. */
  get #nameFaults(): string[] {
    if (this.#hasRival) return [RIVAL];
    if (this.#isContested) return [CONTESTED];
    const { overwrites } = this.#own;
    if (overwrites === 0) return [];
    const { tenant, host } = this.#options.settings;
    const key = `$KV.${ENTRIES}.${tokenOf(tenant)}.${tokenOf(host)}`;
    return [
      `somebody else has written over the entry of this host (${key}), ${overwrites} times so far, and this daemon has written it again: let only its user publish there (docs/federation.md)`,
    ];
  }

  #reportOf(known: KnownHost, answer: ServiceAnswer | undefined, nowMs: number): HostReport {
    const { host, version, servers, isSilent } = known;
    const seenMs = Math.max(0, Math.round(nowMs - this.#list.seenMsOf(known)));
    return {
      ...{ host, version, seenMs, calls: answer?.calls ?? 0, latencyMs: answer?.latencyMs ?? null },
      servers: servers.map(({ name }) => name),
      used: isSilent ? [] : servers.flatMap(({ name }) => (this.#elsewhere.isUsable(name, { host }) ? [name] : [])),
      unreachable: this.#unreachable(known, answer, seenMs),
    };
  }

  /** Returns the reason why a host cannot be reached; null if it can. */
  #unreachable({ isSilent }: KnownHost, answer: ServiceAnswer | undefined, seenMs: number): string | null {
    if (this.#home.down !== undefined) return 'NATS is away';
    if (isSilent)
      return `it has been silent for ${Math.round(seenMs / 1000)} s: its daemon, its machine or its network is away`;
    return answer === undefined ? 'it is on the list of hosts, and its daemon does not answer' : null;
  }

  /** Says goodbye, so that other hosts stop asking here. Calls under way go on. */
  async leave(): Promise<void> {
    this.#owner.takeNoMore();
    this.#list.close();
    await this.#leases.close();
    await this.#own.close();
  }

  /** Ends all calls. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unwatch();
    this.#telling?.cancel();
    this.#list.close();
    await this.#leases.close();
    await this.#own.close();
    this.#owner.close();
    this.#home.close();
    this.#mail?.close();
    this.#services.close();
    await this.#ground.close();
  }
}

function natsOf(server: BusServerFacts | undefined): FederationReport['nats'] {
  return server === undefined ? null : { address: server.address, version: server.version };
}

/** True for a denied operation that is reported elsewhere: with a bucket, or nowhere because nobody needs it. */
function isToldElsewhere(operation: string, subject: string): boolean {
  if (operation === 'publish') return /^\$(?:JS\.API|KV)\./.test(subject);
  // Only NATS' own tools ask there, and callers that do not count frames.
  return /^\$SRV\.|^_INBOX.*\.ctl$/.test(subject);
}

/** Makes the missing buckets, for the command. @public */
export const makeBuckets = makeBucketsOf;

function natsGround({ settings, clock, pacer, refused, failed }: FederationOptions): Ground {
  const { nats, host, tenant, hasBulkConnection: hasBulk } = settings;
  const own = { name: `mcp-bridge ${host}`, inboxPrefix: `_INBOX.${tokenOf(host)}` };
  const unread = (): void => refused({ what: 'message', why: 'it has more than 64 headers, or 32 KiB of them' });
  const bus = new NatsBus({ settings: nats, ...own, hasBulk, clock, pacer, refused: unread, failed });
  const board = new NatsBoard(bus);
  const leases = new NatsLeases(bus);
  const claims = async (): Promise<ClaimStore> => {
    const { NatsClaims } = await import('./nats-claims.ts');
    return new NatsClaims(tenant, clock, () => bus.bulkConnection);
  };
  return { bus, board, leases, claims, server: () => bus.server, close: () => bus.close() };
}
