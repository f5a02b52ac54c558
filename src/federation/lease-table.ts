// The host that serves a server by its name alone, where the server remembers something: one at a time, by a lease with a number that rises with each
// new holder. A lease needs no renewal: it holds for as long as its host gives signs of life, and a host that cannot be sure of those serves nothing.
//
//   nobody ─ a host that offers it writes its name ─▶ held ─ it leaves, or is gone ─▶ another one writes its own, with the next number

import { isHostName } from '../model/host-name.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { isRecord } from '../util/json-value.ts';
import { isToken, tokenOf } from './subject.ts';

const TICK_MS = 1000;
/** A holder is not taken for gone before leases and hosts have been watched for so long. */
const SETTLE_MS = 15_000;
const MOST_LEASES = 10_000;
const MOST_BYTES = 1024;
/** A higher number is nobody's: a year has fewer changes than this. */
const MOST_FENCE = 1_000_000_000;

/** The place where leases stand. */
export interface LeaseBoard {
  /** Writes a lease over the write with this number, or over none; returns the number of the new one, or undefined if another write came first. */
  write(key: string, value: Uint8Array, over: number | undefined): Promise<number | undefined>;
  /** Tells of each lease that is there or is written, with the number of the write, until it is ended. */
  watch(prefix: string, changed: LeaseListener, ended: () => void): Promise<() => void>;
}

/** `refuted` is the number of a write that is not the last one, by the word of the board, which has read this one for that reason. */
export type LeaseListener = (key: string, value: Uint8Array | undefined, write: number, refuted?: number) => void;

/** A lease as it is on the bus: its host, and its number. */
export interface Holder {
  readonly host: string;
  /** Undefined where there is no lease, and only one host offers the server. */
  readonly fence: number | undefined;
}

interface Lease extends Holder {
  readonly fence: number;
  /** '' for one that was given up. */
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
  /** The time until which all other hosts take this one for alive. */
  readonly sureUntilMs: () => number;
  /** This host is not sure any more, and had leases: they are confirmed once it has given another sign. */
  readonly doubted: () => void;
  /** True if this run of a host is there, and offers the server. */
  readonly isThere: (host: string, run: string | undefined, name: string) => boolean;
  /** Another host serves the server of this token now, or none. */
  readonly changed: (token: string) => void;
  readonly fault: (error: unknown) => void;
}

export class LeaseTable {
  readonly #options: LeaseTableOptions;
  readonly #prefix: string;
  readonly #leases = new Map<string, Lease>();
  /** The names of own servers that remember, by their keys. */
  #offered: ReadonlyMap<string, string> = new Map();
  /** The numbers of leases that are held here, and were written or confirmed while this host was sure to be taken for alive. */
  readonly #held = new Map<string, number>();
  /** Leases of an earlier run of this daemon are taken over once: two daemons of one name would take them from each other without end. */
  readonly #inherited = new Set<string>();
  readonly #writing = new Set<string>();
  /** The last numbers of leases of own servers that are gone from the board: the next ones are higher. */
  readonly #gone = new Map<string, number>();
  /** Leases of the last watch that this one has not told of: the board may have lost them, and count from 1 again. */
  #stale = new Set<string>();
  readonly #tick: Timer;
  #unwatch: (() => void) | undefined;
  #isOpening = false;
  /** Counts how often the bus came back: a watch of the time before is dead. */
  #ups = 0;
  #watchedMs = Number.POSITIVE_INFINITY;
  /** A lease could not be written, and nothing was written since. */
  #isFaulty = false;
  #isClosed = false;

  constructor(options: LeaseTableOptions) {
    this.#options = options;
    this.#prefix = `${tokenOf(options.tenant)}.`;
    this.#tick = options.clock.every(TICK_MS, () => this.tick());
  }

  /** False for a server without a lease, or where leases cannot be read. */
  has(name: string): boolean {
    return this.#unwatch !== undefined && this.#leases.has(tokenOf(name));
  }

