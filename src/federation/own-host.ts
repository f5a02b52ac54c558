// This daemon's own place on the board: its entry, written when it changes, and its sign of life. Two daemons with one
// name do not fight: the later one writes nothing until the other is gone. A daemon never gives way to one that does
// not answer under its name.

import type { Clock, Timer } from '../util/clock.ts';
import { type Board, ENTRY_AGE_MS, SIGN_AGE_MS, SIGN_MS } from './board.ts';
import { decodeEntry, encodeEntry, type HostEntry, type OfferedServer } from './host-entry.ts';
import { tokenOf } from './subject.ts';

const TICK_MS = 1000;
/** The minimum time between two writes of the entry. */
const WRITE_PAUSE_MS = 1000;
/** An unchanged entry is written again after this time, long before it expires. */
const REFRESH_MS = ENTRY_AGE_MS / 3;
/** The pause between checks that the entry is still there: a NATS server that keeps it in memory may have lost it. */
const CHECK_MS = 30_000;
/** The time for which an overwritten entry is reported. */
const TOLD_MS = 600_000;
/** The time for which a sign surely counts: it may expire on the board a little sooner than here. */
const SURE_MS = SIGN_AGE_MS - 1000;

export interface OwnHostOptions {
  readonly board: Board;
  readonly clock: Clock;
  readonly tenant: string;
  readonly host: string;
  readonly run: string;
  readonly version: string;
  readonly hasAgents?: boolean;
  readonly isDown: () => boolean;
  /** The time of day. It goes on while the machine sleeps; the clock may stand still then. */
  readonly wallMs?: () => number;
  /** Asks the daemon of this run if it is alive. Only a daemon that may use this host's name hears the question. */
  readonly isAlive: (run: string) => Promise<boolean>;
  /**
   * Called with true when another daemon has the same name and this daemon gives way; with false when the other is
   * gone.
   */
  readonly rivalled: (hasRival: boolean) => void;
  /** Called with true when another daemon has the same name and must give way; with false when it is gone. */
  readonly contested: (isContested: boolean) => void;
  /** Called after each sign of life. */
  readonly signed: () => void;
  /** Called when the board has forgotten the entry; it may have forgotten others too. */
  readonly forgotten: () => void;
  /** Called when the board cannot be written; with undefined when it can. */
  readonly fault: (error: unknown) => void;
}

export class OwnHost {
  readonly #options: OwnHostOptions;
  readonly #key: string;
  readonly #tick: Timer;
  #offers: readonly OfferedServer[] = [];
  #wantsWrite = true;
  #writtenMs = Number.NEGATIVE_INFINITY;
  #signedMs = Number.NEGATIVE_INFINITY;
  #checkedMs = Number.NEGATIVE_INFINITY;
  #sureUntilMs = Number.NEGATIVE_INFINITY;
  /** The time of day of the last sign. */
  #signedAtMs = 0;
  readonly #wallMs: () => number;
  /** Nothing is sent before this time, so that not all daemons speak at once when the bus is back. */
  #dueMs = Number.NEGATIVE_INFINITY;
  #isBusy = false;
  #isClosed = false;
  /** The time of the first write of the entry: daemons that come later give way. */
  #establishedMs: number | undefined;
  #rival: string | undefined;
  /** The run of a daemon that has the same name and must give way. */
  #contender: string | undefined;
  /** The run in an entry that was heard under this host's own name. */
  #heard: string | undefined;
  #overwrites = 0;
  #overwrittenMs = Number.NEGATIVE_INFINITY;

  constructor(options: OwnHostOptions) {
    this.#options = options;
    this.#wallMs = options.wallMs ?? Date.now;
    this.#key = `${tokenOf(options.tenant)}.${tokenOf(options.host)}`;
    this.#tick = options.clock.every(TICK_MS, () => void this.tick());
  }

  /**
   * The time until which this daemon's last sign stands on the board, so that nobody takes this host for gone. It is
   * over at once if the machine slept or its time of day was set.
   */
  get sureUntilMs(): number {
    const sinceMs = this.#wallMs() - this.#signedAtMs;
    const isSure = sinceMs >= 0 && sinceMs <= SURE_MS;
    return isSure ? this.#sureUntilMs : Number.NEGATIVE_INFINITY;
  }

  /** The number of times that somebody else has overwritten the entry, if that was recent. */
  get overwrites(): number {
    return this.#options.clock.now() - this.#overwrittenMs < TOLD_MS ? this.#overwrites : 0;
  }

