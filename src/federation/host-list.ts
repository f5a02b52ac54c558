// The hosts that are present, and what they offer. It reads entries when they change, and counts signs of life. An
// entry is the word of another host: it is bounded, taken at most once a second, and counts for that host alone.

import type { Clock, Timer } from '../util/clock.ts';
import { type Board, ENTRY_AGE_MS, LEASE_MS, SIGN_AGE_MS, SIGN_MS } from './board.ts';
import { decodeEntry, type HostEntry, isSameOffer } from './host-entry.ts';
import { tokenOf } from './subject.ts';

const TICK_MS = 1000;
/** Changes are told together: the more there is to look through, the later. */
const TELL_MS = 50;
const TELL_MS_FOR_EACH_SERVER = 0.25;
const MOST_TELL_MS = 2000;
/** The names of hosts with a sign are read at least this often, and whenever the number of signs has changed. */
const LIST_MS = 30_000;
/** A new entry's host has a sign, but for this time a look at the board may have missed it. */
const FRESH_MS = 3000;
/** A remembered host that has not been heard after this time of watching is gone. */
const SETTLED_MS = 3000;
/** The minimum time between two entries of one host that are read. */
const READ_PAUSE_MS = 1000;
/** The maximum number of missed entries that are read in one look. */
const MOST_MISSED = 32;
const MOST_HOSTS = 4096;
const MOST_SERVERS_OF_ALL = 50_000;
const MOST_BYTES_OF_ALL = 32 * 1024 * 1024;

export interface KnownHost extends HostEntry {
  /** The last time that the host was known to be present. */
  readonly seenMs: number;
  /** True if the host has an entry but gives no sign of life. */
  readonly isSilent: boolean;
  /** True if the host is known from the last run of this daemon and was not heard since. */
  readonly isRemembered: boolean;
  /** The size of its entry. */
  readonly bytes: number;
}

export interface HostListOptions {
  readonly board: Board;
  readonly clock: Clock;
  readonly tenant: string;
  readonly host: string;
  readonly run: string;
  readonly isDown: () => boolean;
  /** Called when hosts have come or gone, or offer something else. */
  readonly changed: () => void;
  /** Called when a host has left, was started again, or gives no sign of life. `run` is the one that was there. */
  readonly gone: (host: string, run: string) => void;
  /**
   * Called when something else was written under this host's own name: the entry of another daemon, or something that
   * is no entry.
   */
  readonly replaced: (by: HostEntry | undefined) => void;
  /** Called when the entry of a host was not taken. */
  readonly refused: (host: string, why: string) => void;
  /** Called when the board cannot be read; with undefined when it can. */
  readonly fault: (error: unknown) => void;
}

interface Unread {
  readonly value: Uint8Array | undefined;
  readonly isNews: boolean;
}

export class HostList {
  readonly #options: HostListOptions;
  readonly #prefix: string;
  readonly #hosts = new Map<string, KnownHost>();
  /** Hosts by their tokens. */
  readonly #byToken = new Map<string, string>();
  readonly #tick: Timer;
  /** Entries that came too soon after the one before, by their keys. */
  readonly #unread = new Map<string, Unread>();
  readonly #readMs = new Map<string, number>();
  /** True once the signs could be read. */
  #hasLooked = false;
  #count = -1;
  /** The time of the last look at the board, and of the last one that succeeded. */
  #lookedMs = Number.NEGATIVE_INFINITY;
  #confirmedMs = Number.NEGATIVE_INFINITY;
  /** The last time that the bus came back. */
  #upMs = Number.NEGATIVE_INFINITY;
  #listedMs = Number.NEGATIVE_INFINITY;
  #watchedMs = Number.POSITIVE_INFINITY;
  #dueMs = Number.NEGATIVE_INFINITY;
  #bytes = 0;
  #servers = 0;
  #isTelling = false;
  #isLooking = false;
  #isClosed = false;
  #unwatch: (() => void) | undefined;
  /** The number of times that all entries were read. */
  #watches = 0;

  constructor(options: HostListOptions) {
    this.#options = options;
    this.#prefix = `${tokenOf(options.tenant)}.`;
    this.#tick = options.clock.every(TICK_MS, () => void this.tick());
  }

  /** All hosts with an entry, including silent ones. */
  get known(): Iterable<KnownHost> {
    return this.#hosts.values();
  }