  // --- for homes ---

  /** The host that serves a server by its name alone. */
  holderOf(name: string): Holder | undefined {
    const lease = this.#leases.get(tokenOf(name));
    return lease !== undefined && this.#isHeld(lease, name) ? { host: lease.host, fence: lease.fence } : undefined;
  }

  #isHeld({ host, run }: Lease, name: string): boolean {
    return host !== '' && this.#options.isThere(host, run, name);
  }

  // --- for owners ---

  /** Serves these own servers, as far as no other host does. */
  offer(names: readonly string[]): void {
    const offered = new Map(names.map((name) => [tokenOf(name), name]));
    const before = this.#offered;
    this.#offered = offered;
    for (const key of before.keys()) if (!offered.has(key)) void this.#giveUp(key);
    this.tick();
  }

  /** The number of the lease by which this host serves a server; undefined if it does not, or cannot be sure that it does. */
  fenceOf(name: string): number | undefined {
    this.#checkLife();
    return this.#held.get(tokenOf(name));
  }

  /** A host that stood still, or was cut off, may have lost its leases: each has to be confirmed again. */
  #checkLife(): void {
    const { clock, sureUntilMs, isDown, doubted } = this.#options;
    if (this.#held.size === 0 || (!isDown() && clock.now() <= sureUntilMs())) return;
    this.#held.clear();
    doubted();
  }

  /** The bus is there, again or for the first time: others may have served meanwhile. */
  busIsUp(): void {
    this.#ups++;
    this.#held.clear();
    this.#unwatch?.();
    this.#unwatch = undefined;
    void this.#watch();
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
          isOver = true; // maybe before the board has begun it, or where it never does
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
    // One that cannot be read is that of before, which its holder writes again at once; or nobody's, and is written over.
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
    // Another host has the lease by now: nothing is left to be written.
    if (this.#isFaulty && this.#writing.size === 0) this.#wrote(undefined);
  }

  #wrote(error: unknown): void {
    this.#isFaulty = error !== undefined;
    this.#options.fault(error);
  }

  /** Takes a lease that nobody has, confirms one that is held here, or leaves it to its holder. */
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
    // A daemon that was started again takes its lease over itself.
    const isGone = isSettled && lease.host !== '' && !isThere(lease.host, undefined, name);
    // Where it cannot be read, whoever had it has the time to write it again.
    const isFree = lease.host === '' && (lease.fence > 0 || isSettled);
    if (isFree || isGone) void this.#take(key, after(lease.fence), lease.write);
  }

  async #inherit(key: string, { fence, write }: Lease): Promise<void> {
    if (await this.#take(key, after(fence), write)) this.#inherited.add(key);
  }

  /** Returns true once the lease is held here. */
  async #take(key: string, fence: number, over: number | undefined): Promise<boolean> {
    const { host, run } = this.#options;
    const write = await this.#write(key, { host, run, fence }, over).catch((error: unknown) => void this.#wrote(error));
    if (this.#isClosed) return false;
    if (write === undefined) {
      // Another write came first, and is told of in a moment; or the board has lost all that it had.
      if (this.#stale.delete(key)) this.#forget(key);
      return false;
    }
    const known = this.#leases.get(key);
    if (known !== undefined && known.write > write) return false; // somebody else was quicker after all
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

  /** Leaves a server to the next host. The number stays, so that it goes on rising. */
  async #giveUp(key: string): Promise<void> {
    const lease = this.#leases.get(key);
    this.#held.delete(key);
    if (lease === undefined || !this.#isOwn(lease)) return;
    // Its end comes by itself otherwise, once this host gives no sign of life any more.
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

/** The number of the next holder. It begins again where somebody has written a number that nobody can have. */
function after(fence: number): number {
  return fence >= MOST_FENCE ? 1 : fence + 1;
}

/** Reads a lease; undefined if it is none. */
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
