// One watch: selected events on their way to a reader. Its queue is limited. A slow reader loses events and is told how
// many; it delays nobody.

import type { ControlPeer } from '../core/router.ts';
import type { EventFilter } from './event-filter.ts';
import type { DaemonEvent, EventBatch } from './event-report.ts';
import type { FollowedCall } from './followed-calls.ts';

/** The number of events that can wait for a slow reader. */
export const MOST_QUEUED = 1000;
/** The number of unread bytes above which further events are held back. */
const MOST_UNREAD_BYTES = 262_144;

interface WatchTerms {
  readonly name: string;
  readonly filter: EventFilter;
  /** The time between batches in periods of `tick`; 0 for none. */
  readonly periods: number;
  /** The maximum number of calls shown per period. */
  readonly callsPerPeriod: number;
  readonly mostUnreadBytes: number;
  readonly date: () => number;
}

/** The total numbers of calls that began, and of those that are not followed. */
interface CallCounts {
  readonly begun: number;
  readonly leftOut: number;
}

export class Watch {
  readonly name: string;
  readonly peer: ControlPeer;
  readonly #terms: WatchTerms;
  #queue: DaemonEvent[] = [];
  #lost = 0;
  #budget: number;
  #leftOut = 0;
  /** The counts that were last sent. */
  #told: CallCounts;
  #periodsLeft: number;

  constructor(peer: ControlPeer, terms: WatchTerms, counts: CallCounts) {
    this.peer = peer;
    this.name = terms.name;
    this.#terms = terms;
    this.#budget = terms.callsPerPeriod;
    this.#periodsLeft = terms.periods;
    this.#told = { ...counts };
  }

  /** The maximum number of calls shown per period. */
  get callsPerPeriod(): number {
    return this.wantsCalls ? this.#terms.callsPerPeriod : 0;
  }

  get wantsCalls(): boolean {
    return this.#terms.filter.wantsCalls;
  }

  get sendsAtOnce(): boolean {
    return this.#terms.periods === 0;
  }

  /** Takes an event if it is wanted; returns true if it is now the only one waiting. */
  take(event: DaemonEvent, call?: FollowedCall): boolean {
    const { filter } = this.#terms;
    if (!filter.isAboutWanted(event)) return false;
    if (call !== undefined && !this.#shows(call)) return false;
    if (!filter.isOfWantedKind(event)) return false;
    if (this.#queue.length >= MOST_QUEUED) {
      this.#lost++;
      return false;
    }
    return this.#queue.push(event) === 1;
  }

  /** Decides once per call, at its first event that passes the filter. */
  #shows(call: FollowedCall): boolean {
    const decided = call.shownBy.get(this);
    if (decided !== undefined) return decided;
    const isShown = this.#budget > 0;
    if (isShown) this.#budget--;
    else this.#leftOut++;
    call.shownBy.set(this, isShown);
    return isShown;
  }

  /** Called at the end of each period. */
  tick(counts: CallCounts): void {
    this.#budget = this.#terms.callsPerPeriod;
    if (--this.#periodsLeft > 0) return;
    this.#periodsLeft = this.#terms.periods;
    this.send(counts);
  }

  /** Sends what is waiting, unless the reader has too much unread. */
  send(counts: CallCounts): void {
    if (!this.peer.isOpen || this.peer.link.outbox.queuedBytes > this.#terms.mostUnreadBytes) return;
    const callsBegun = this.wantsCalls ? counts.begun - this.#told.begun : 0;
    const callsLeftOut = this.wantsCalls ? this.#leftOut + counts.leftOut - this.#told.leftOut : 0;
    if (this.#queue.length === 0 && this.#lost === 0 && callsBegun === 0 && callsLeftOut === 0) return;
    const { name: watch, date } = this.#terms;
    const batch: EventBatch = { watch, at: date(), events: this.#queue, lost: this.#lost, callsBegun, callsLeftOut };
    this.#queue = [];
    this.#lost = 0;
    this.#leftOut = 0;
    this.#told = { ...counts };
    this.peer.output.answerControl(JSON.stringify({ jsonrpc: '2.0', method: 'bridge/event', params: batch }));
  }
}

/** The number of unread bytes allowed for a reader, well below the limit at which clients are cut off. */
export function mostUnreadBytes(maxQueuedBytesPerClient: number): number {
  return Math.min(MOST_UNREAD_BYTES, Math.floor(maxQueuedBytesPerClient / 4));
}
