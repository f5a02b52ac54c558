// The servers of other hosts that may be used here, and their names: `NAME@HOST` for each, and `NAME` alone for any
// host that offers it, or for the one that serves it by a lease. It is built from what hosts say. It asks nobody, and
// does not know the names defined here.

import { createHash } from 'node:crypto';
import type { BusServer } from '../model/server-definition.ts';
import { NO_FILTER } from '../model/tool-rules.ts';
import { anyOf } from '../util/glob.ts';
import { isBound, type OfferedServer } from './host-entry.ts';
import type { KnownHost } from './host-list.ts';
import type { Holder } from './lease-table.ts';
import { tokenOf } from './subject.ts';

/** An unused connection ends soon: a new one costs only two short messages, and many hosts have many servers. */
const IDLE_MS = 30_000;

interface ElsewhereOptions {
  /** Globs over names that are used here, with or without the host. */
  readonly use: readonly string[];
  /** The reason why policy forbids a server of this name; undefined if it is allowed. */
  readonly refusalOf: (name: string) => string | undefined;
  /** True if the hints on a server's tools are believed. */
  readonly trustsHints: (name: string) => boolean;
  readonly hasLease: (name: string) => boolean;
  /** Returns the host that is present and has the lease. */
  readonly leaseHolderOf: (name: string) => Holder | undefined;
}

interface Offerer {
  readonly host: string;
  readonly offered: OfferedServer;
}

export class ServersElsewhere {
  readonly #options: ElsewhereOptions;
  readonly #use: (text: string) => boolean;
  #byName: ReadonlyMap<string, BusServer> = new Map();
  /** The definitions made so far, by their offers. */
  readonly #made = new WeakMap<OfferedServer, BusServer>();
  /** Names without a host that were asked for and that several hosts offer. */
  readonly #anywhere = new Map<string, BusServer>();
  /** The hosts that offer each name, even if it may not be used. */
  #offerers: ReadonlyMap<string, readonly Offerer[]> = new Map();
  /** The offered names, by the tokens in leases and subjects. */
  #nameOfToken: ReadonlyMap<string, string> = new Map();

  constructor(options: ElsewhereOptions) {
    this.#options = options;
    this.#use = anyOf(options.use);
  }

