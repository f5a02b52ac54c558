// The hosts that are there, and what they offer. Each daemon writes an entry of its own on a board that all read, renews it, and takes it
// away when it leaves. What an entry says is the word of another host: it is checked and bounded, and counts for that host alone.

import type { ServerNature, Sharing } from '../model/server-definition.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { isRecord } from '../util/json-value.ts';
import { PROTOCOL_VERSION } from './frames.ts';
import { isToken, tokenOf } from './subject.ts';

/** The place where entries stand. The bus has one; an entry that is not renewed disappears from it in time. */
export interface Board {
  /** Writes an entry; throws why that is not possible. */
  put(key: string, value: Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
  /** Tells of each entry that is there, was written, or was removed. Returns what ends it. */
  watch(prefix: string, changed: (key: string, value: Uint8Array | undefined) => void): Promise<() => void>;
}

export const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
const TICK_MS = 1000;
const MOST_HOSTS = 4096;
const MOST_SERVERS = 2000;
const MOST_ENTRY_BYTES = 512 * 1024;
const MOST_NAME = 128;
const MOST_DESCRIPTION = 500;

/** The form of a host's name. It stands in headers and keys as it is. */
const HOST_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

export interface OfferedServer {
  readonly name: string;
  readonly description: string;
  /** Marks the definition, without showing anything of it. */
  readonly mark: string;
  readonly sharing: Sharing | undefined;
  readonly nature: ServerNature | undefined;
}

interface HostEntry {
  readonly host: string;
  /** Names one run of the daemon there. */
  readonly run: string;
  readonly version: string;
  readonly servers: readonly OfferedServer[];
  /** The calls that it works on for other hosts. */
  readonly calls: number;
}

export interface KnownHost extends HostEntry {
  readonly seenMs: number;
}

export interface HostListOptions {
  readonly board: Board;
  readonly clock: Clock;
  readonly tenant: string;
  readonly host: string;
  readonly run: string;
  readonly version: string;
  readonly load: () => number;
  readonly isDown: () => boolean;
  /** Hosts have come or gone, or offer something else. */
  readonly changed: () => void;
  readonly gone: (host: string) => void;
  /** The entry of a host was not taken. */
  readonly refused: (host: string, why: string) => void;
  /** The board cannot be written or read, or can again. */
  readonly fault: (why: string | undefined) => void;
  readonly faultOf: (error: unknown) => string;
}

export class HostList {
  readonly #options: HostListOptions;
  readonly #hosts = new Map<string, KnownHost>();
  readonly #tick: Timer;
  #offers: readonly OfferedServer[] = [];
  #renewedMs = Number.NEGATIVE_INFINITY;
  #isWriting = false;
  #isClosed = false;
  #unwatch: (() => void) | undefined;
  #isWatching = false;

  constructor(options: HostListOptions) {
    this.#options = options;
    this.#tick = options.clock.every(TICK_MS, () => this.tick());
  }

  get hosts(): readonly KnownHost[] {
    return [...this.#hosts.values()];
  }

  get(host: string): KnownHost | undefined {
    return this.#hosts.get(host);
  }

  get #key(): string {
    return `${tokenOf(this.#options.tenant)}.${tokenOf(this.#options.host)}`;
  }

  /** Offers these servers from now on. */
  offer(offers: readonly OfferedServer[]): void {
    const isSame = JSON.stringify(offers) === JSON.stringify(this.#offers);
    this.#offers = offers;
    if (!isSame) this.#renewSoon();
  }

  #renewSoon(): void {
    this.#renewedMs = Number.NEGATIVE_INFINITY;
    void this.#renew();
  }

