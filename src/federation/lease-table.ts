// Decides which host serves a server by its name alone, if the server keeps state: one host at a time, by a lease. The
// lease has a number that rises with each new holder. A lease needs no renewal: it holds while its host gives signs of
// life. A host that cannot be sure that its signs are seen serves nothing.
//
//   nobody ─ a host that offers it writes its name ─▶ held ─ it leaves, or is gone ─▶ another one writes its own, with the next number

import { isHostName } from '../model/host-name.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { isRecord } from '../util/json-value.ts';
import { isToken, tokenOf } from './subject.ts';

const TICK_MS = 1000;
/** No holder counts as gone before leases and hosts have been watched for so long. */
const SETTLE_MS = 15_000;
const MOST_LEASES = 10_000;
const MOST_BYTES = 1024;
/** A higher number is nobody's: a year has fewer changes than this. */
const MOST_FENCE = 1_000_000_000;

/** The place where leases are stored. */
export interface LeaseBoard {
  /**
   * Writes a lease over the write with this number, or as the first one. Returns the number of the new write, or
   * undefined if another write came first.
   */
  write(key: string, value: Uint8Array, over: number | undefined): Promise<number | undefined>;
  /**
   * Calls the listener for each lease that exists or is written, with the number of the write. Calls `ended` when the
   * watch ends.
   */
  watch(prefix: string, changed: LeaseListener, ended: () => void): Promise<() => void>;
}

/**
 * Called for each lease. `refuted` is the number of a write that is no longer the last one, according to the board; the
 * board has read this lease because of that.
 */
export type LeaseListener = (key: string, value: Uint8Array | undefined, write: number, refuted?: number) => void;

/** A lease as it is on the bus: its host and its number. */
export interface Holder {
  readonly host: string;
  /** Undefined if there is no lease and only one host offers the server. */
  readonly fence: number | undefined;
}

interface Lease extends Holder {
  readonly fence: number;
  /** '' for a lease that was given up. */
  readonly host: string;
  readonly run: string;
  readonly write: number;
}

export interface LeaseTableOptions {
  readonly board: LeaseBoard;
  readonly clock: Clock;
  readonly tenant: string;
  readonly host: string;
  readonly run: string;
  readonly isDown: () => boolean;
  /** The time until which all other hosts believe that this host is alive. */
  readonly sureUntilMs: () => number;
  /** Called when this host is not sure any more and had leases. They are confirmed after its next sign. */
  readonly doubted: () => void;
  /** True if this run of a host is present and offers the server. */
  readonly isThere: (host: string, run: string | undefined, name: string) => boolean;
  /** Called when another host, or none, serves the server of this token. */
  readonly changed: (token: string) => void;
  readonly fault: (error: unknown) => void;
}

export class LeaseTable {
  readonly #options: LeaseTableOptions;
  readonly #prefix: string;
  readonly #leases = new Map<string, Lease>();
  /** The names of own servers that keep state, by their keys. */
  #offered: ReadonlyMap<string, string> = new Map();
  /**
   * The numbers of leases held here. Each was written or confirmed while all others certainly believed that this host
   * is alive.
   */
  readonly #held = new Map<string, number>();
  /**
   * The leases taken over from an earlier run of this daemon. Each is taken over only once: otherwise two daemons with
   * one name would take it from each other without end.
   */
  readonly #inherited = new Set<string>();
  readonly #writing = new Set<string>();
  /** The last numbers of own servers' leases that are gone from the board. The next numbers are higher. */
  readonly #gone = new Map<string, number>();
  /**
   * Leases of the last watch that this watch has not mentioned. The board may have lost them, and may count from 1
   * again.
   */
  #stale = new Set<string>();
  readonly #tick: Timer;
  #unwatch: (() => void) | undefined;
  #isOpening = false;
  /** The number of times that the bus came back: a watch from before is dead. */
  #ups = 0;
  #watchedMs = Number.POSITIVE_INFINITY;
  /** True if writing a lease failed and no write has succeeded since. */
  #isFaulty = false;
  #isClosed = false;

  constructor(options: LeaseTableOptions) {
    this.#options = options;
    this.#prefix = `${tokenOf(options.tenant)}.`;
    this.#tick = options.clock.every(TICK_MS, () => this.tick());
  }

  /** False for a server without a lease, or if leases cannot be read. */
  has(name: string): boolean {
    return this.#unwatch !== undefined && this.#leases.has(tokenOf(name));
  }

  // --- for homes ---