  /** Offers these servers from now on. */
  offer(offers: readonly OfferedServer[]): void {
    const isSame = JSON.stringify(offers) === JSON.stringify(this.#offers);
    this.#offers = offers;
    if (isSame) return;
    this.#wantsWrite = true;
    void this.tick();
  }

  /** Called when the bus is up, for the first time or again: it may have lost the entry. */
  busIsUp(delayMs: number): void {
    this.#dueMs = this.#options.clock.now() + delayMs;
    this.#wantsWrite = true;
    this.#signedMs = this.#checkedMs = Number.NEGATIVE_INFINITY;
    if (delayMs === 0) void this.tick();
  }

  /** Gives the next sign of life now. */
  signNow(): void {
    this.#signedMs = Number.NEGATIVE_INFINITY;
    void this.tick();
  }

  /** Called once a second. */
  async tick(): Promise<void> {
    const { clock, isDown, fault } = this.#options;
    if (this.#isBusy || this.#isClosed || isDown() || clock.now() < this.#dueMs) return;
    this.#isBusy = true;
    try {
      await this.#keepUp();
      fault(undefined);
    } catch (error) {
      if (!this.#isClosed && !isDown()) fault(error);
    }
    this.#isBusy = false;
  }

  async #keepUp(): Promise<void> {
    const { board, clock } = this.#options;
    if (clock.now() - this.#checkedMs >= CHECK_MS) await this.#check();
    if (this.#rival !== undefined || this.#isClosed) return;
    // The sign comes first, so that a host with an entry is always present.
    if (clock.now() - this.#signedMs >= SIGN_MS) {
      const signedMs = clock.now();
      const signedAtMs = this.#wallMs();
      this.#signedMs = signedMs;
      await board.sign(this.#key);
      this.#signedAtMs = signedAtMs;
      this.#sureUntilMs = signedMs + SURE_MS;
      this.#options.signed();
    }
    const idleMs = clock.now() - this.#writtenMs;
    if (this.#isClosed || !((this.#wantsWrite && idleMs >= WRITE_PAUSE_MS) || idleMs >= REFRESH_MS)) return;
    this.#writtenMs = clock.now();
    this.#wantsWrite = false;
    try {
      await board.put(this.#key, encodeEntry({ ...this.#options, servers: this.#offers }));
      this.#establishedMs ??= clock.now();
    } catch (error) {
      this.#wantsWrite = true;
      throw error;
    }
  }

  /** Checks the board's entry under this host's own name. */
  async #check(): Promise<void> {
    const { board, clock, run, rivalled, contested, forgotten } = this.#options;
    this.#checkedMs = clock.now();
    const value = await board.get(this.#key);
    const entry = value === undefined ? undefined : decodeEntry(value);
    if (entry === undefined && this.#establishedMs !== undefined && !this.#wantsWrite) {
      this.#wantsWrite = true;
      forgotten();
    }
    const isSpoiled = entry !== undefined && (typeof entry === 'string' || entry.host !== this.#options.host);
    if (isSpoiled) this.#wantsWrite = true; // written by anybody who may write there
    const read = !isSpoiled && entry !== undefined && entry.run !== run ? entry.run : undefined;
    // An entry that was heard may be stored a little later.
    const other = this.#heard ?? read ?? this.#contender;
    this.#heard = undefined;
    const isThere = other !== undefined && (await this.#options.isAlive(other));
    const givesWay = isThere && this.#givesWayTo(other);
    const hadRival = this.#rival !== undefined;
    this.#rival = givesWay ? other : undefined;
    if (other !== undefined && !givesWay && (other === read || other !== this.#contender)) this.#wantsWrite = true;
    const wasContested = this.#contender !== undefined;
    this.#contender = isThere && !givesWay ? other : undefined;
    if (hadRival !== givesWay) rivalled(givesWay);
    if (wasContested !== (this.#contender !== undefined)) contested(!wasContested);
  }

  /**
   * True if this daemon gives way to the other. The first one stays. If both came at once, or were separated for a
   * while, the one with the higher run gives way.
   */
  #givesWayTo(other: string): boolean {
    return this.#establishedMs === undefined || this.#options.run > other;
  }

  /**
   * Called when something else was written under this host's name: the entry of another daemon, or something that is no
   * entry.
   */
  wasReplaced(by: HostEntry | undefined): void {
    if (by !== undefined && by.run === this.#rival) return;
    if (this.#establishedMs !== undefined) {
      this.#overwrites++;
      this.#overwrittenMs = this.#options.clock.now();
    }
    if (by === undefined) this.#wantsWrite = true;
    else {
      this.#heard = by.run;
      this.#checkedMs = Number.NEGATIVE_INFINITY;
    }
    void this.tick();
  }

  /** Removes the entry, so that others need not wait for its expiry. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#tick.cancel();
    const { board, isDown } = this.#options;
    const hasWritten = this.#writtenMs !== Number.NEGATIVE_INFINITY; // maybe without an answer so far
    if (isDown() || !hasWritten || this.#rival !== undefined) return;
    await board.remove(this.#key).catch(() => undefined); // its sign of life expires soon
  }
}
