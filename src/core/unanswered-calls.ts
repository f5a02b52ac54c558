// How a request ends at an instance without its server's answer: its client has cancelled it, or has gone, or its time is
// up. The server is told, and a question that it has asked meanwhile is nobody's any more. One that has not come to its
// server at all may be made once more.

import { BridgeError } from '../util/bridge-error.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Limits } from '../wire/limits.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import type { CallBacks } from './call-backs.ts';
import type { Counters } from './counters.ts';
import { extend, overdueMs, shorterMs } from './deadline.ts';
import { cancelNotice } from './era/era-2025.ts';
import type { Senders } from './senders.ts';
import { downIdAt, type Slot, type SlotOwner } from './slot.ts';
import type { SlotTable } from './slot-table.ts';

export interface UnansweredCallsPorts {
  readonly server: string;
  /** The server's own, if its definition has one. */
  readonly timeoutMs: number | undefined;
  readonly slots: SlotTable;
  readonly callBacks: CallBacks;
  readonly senders: Senders;
  readonly outbox: () => Outbox | undefined;
  readonly limits: Limits;
  readonly counters: Counters;
}

const splice = new Splice();
/** Of frames that come back. */
const readAgain = new Envelope();

export class UnansweredCalls implements SlotOwner {
  readonly #ports: UnansweredCallsPorts;

  constructor(ports: UnansweredCallsPorts) {
    this.#ports = ports;
  }

  cancel(slot: Slot, notice: Frame, read: Envelope): void {
    const { slots } = this.#ports;
    if (slot.downId !== 0) this.#passCancel(slot, notice, read);
    slots.remove(slot);
    this.#ended(slot);
  }

  /** In few bytes where a server does not keep up: its client is not held up for having given a call up. */
  #passCancel({ downId }: Slot, { b, start, end }: Frame, read: Envelope): void {
    const { slots, senders, outbox } = this.#ports;
    const server = outbox();
    if (server === undefined) return;
    if (senders.isFull) return slots.tell(cancelNotice(String(downId), 'The client does not want it any more'));
    splice.clear().replace(read.from(Field.requestId), read.to(Field.requestId), String(downId));
    splice.send(server, b, start, end);
  }

  wasSent({ downId, isSecondTry, mayBeDone }: Slot): boolean {
    return downId !== 0 || isSecondTry || mayBeDone;
  }

  withdraw(slot: Slot): void {
    this.#ports.slots.withdraw(slot);
  }

  abandon(slot: Slot): void {
    this.#ports.slots.giveUp(slot, 'The client has gone');
    this.#ended(slot);
  }

  /**
   * A request, as it was sent, that the server has not looked at. Whether it waits for the next instance once this one is
   * gone, which it does once; nobody waits for what is none of a client's.
   */
  returned(frame: Frame): boolean {
    const { slots, limits } = this.#ports;
    readAgain.scan(frame.b, frame.start, frame.end, limits.maxDepth);
    const slot = slots.peekSent(downIdAt(frame.b, Field.id, readAgain));
    if (slot === undefined) return true;
    if (slot.isSecondTry) return false;
    slot.again = frame;
    slot.nameText = ''; // the server's own name is in it
    slot.cut = undefined;
    return true;
  }

  /** Ends a call whose time is up: the server is told, and the one who asked gets an error. */
  checkTime(slot: Slot, nowMs: number): void {
    const { server, slots, callBacks, limits, counters } = this.#ports;
    // While a person is asked, the call waits for that person, within the upper bound.
    if (callBacks.isAsking(slot.session)) extend(slot);
    const timeoutMs = this.#timeoutOf(slot);
    const tookMs = overdueMs(slot, nowMs, timeoutMs, limits);
    if (tookMs === undefined) return;
    counters.timeouts++;
    const hint = `It may still go on there. ${this.#settingsFor(slot, tookMs)} allows more.`;
    const message = `Server ${server} has not answered within ${tookMs} ms`;
    slots.giveUp(slot, 'The time for this call is up', new BridgeError('CALL_TIMED_OUT', message, { server, hint }));
    this.#ended(slot);
  }

  /** 0 where the client decides, and where a task does. */
  #timeoutOf({ waitsForTask, timeoutMs }: Slot): number {
    const { timeoutMs: ownMs, limits } = this.#ports;
    return waitsForTask ? 0 : shorterMs(timeoutMs, ownMs ?? limits.callTimeoutMs);
  }

  #settingsFor(slot: Slot, tookMs: number): string {
    if (tookMs !== this.#timeoutOf(slot)) return 'The setting limits.maxCallMs';
    return slot.timeoutMs === tookMs
      ? 'The setting discovery.timeoutMs'
      : 'The setting timeoutMs of the server, or limits.callTimeoutMs,';
  }

  #ended(slot: Slot): void {
    if (slot.downId === 0) this.#ports.callBacks.callEnded();
    else this.#ports.callBacks.callGivenUp(slot.session);
  }
}
