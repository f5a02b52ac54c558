// The calls that `top` shows: those under way and the last ones that ended, built from the daemon's events. It keeps a
// limited number of both.

import type { DaemonEvent, EventBatch } from '../client/control-client.ts';

export interface ShownCall {
  readonly call: string;
  readonly begunAt: number;
  readonly client: string;
  readonly server: string | null;
  readonly tool: string | null;
  /** The present state, or the end. */
  readonly state: string;
  readonly hasEnded: boolean;
  /** Undefined while it is under way. */
  readonly totalMs: number | undefined;
  readonly waitedMs: number | undefined;
}

const MOST_OPEN = 2000;
const MOST_ENDED = 1000;

export class CallsOfDaemon {
  readonly #open = new Map<string, ShownCall>();
  #ended: ShownCall[] = [];
  /** The number of calls that are not shown: too many came at once, or this program was too slow. */
  leftOut = 0;
  #lost = 0;

  /** First the calls under way, then the others, newest first. */
  get calls(): readonly ShownCall[] {
    return [...[...this.#open.values()].toReversed(), ...this.#ended.toReversed()];
  }

  get openCount(): number {
    return this.#open.size;
  }

  get endedCount(): number {
    return this.#ended.length;
  }

  take({ events, callsLeftOut, lost }: EventBatch): void {
    this.leftOut += callsLeftOut;
    if (lost > 0) {
      // The end of a call may be among the lost events.
      this.#lost += lost;
      this.#open.clear();
    }
    for (const event of events) this.#note(event);
  }

  /** Forgets all calls, because another daemon has other ones. */
  forget(): void {
    this.#open.clear();
    this.#ended = [];
    this.leftOut = 0;
  }

  #note(event: DaemonEvent): void {
    switch (event.kind) {
      case 'call.begun':
        if (this.#open.size >= MOST_OPEN) return void this.leftOut++;
        this.#open.set(event.call, { ...named(event), begunAt: event.at, state: 'begun' });
        return;
      case 'call.waiting':
        return this.#is(event, `waits ${event.for === 'turn' ? '' : event.for}`.trim());
      case 'call.sent':
        return this.#is(event, 'at server');
      case 'call.suspended':
        return this.#is(event, 'asks');
      case 'call.ended': {
        this.#open.delete(event.call);
        const { begunAt, outcome, totalMs, waitedMs } = event;
        this.#ended.push({ ...named(event), begunAt, state: outcome, hasEnded: true, totalMs, waitedMs });
        if (this.#ended.length > MOST_ENDED) this.#ended = this.#ended.slice(-MOST_ENDED);
        return;
      }
      default:
    }
  }

  #is(event: { call: string; server: string | null; tool: string | null }, state: string): void {
    const known = this.#open.get(event.call);
    if (known !== undefined) this.#open.set(event.call, { ...known, server: event.server, tool: event.tool, state });
  }
}

function named(event: { call: string; client: string; server: string | null; tool: string | null }) {
  const { call, client, server, tool } = event;
  return { call, client, server, tool, hasEnded: false, totalMs: undefined, waitedMs: undefined };
}