  /** The hosts that are present. */
  get hosts(): readonly KnownHost[] {
    return [...this.#hosts.values()].filter(({ isSilent }) => !isSilent);
  }

  /** The number of hosts with an entry. */
  get size(): number {
    return this.#hosts.size;
  }

  /** Returns a host that is present. */
  get(host: string): KnownHost | undefined {
    const known = this.#hosts.get(host);
    return known?.isSilent === false ? known : undefined;
  }

  /** Takes over the hosts that an earlier run of this daemon knew. */
  remember(entries: readonly HostEntry[]): void {
    for (const entry of entries) {
      if (entry.host === this.#options.host || this.#hosts.has(entry.host)) continue;
      const bytes = JSON.stringify(entry).length;
      this.#keep({ ...entry, seenMs: this.#options.clock.now(), isSilent: false, isRemembered: true, bytes });
    }
  }

  /**
   * Called when the bus is up, for the first time or again: entries may have come and gone meanwhile. Resolves once all
   * entries were read or could not be. After a delay nobody waits for that.
   */
  async busIsUp(delayMs: number): Promise<void> {
    const nowMs = this.#options.clock.now();
    this.#dueMs = nowMs + delayMs;
    if (this.#hosts.size > 0) this.#upMs = nowMs;
    this.watchAgain();
    if (delayMs === 0) await this.tick();
  }

  /** Reads all entries again. */
  watchAgain(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
    this.#watches++;
    this.#watchedMs = Number.POSITIVE_INFINITY;
    this.#lookedMs = this.#listedMs = Number.NEGATIVE_INFINITY;
  }

  /** Called once a second. While the bus is away nobody can give a sign, so no host counts as silent. */
  async tick(): Promise<void> {
    const { clock, isDown, fault } = this.#options;
    if (this.#isLooking || this.#isClosed || isDown() || clock.now() < this.#dueMs) return;
    this.#isLooking = true;
    try {
      this.#readLate();
      // Entries come before signs: each host signs before it writes, so a host with an entry and no sign has gone.
      if (this.#unwatch === undefined) await this.#watch();
      if (clock.now() - this.#lookedMs >= SIGN_MS && !this.#isClosed) await this.#look();
      this.#forgetOld();
      fault(undefined);
    } catch (error) {
      if (!this.#isClosed && !isDown()) fault(error);
      if (!this.#hasLooked) for (const known of [...this.#hosts.values()]) this.#isBack(known); // nobody knows
    }
    this.#isLooking = false;
  }

  // --- signs of life ---

  /** Counts the signs; reads their hosts if those may have changed. */
  async #look(): Promise<void> {
    const { board, clock } = this.#options;
    this.#lookedMs = clock.now();
    const count = await board.countSigns();
    if (count !== this.#count || clock.now() - this.#listedMs >= LIST_MS) {
      const signs = await board.signs(this.#prefix);
      this.#listedMs = clock.now();
      this.#hasLooked = true;
      this.#count = count;
      this.#judge(signs);
      await this.#readMissed(signs);
    }
    this.#confirmedMs = clock.now();
  }

  #judge(signs: ReadonlySet<string>): void {
    const nowMs = this.#options.clock.now();
    // All hosts get some time to come back after the bus was away.
    const isEarly = nowMs - this.#upMs < LEASE_MS;
    for (const [token, host] of this.#byToken) {
      const known = this.#hosts.get(host);
      if (known === undefined || known.isRemembered) continue;
      if (signs.has(this.#prefix + token)) this.#isBack(known);
      else if (known.isSilent) continue;
      else if (isEarly || nowMs - known.seenMs < FRESH_MS)
        this.#count = -1; // the next look decides
      else this.#fallsSilent(known);
    }
  }

  /** Reads missing entries of hosts that give signs. */
  async #readMissed(signs: ReadonlySet<string>): Promise<void> {
    const { board, host } = this.#options;
    if (this.#unwatch === undefined) return; // all of them will be read
    let read = 0;
    for (const key of signs) {
      const token = key.slice(this.#prefix.length);
      if (this.#byToken.has(token) || token === tokenOf(host) || this.#unread.has(token)) continue;
      if (++read > MOST_MISSED) return;
      const value = await board.get(key);
      if (value !== undefined && !this.#isClosed) this.#arrived(token, { value, isNews: true });
    }
  }

  #isBack(known: KnownHost): void {
    if (!known.isSilent) return;
    this.#set({ ...known, seenMs: this.#options.clock.now(), isSilent: false });
    this.#tell();
  }

  #fallsSilent(known: KnownHost): void {
    const lastSignMs = this.#options.clock.now() - SIGN_AGE_MS;
    this.#set({ ...known, seenMs: Math.max(known.seenMs, Math.min(lastSignMs, this.seenMsOf(known))), isSilent: true });
    this.#options.gone(known.host, known.run);
    this.#tell();
  }

  /** Returns the time of a host's last sign. A host that is not silent was present at the last look. */
  seenMsOf({ seenMs, isSilent, isRemembered }: KnownHost): number {
    return isSilent || isRemembered ? seenMs : Math.max(seenMs, this.#confirmedMs);
  }

  // --- entries ---

  async #watch(): Promise<void> {
    const { board, clock } = this.#options;
    const taken = (key: string, value: Uint8Array | undefined, isNews: boolean): void =>
      this.#arrived(key.slice(this.#prefix.length), { value, isNews });
    const watch = this.#watches;
    const unwatch = await board.watch(this.#prefix, taken);
    if (this.#isClosed || watch !== this.#watches) return unwatch(); // all is read again already
    this.#unwatch = unwatch;
    this.#watchedMs = clock.now();
    this.#lookedMs = this.#listedMs = Number.NEGATIVE_INFINITY;
  }

  /**
   * Takes an entry, or the notice that it was removed. An entry that comes too soon after another waits, and only the
   * last one counts.
   */
  #arrived(key: string, entry: Unread): void {
    if (this.#isClosed) return;
    const nowMs = this.#options.clock.now();
    const isSoon = nowMs - (this.#readMs.get(key) ?? Number.NEGATIVE_INFINITY) < READ_PAUSE_MS;
    if ((isSoon && entry.value !== undefined) || this.#unread.has(key)) {
      if (this.#unread.size < MOST_HOSTS || this.#unread.has(key)) this.#unread.set(key, entry);
      return;
    }
    this.#take(key, entry);
  }

  #readLate(): void {
    const late = [...this.#unread];
    this.#unread.clear();
    for (const [key, entry] of late) this.#take(key, entry);
    const nowMs = this.#options.clock.now();
    for (const [key, readMs] of this.#readMs) if (nowMs - readMs >= READ_PAUSE_MS) this.#readMs.delete(key);
  }

  #take(key: string, { value, isNews }: Unread): void {
    const { host: own, run, refused, replaced, clock } = this.#options;
    if (value === undefined) return this.#forget(this.#byToken.get(key));
    const nowMs = clock.now();
    this.#readMs.set(key, nowMs);
    const entry = decodeEntry(value);
    const fault = typeof entry === 'string' ? entry : undefined;
    const isOfAnother = typeof entry === 'object' && tokenOf(entry.host) !== key;
    if (key === tokenOf(own) && isNews && (fault !== undefined || isOfAnother)) replaced(undefined);
    if (typeof entry === 'string') return refused(key, entry);
    if (isOfAnother) return refused(key, `its entry is that of ${entry.host}`);
    if (entry.host === own) {
      if (entry.run !== run && isNews) replaced(entry);
      return;
    }
    const known = this.#hosts.get(entry.host);
    const why = this.#noRoomFor(entry, value.length, known);
    if (why !== undefined) return refused(entry.host, why);
    // An entry that was just written is of a running daemon. For older entries, the following look decides.
    const isThere = isNews || known?.isSilent === false;
    this.#keep({ ...entry, seenMs: nowMs, isSilent: !isThere, isRemembered: false, bytes: value.length });
    if (known !== undefined && known.run !== entry.run) this.#options.gone(entry.host, known.run);
  }

  #noRoomFor({ servers }: HostEntry, bytes: number, known: KnownHost | undefined): string | undefined {
    if (known === undefined && this.#hosts.size >= MOST_HOSTS && !this.#dropOneSilent())
      return `there are ${MOST_HOSTS} hosts already`;
    if (this.#servers - (known?.servers.length ?? 0) + servers.length > MOST_SERVERS_OF_ALL)
      return `all hosts together offer more than ${MOST_SERVERS_OF_ALL} servers`;
    if (this.#bytes - (known?.bytes ?? 0) + bytes > MOST_BYTES_OF_ALL)
      return `the entries of all hosts have more than ${MOST_BYTES_OF_ALL} bytes`;
    return undefined;
  }

  #dropOneSilent(): boolean {
    for (const { host, isSilent } of this.#hosts.values()) {
      if (!isSilent) continue;
      this.#drop(host);
      return true;
    }
    return false;
  }

  // --- what is kept ---

  #keep(host: KnownHost): void {
    const before = this.#hosts.get(host.host);
    this.#set(host);
    this.#byToken.set(tokenOf(host.host), host.host);
    this.#bytes += host.bytes - (before?.bytes ?? 0);
    this.#servers += host.servers.length - (before?.servers.length ?? 0);
    const isSame = before !== undefined && before.isSilent === host.isSilent && isSameOffer(before, host);
    if (!isSame || before.run !== host.run) this.#tell();
  }

  #set(host: KnownHost): void {
    this.#hosts.set(host.host, host);
  }

  #forget(host: string | undefined): void {
    const known = host === undefined ? undefined : this.#hosts.get(host);
    if (known === undefined) return;
    this.#drop(known.host);
    this.#options.gone(known.host, known.run);
    this.#tell();
  }

  #drop(host: string): void {
    const known = this.#hosts.get(host);
    if (known === undefined) return;
    this.#hosts.delete(host);
    this.#byToken.delete(tokenOf(host));
    this.#bytes -= known.bytes;
    this.#servers -= known.servers.length;
  }

  /** Forgets entries that have expired, which nobody announces, and remembered hosts that may be gone for good. */
  #forgetOld(): void {
    const nowMs = this.#options.clock.now();
    const isSettled = nowMs - this.#watchedMs >= SETTLED_MS;
    for (const { host, isSilent, isRemembered, seenMs } of [...this.#hosts.values()])
      if ((isSilent && nowMs - seenMs >= ENTRY_AGE_MS) || (isRemembered && isSettled)) this.#forget(host);
  }

  #tell(): void {
    if (this.#isTelling) return;
    this.#isTelling = true;
    const delayMs = Math.min(MOST_TELL_MS, TELL_MS + this.#servers * TELL_MS_FOR_EACH_SERVER);
    this.#options.clock.after(delayMs, () => {
      this.#isTelling = false;
      if (!this.#isClosed) this.#options.changed();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#tick.cancel();
    this.#unwatch?.();
  }
}
