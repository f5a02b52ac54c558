// This daemon's own place on the board: its entry, written when it changes, and its sign of life. Two daemons of one name do not fight: the one that came
// later writes nothing until the other is gone. A daemon gives way to nobody who does not answer under its name.

import type { Clock, Timer } from '../util/clock.ts';
import { type Board, ENTRY_AGE_MS, SIGN_AGE_MS, SIGN_MS } from './board.ts';
import { decodeEntry, encodeEntry, type HostEntry, type OfferedServer } from './host-entry.ts';
import { tokenOf } from './subject.ts';

const TICK_MS = 1000;
/** The least time between two writes of the entry. */
const WRITE_PAUSE_MS = 1000;
/** An entry that has not changed is written again, long before it is over. */
const REFRESH_MS = ENTRY_AGE_MS / 3;
/** The pause between looks if the entry is still there: a NATS server that keeps it in memory may have lost it. */
const CHECK_MS = 30_000;
/** The time for which it is told that somebody has written over the entry. */
const TOLD_MS = 600_000;
/** A sign may be over on the board a little sooner than it is here. */
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
  /** The time of day, which goes on while the machine sleeps. The clock may stand still then. */
  readonly wallMs?: () => number;
  /** Asks the daemon of this run if it is there, where only a daemon that may use the name of this host hears it. */
  readonly isAlive: (run: string) => Promise<boolean>;
  /** Another daemon has the name of this one, which gives way to it; false when it is gone. */
  readonly rivalled: (hasRival: boolean) => void;
  /** Another daemon has the name of this one, and has to give way; false when it is gone. */
  readonly contested: (isContested: boolean) => void;
  /** A sign of life has been given. */
  readonly signed: () => void;
  /** The board has forgotten the entry, so it may have forgotten others. */
  readonly forgotten: () => void;
  /** The board cannot be written; undefined if it can. */
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
  /** Nothing is said before then: not all speak at once when the bus is back. */
  #dueMs = Number.NEGATIVE_INFINITY;
  #isBusy = false;
  #isClosed = false;
  /** The time when the entry was first written: whoever comes later gives way. */
  #establishedMs: number | undefined;
  #rival: string | undefined;
  /** The run of a daemon that has the same name, and has to give way. */
  #contender: string | undefined;
  /** The run of which an entry was heard under the own name. */
  #heard: string | undefined;
  #overwrites = 0;
  #overwrittenMs = Number.NEGATIVE_INFINITY;

  constructor(options: OwnHostOptions) {
    this.#options = options;
    this.#wallMs = options.wallMs ?? Date.now;
    this.#key = `${tokenOf(options.tenant)}.${tokenOf(options.host)}`;
    this.#tick = options.clock.every(TICK_MS, () => void this.tick());
  }

  /** Until then its last sign stands on the board, and nobody takes this host for gone. Not so if the machine slept, or its time of day was set. */
  get sureUntilMs(): number {
    const sinceMs = this.#wallMs() - this.#signedAtMs;
    const isSure = sinceMs >= 0 && sinceMs <= SURE_MS;
    return isSure ? this.#sureUntilMs : Number.NEGATIVE_INFINITY;
  }

  /** The times that somebody else has written over the entry, if that was not long ago. */
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

  /** The bus is there, again or for the first time: it may have lost the entry. */
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
    // The sign comes first: a host that is read of is one that is there.
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

  /** Looks what the board has under the own name. */
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
    if (isSpoiled) this.#wantsWrite = true; // by whoever may write there
    const read = !isSpoiled && entry !== undefined && entry.run !== run ? entry.run : undefined;
    // What was heard may be stored a little later.
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

  /** The first one stays. Of two that have come at once, or were parted for a while, the one with the higher run gives way. */
  #givesWayTo(other: string): boolean {
    return this.#establishedMs === undefined || this.#options.run > other;
  }

  /** Something else has been written under the own name: the entry of another daemon, or what is none. */
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

  /** Takes the entry away, so that others need not wait for its end. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#tick.cancel();
    const { board, isDown } = this.#options;
    const hasWritten = this.#writtenMs !== Number.NEGATIVE_INFINITY; // maybe without an answer so far
    if (isDown() || !hasWritten || this.#rival !== undefined) return;
    await board.remove(this.#key).catch(() => undefined); // its sign of life is over in a moment
  }
}