  /** Called with the hosts that are present now. */
  update(hosts: readonly KnownHost[]): void {
    const byName = new Map<string, BusServer>();
    const { refusalOf } = this.#options;
    this.#offerers = offerersIn(hosts);
    this.#nameOfToken = new Map([...this.#offerers.keys()].map((name) => [tokenOf(name), name]));
    for (const [offeredName, offerers] of this.#offerers) {
      const isNameUsed = this.#use(offeredName);
      const isNameRefused = refusalOf(offeredName) !== undefined;
      // A server that keeps state is a separate server under its name alone: it may move to another host.
      const isOnly = offerers.length === 1 && !offerers.some(({ offered }) => isBound(offered));
      for (const { offered, host } of offerers) {
        const name = `${offeredName}@${host}`;
        if (isNameRefused || !(isNameUsed || this.#use(name)) || refusalOf(name) !== undefined) continue;
        byName.set(name, this.#definitionOf(name, offered, host, isOnly));
      }
    }
    this.#byName = byName;
    this.#anywhere.clear();
  }

  /** Called when another host, or none, serves the server of this token. Returns its name, if any host offers it. */
  leaseChanged(token: string): string | undefined {
    const name = this.#nameOfToken.get(token);
    if (name !== undefined) this.#anywhere.delete(name);
    return name;
  }

  /** The servers, by name with host. */
  get byName(): ReadonlyMap<string, BusServer> {
    return this.#byName;
  }

  /** The names of the servers that keep state. */
  get remembering(): string[] {
    return [...this.#offerers].flatMap(([name, of]) => (of.some(({ offered }) => isBound(offered)) ? name : []));
  }

  /** True if every host that offers a shared server may be asked, so that NATS may choose one. */
  mayAskAny(name: string): boolean {
    return (this.#offerers.get(name) ?? []).every((one) => isBound(one.offered) || this.isUsable(name, one));
  }

  /** Returns the host that serves a server with state. Without a lease, it is the only host that offers it. */
  holderOf(name: string): Holder | undefined {
    const held = this.#options.leaseHolderOf(name);
    const usable = this.ownersOf(name);
    const [first, ...others] = usable;
    if (held !== undefined && !usable.some(({ host }) => host === held.host)) return undefined;
    if (held !== undefined || this.#options.hasLease(name) || first === undefined || others.length > 0) return held;
    return { host: first.host, fence: undefined };
  }

  isUsable(name: string, { host }: Pick<Offerer, 'host'>): boolean {
    return this.#byName.has(`${name}@${host}`);
  }

  /**
   * Returns the hosts that calls by a name alone go to. If hosts disagree about whether the server keeps state, a lease
   * decides. Without a lease, a host that merely claims state takes the name from nobody.
   */
  ownersOf(name: string): readonly Offerer[] {
    const usable = (this.#offerers.get(name) ?? []).filter((one) => this.isUsable(name, one));
    const free = usable.filter(({ offered }) => !isBound(offered));
    if (free.length === 0 || free.length === usable.length) return usable;
    return this.#options.hasLease(name) ? usable.filter(({ offered }) => isBound(offered)) : free;
  }

  /** The names that hosts offer differently. */
  get disagreements(): string[] {
    return [...this.#offerers].flatMap(([name, offerers]) => {
      const owners = this.ownersOf(name);
      const others = offerers.filter((one) => this.isUsable(name, one) && !owners.includes(one));
      if (others.length === 0) return [];
      const how = others.some(({ offered }) => isBound(offered)) ? 'as one that remembers' : 'as one for everybody';
      const where = others.map(({ host }) => host).join(', ');
      return [`${name} is offered ${how} by ${where}, unlike by others: calls of ${name} alone do not go there`];
    });
  }

  /** Returns the definition of an offer; it stays the same object as long as the offer does. */
  #definitionOf(name: string, offered: OfferedServer, host: string, isOnly: boolean): BusServer {
    const known = this.#made.get(offered);
    const isSame = (known?.alsoNamed !== undefined) === isOnly && known?.trustHints === this.#options.trustsHints(name);
    if (known !== undefined && isSame) return known;
    const definition = this.#definition(name, offered, host, isOnly ? [offered.name] : undefined);
    this.#made.set(offered, definition);
    return definition;
  }

  /** Makes a definition. All have the same shape, because there may be thousands. */
  #definition(
    name: string,
    offered: OfferedServer,
    host: string | undefined,
    alsoNamed?: readonly string[],
  ): BusServer {
    const { name: offeredName, description, mark, sharing, nature } = offered;
    return {
      transport: 'bus',
      name,
      offeredName,
      host,
      mark,
      description,
      timeoutMs: undefined,
      startTimeoutMs: undefined,
      idleMs: IDLE_MS,
      tools: NO_FILTER,
      trustHints: this.#options.trustsHints(name),
      sharing: isBound({ sharing, nature }) ? (sharing ?? 'dedicated') : 'shared',
      nature,
      alsoNamed,
    };
  }

  /** Returns a server by its name alone if several hosts offer it: any of them answers, or its current holder. */
  anywhere(name: string): BusServer | undefined {
    const known = this.#anywhere.get(name);
    if (known !== undefined) return known;
    const offerers = this.ownersOf(name);
    const offers = offerers.map(({ offered }) => offered);
    const ofAny = { anyOf: offerers.map(({ host }) => `${name}@${host}`) };
    const [first] = offers;
    if (first === undefined) return undefined;
    if (offers.some(isBound)) {
      const holder = this.holderOf(name)?.host;
      const { offered } = offerers.find(({ host }) => host === holder) ?? { offered: first };
      const leased = { ...this.#definition(name, offered, undefined), ...ofAny, isLeased: true };
      this.#anywhere.set(name, leased);
      return leased;
    }
    const marks = [...new Set(offers.map(({ mark }) => mark))].toSorted();
    const mark = marks.length === 1 ? first.mark : createHash('sha256').update(marks.join()).digest('hex').slice(0, 32);
    const definition = { ...this.#definition(name, { ...first, mark }, undefined), ...ofAny };
    this.#anywhere.set(name, definition);
    return definition;
  }

  /** Returns the name without a host that reaches this server now; undefined if calls by it go elsewhere. */
  alsoAs(name: string): string | undefined {
    const definition = this.#byName.get(name);
    if (definition === undefined) return undefined;
    const { offeredName, host } = definition;
    const owners = this.ownersOf(offeredName);
    if (!owners.some((owner) => owner.host === host)) return undefined;
    if (!owners.some(({ offered }) => isBound(offered))) return offeredName;
    return this.holderOf(offeredName)?.host === host ? offeredName : undefined;
  }

  /** The servers that were asked for by their names without a host. */
  get asked(): Iterable<BusServer> {
    return this.#anywhere.values();
  }
}

function offerersIn(hosts: readonly KnownHost[]): Map<string, Offerer[]> {
  const offerers = new Map<string, Offerer[]>();
  for (const { host, servers } of hosts)
    for (const offered of servers) {
      const of = offerers.get(offered.name);
      if (of === undefined) offerers.set(offered.name, [{ host, offered }]);
      else of.push({ host, offered });
    }
  return offerers;
}