  /** The bus is there, again or for the first time: entries may have come and gone meanwhile. */
  busIsUp(): void {
    const nowMs = this.#options.clock.now();
    for (const [host, known] of this.#hosts) this.#hosts.set(host, { ...known, seenMs: nowMs });
    this.#renewSoon();
    void this.#watch();
  }

  async #watch(): Promise<void> {
    if (this.#isWatching || this.#isClosed) return;
    this.#isWatching = true;
    const { board, tenant, faultOf, fault } = this.#options;
    this.#unwatch?.();
    this.#unwatch = undefined;
    try {
      const prefix = `${tokenOf(tenant)}.`;
      const unwatch = await board.watch(prefix, (key, value) => this.#entry(key.slice(prefix.length), value));
      if (this.#isClosed) unwatch();
      else this.#unwatch = unwatch;
    } catch (error) {
      fault(faultOf(error));
    }
    this.#isWatching = false;
  }

  async #renew(): Promise<void> {
    const { board, clock, host, run, version, load, fault, faultOf, isDown } = this.#options;
    if (this.#isWriting || this.#isClosed || isDown()) return;
    this.#isWriting = true;
    this.#renewedMs = clock.now();
    const entry = { v: 1, host, run, version, era: PROTOCOL_VERSION, calls: load(), servers: this.#offers };
    try {
      await board.put(this.#key, Buffer.from(JSON.stringify(entry)));
      fault(undefined);
      if (this.#unwatch === undefined) void this.#watch();
    } catch (error) {
      fault(faultOf(error));
    }
    this.#isWriting = false;
  }

  /** Takes an entry that was written, or the word that it was removed. */
  #entry(key: string, value: Uint8Array | undefined): void {
    if (this.#isClosed) return;
    if (value === undefined) {
      for (const { host } of this.#hosts.values()) if (tokenOf(host) === key) this.#forget(host);
      return;
    }
    const { host: own, run, refused, clock, changed } = this.#options;
    const entry = entryOf(value);
    if (typeof entry === 'string') return refused(key, entry);
    if (tokenOf(entry.host) !== key) return refused(key, `its entry is that of ${entry.host}`);
    if (entry.host === own) {
      if (entry.run !== run) refused(own, 'another daemon has the same name: federation.host differs on each host');
      return;
    }
    const known = this.#hosts.get(entry.host);
    if (known === undefined && this.#hosts.size >= MOST_HOSTS)
      return refused(entry.host, `there are ${MOST_HOSTS} hosts already`);
    this.#hosts.set(entry.host, { ...entry, seenMs: clock.now() });
    if (known !== undefined && known.run !== entry.run) this.#options.gone(entry.host);
    if (known === undefined || known.run !== entry.run || !isSameOffer(known, entry)) changed();
  }

  #forget(host: string): void {
    if (!this.#hosts.delete(host)) return;
    this.#options.gone(host);
    this.#options.changed();
  }

  /** Called once a second. While the bus is away nobody can renew an entry, so none is over. */
  tick(): void {
    const { clock, isDown } = this.#options;
    if (isDown()) return;
    const nowMs = clock.now();
    for (const { host, seenMs } of [...this.#hosts.values()]) if (nowMs - seenMs > LEASE_MS) this.#forget(host);
    if (nowMs - this.#renewedMs >= RENEW_MS) void this.#renew();
  }

  /** Takes the own entry away, so that others need not wait for its end. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#tick.cancel();
    this.#unwatch?.();
    if (this.#options.isDown()) return;
    try {
      await this.#options.board.remove(this.#key);
    } catch (error) {
      this.#options.faultOf(error); // the entry is over by itself in a moment
    }
  }
}

function isSameOffer(a: HostEntry, b: HostEntry): boolean {
  return JSON.stringify(a.servers) === JSON.stringify(b.servers);
}

/** Reads an entry; a text says why it cannot be used. */
function entryOf(value: Uint8Array): HostEntry | string {
  if (value.length > MOST_ENTRY_BYTES) return `its entry has more than ${MOST_ENTRY_BYTES} bytes`;
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString());
  } catch (error) {
    return `its entry cannot be read: ${error instanceof SyntaxError ? 'it is not JSON' : 'its text is too long'}`;
  }
  if (!isRecord(read) || read.v !== 1) return 'its entry is of another version';
  const { host, run, version, servers, calls, era } = read;
  if (typeof host !== 'string' || !HOST_NAME.test(host)) return 'its entry has no name of a host';
  if (typeof run !== 'string' || !isToken(run) || run.length > 64) return 'its entry names no run of its daemon';
  if (era !== PROTOCOL_VERSION) return `it speaks ${String(era).slice(0, 32)} on the bus`;
  if (!Array.isArray(servers) || servers.length > MOST_SERVERS)
    return `it offers more than ${MOST_SERVERS} servers, or no list`;
  return {
    ...{ host, run, version: typeof version === 'string' ? version.slice(0, 64) : '' },
    servers: servers.flatMap((server: unknown) => serverOf(server)),
    calls: typeof calls === 'number' ? calls : 0,
  };
}

/** An offer that cannot be read is none. */
function serverOf(server: unknown): OfferedServer[] {
  if (!isRecord(server)) return [];
  const { name, description, mark, sharing, nature } = server;
  if (typeof name !== 'string' || name === '' || name.length > MOST_NAME || /[\p{Cc}@]/u.test(name)) return [];
  if (typeof mark !== 'string' || !isToken(mark) || mark.length > 64) return [];
  const text = typeof description === 'string' ? description.slice(0, MOST_DESCRIPTION) : '';
  const isSharing = sharing === 'auto' || sharing === 'shared' || sharing === 'dedicated';
  return [{ name, description: text, mark, sharing: isSharing ? sharing : undefined, nature: natureOf(nature) }];
}

function natureOf(nature: unknown): ServerNature | undefined {
  if (!isRecord(nature)) return undefined;
  const { keepsState, losesWrites } = nature;
  return {
    ...(typeof keepsState === 'string' && { keepsState: keepsState.slice(0, MOST_DESCRIPTION) }),
    ...(typeof losesWrites === 'string' && { losesWrites: losesWrites.slice(0, MOST_DESCRIPTION) }),
  };
}