  /** Returns the host that serves a server by its name alone. */
  holderOf(name: string): Holder | undefined {
    const lease = this.#leases.get(tokenOf(name));
    return lease !== undefined && this.#isHeld(lease, name) ? { host: lease.host, fence: lease.fence } : undefined;
  }

  #isHeld({ host, run }: Lease, name: string): boolean {
    return host !== '' && this.#options.isThere(host, run, name);
  }

  // --- for owners ---

  /** Serves these own servers wherever no other host does. */
  offer(names: readonly string[]): void {
    const offered = new Map(names.map((name) => [tokenOf(name), name]));
    const before = this.#offered;
    this.#offered = offered;
    for (const key of before.keys()) if (!offered.has(key)) void this.#giveUp(key);
    this.tick();
  }

  /**
   * Returns the number of the lease by which this host serves a server; undefined if it does not, or cannot be sure
   * that it does.
   */
  fenceOf(name: string): number | undefined {
    this.#checkLife();
    return this.#held.get(tokenOf(name));
  }

  /**
   * Drops all leases held here if this host stood still or was cut off: it may have lost them, so each must be
   * confirmed again.
   */
  #checkLife(): void {
    const { clock, sureUntilMs, isDown, doubted } = this.#options;
    if (this.#held.size === 0 || (!isDown() && clock.now() <= sureUntilMs())) return;
    this.#held.clear();
    doubted();
  }

  /**
   * Called when the bus is up, for the first time or again: other hosts may have served meanwhile. Resolves once the
   * leases were read or could not be.
   */
  busIsUp(): Promise<void> {
    this.#ups++;
    this.#held.clear();
    this.#unwatch?.();
    this.#unwatch = undefined;
    return this.#watch();
  }

  async #watch(): Promise<void> {
    const { board, clock, isDown, fault } = this.#options;
    if (this.#isOpening || this.#isClosed) return;
    this.#isOpening = true;
    this.#stale = new Set(this.#leases.keys());
    const ups = this.#ups;
    let isOver = false;
    let unwatch: (() => void) | undefined;
    try {
      unwatch = await board.watch(
        this.#prefix,
        (key, value, write, refuted) => this.#arrived(key.slice(this.#prefix.length), value, write, refuted),
        () => {
          isOver = true; // may come before the watch has begun, or if it never begins
          if (this.#unwatch === unwatch) this.#unwatch = undefined;
        },
      );
      if (this.#isClosed || ups !== this.#ups) unwatch();
      else if (!isOver) this.#unwatch = unwatch;
      this.#watchedMs = clock.now();
      fault(undefined);
    } catch (error) {
      if (!this.#isClosed && !isDown()) fault(error);
    }
    this.#isOpening = false;
    if (this.#unwatch !== undefined) this.tick();
    else if (ups !== this.#ups) void this.#watch(); // the bus came back meanwhile
  }

  #arrived(key: string, value: Uint8Array | undefined, write: number, refuted: number | undefined): void {
    const known = this.#leases.get(key);
    const isEarlier = known !== undefined && known.write > write && known.write !== refuted;
    const isFirst = this.#stale.delete(key);
    if (isEarlier && !isFirst) return; // a later write of our own was confirmed first
    // If the lease cannot be read, the last known one stays, and its holder writes it again at once. If none is known,
    // it is nobody's and gets overwritten.
    const lease = value === undefined ? undefined : leaseIn(value);
    const isSpoiled = value !== undefined && lease === undefined;
    const read = isSpoiled ? (known ?? NOBODYS) : lease;
    if (read === undefined) this.#forget(key);
    else if (known !== undefined || this.#leases.size < MOST_LEASES) this.#leases.set(key, { ...read, write });
    if (read === undefined || isSpoiled || !this.#isOwn(read)) this.#held.delete(key);
    const name = this.#offered.get(key);
    if (name !== undefined) this.#consider(key, name);
    if (known?.host !== read?.host || known?.fence !== read?.fence) this.#options.changed(key);
  }

  #forget(key: string): void {
    const known = this.#leases.get(key);
    this.#leases.delete(key);
    if (known !== undefined && this.#offered.has(key)) this.#gone.set(key, known.fence);
  }

  #isOwn({ host, run }: Pick<Lease, 'host' | 'run'>): boolean {
    return host === this.#options.host && run === this.#options.run;
  }

  /** Called once a second. */
  tick(): void {
    const { isDown, clock, sureUntilMs } = this.#options;
    this.#checkLife();
    if (this.#isClosed || isDown()) return;
    if (this.#unwatch === undefined) return void this.#watch();
    if (clock.now() > sureUntilMs()) return;
    for (const [key, name] of this.#offered) this.#consider(key, name);
    // Another host has the lease by now, so nothing is left to write.
    if (this.#isFaulty && this.#writing.size === 0) this.#wrote(undefined);
  }

  #wrote(error: unknown): void {
    this.#isFaulty = error !== undefined;
    this.#options.fault(error);
  }

  /** Takes a lease that nobody has, confirms a lease held here, or leaves it to its holder. */
  #consider(key: string, name: string): void {
    if (this.#writing.has(key) || this.#held.has(key) || this.#unwatch === undefined) return;
    const { host, clock, isThere, sureUntilMs } = this.#options;
    if (clock.now() > sureUntilMs()) return;
    const lease = this.#leases.get(key);
    if (lease === undefined) return void this.#take(key, after(this.#gone.get(key) ?? 0), undefined);
    if (this.#isOwn(lease)) return void this.#take(key, lease.fence, lease.write);
    if (lease.host === host) {
      if (!this.#inherited.has(key)) void this.#inherit(key, lease);
      return;
    }
    const isSettled = clock.now() - this.#watchedMs >= SETTLE_MS;
    // A restarted daemon takes over its lease itself.
    const isGone = isSettled && lease.host !== '' && !isThere(lease.host, undefined, name);
    // If the lease cannot be read, its holder has this time to write it again.
    const isFree = lease.host === '' && (lease.fence > 0 || isSettled);
    if (isFree || isGone) void this.#take(key, after(lease.fence), lease.write);
  }

  async #inherit(key: string, { fence, write }: Lease): Promise<void> {
    if (await this.#take(key, after(fence), write)) this.#inherited.add(key);
  }

  /** Writes the lease for this host; returns true once it is held here. */
  async #take(key: string, fence: number, over: number | undefined): Promise<boolean> {
    const { host, run } = this.#options;
    const write = await this.#write(key, { host, run, fence }, over).catch((error: unknown) => void this.#wrote(error));
    if (this.#isClosed) return false;
    if (write === undefined) {
      // Another write came first and will be told soon, or the board has lost everything.
      if (this.#stale.delete(key)) this.#forget(key);
      return false;
    }
    const known = this.#leases.get(key);
    if (known !== undefined && known.write > write) return false; // another host was quicker after all
    this.#leases.set(key, { host, run, fence, write });
    this.#held.set(key, fence);
    this.#gone.delete(key);
    this.#wrote(undefined);
    this.#checkLife();
    if (known?.host !== host || known.fence !== fence) this.#options.changed(key);
    return true;
  }

  async #write(key: string, lease: Omit<Lease, 'write'>, over: number | undefined): Promise<number | undefined> {
    this.#writing.add(key);
    try {
      return await this.#options.board.write(this.#prefix + key, Buffer.from(JSON.stringify({ v: 1, ...lease })), over);
    } finally {
      this.#writing.delete(key);
    }
  }

  /** Leaves a server to the next host. The number stays on the board, so that it keeps rising. */
  async #giveUp(key: string): Promise<void> {
    const lease = this.#leases.get(key);
    this.#held.delete(key);
    if (lease === undefined || !this.#isOwn(lease)) return;
    // If the write fails, the lease ends anyway once this host gives no more signs of life.
    await this.#write(key, { host: '', run: '', fence: lease.fence }, lease.write).catch(() => undefined);
  }

  /** Leaves all servers to other hosts. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#tick.cancel();
    this.#unwatch?.();
    if (!this.#options.isDown()) await Promise.all([...this.#offered.keys()].map((key) => this.#giveUp(key)));
    this.#held.clear();
  }
}

const NOBODYS = { host: '', run: '', fence: 0 } as const;

/** Returns the number for the next holder. It restarts at 1 if somebody has written a number that nobody can have. */
function after(fence: number): number {
  return fence >= MOST_FENCE ? 1 : fence + 1;
}

/** Reads a lease; undefined if the value is none. */
function leaseIn(value: Uint8Array): Omit<Lease, 'write'> | undefined {
  if (value.length > MOST_BYTES) return undefined;
  try {
    const read: unknown = JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString());
    if (!isRecord(read) || read.v !== 1) return undefined;
    const { host, run, fence } = read;
    if (typeof host !== 'string' || typeof run !== 'string' || run.length > 64) return undefined;
    if (host !== '' && !(isHostName(host) && isToken(run))) return undefined;
    if (typeof fence !== 'number' || !Number.isSafeInteger(fence) || fence < 1 || fence > MOST_FENCE) return undefined;
    return { host, run, fence };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
