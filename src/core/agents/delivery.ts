// One request of a client to another, from its delivery to its one answer. Whoever goes first, the sender, the receiver or
// the time, finds it and sees to the other side.

import { BridgeError } from '../../util/bridge-error.ts';
import { type Envelope, Field } from '../../wire/envelope.ts';
import type { Frame } from '../../wire/frame-splitter.ts';
import type { Limits } from '../../wire/limits.ts';
import { Splice } from '../../wire/splice.ts';
import type { Counters } from '../counters.ts';
import { extend, overdueMs } from '../deadline.ts';
import { cancelNotice } from '../era/era-2025.ts';
import { rpcErrorOf } from '../rpc-error.ts';
import type { ClientQuestion } from '../session.ts';
import type { Slot, SlotOwner } from '../slot.ts';
import type { Participant } from './participant.ts';

export interface DeliveryPorts {
  readonly limits: Limits;
  readonly counters: Counters;
}

const splice = new Splice();
let delivered = 0;

export class Delivery implements ClientQuestion, SlotOwner {
  /** Towards the receiver; it is the progress token too. */
  readonly id = `mcp-bridge/message-${++delivered}`;
  readonly #from: Participant;
  readonly #to: Participant;
  readonly #ports: DeliveryPorts;
  #slot: Slot | undefined;

  constructor(from: Participant, to: Participant, ports: DeliveryPorts) {
    this.#from = from;
    this.#to = to;
    this.#ports = ports;
  }

  /** It is about to be written. */
  begin(slot: Slot): void {
    this.#slot = slot;
    this.#from.asking++;
    this.#to.asked++;
    this.#to.session.questions.set(this.id, this);
  }

  // --- what the receiver does ---

  answer({ b, start, end }: Frame, read: Envelope): void {
    const slot = this.#forget();
    if (slot === undefined) return;
    const { outbox } = slot.session.link;
    if (!slot.session.untaken.hasRoomFor(end - start))
      return this.#fail(
        slot,
        new BridgeError('CLIENT_BUSY', 'There is no room for the answer: too many are not taken'),
      );
    splice.clear().replace(read.from(Field.id), read.to(Field.id), slot.idText).send(outbox, b, start, end);
    this.#ports.counters.responses++;
    slot.session.close(slot);
  }

  progress({ b, start, end }: Frame, read: Envelope): void {
    const slot = this.#slot;
    if (slot === undefined) return;
    if (this.#ports.limits.progressExtendsTimeout) extend(slot);
    const { outbox } = slot.session.link;
    if (slot.tokenText === '' || slot.session.untaken.isCrowded) return;
    splice.clear().replace(read.from(Field.progressToken), read.to(Field.progressToken), slot.tokenText);
    splice.send(outbox, b, start, end);
  }

  /** The receiver has gone. */
  abandon(slot?: Slot): void {
    if (slot !== undefined) return this.#takeBack('Its sender has gone');
    const open = this.#forget();
    if (open === undefined) return;
    const { clientId } = this.#to.session;
    const message = `The client ${clientId} has gone before it answered; what it did is unknown`;
    this.#fail(open, new BridgeError('CLIENT_GONE', message, { hint: 'bridge/clients shows who is connected.' }));
  }

  // --- what the sender does ---

  wasSent(): boolean {
    return true;
  }

  withdraw(): void {
    // The receiver has it already.
  }

  cancel(_slot: Slot, { b, start, end }: Frame, read: Envelope): void {
    const { session } = this.#to;
    splice.clear().replace(read.from(Field.requestId), read.to(Field.requestId), JSON.stringify(this.id));
    splice.send(session.link.outbox, b, start, end);
    this.#ports.counters.cancelled++;
    this.#close();
  }

  checkTime(slot: Slot, nowMs: number): void {
    const { limits, counters } = this.#ports;
    const tookMs = overdueMs(slot, nowMs, limits.callTimeoutMs, limits);
    if (tookMs === undefined) return;
    counters.timeouts++;
    this.#tellReceiver('Its time is up');
    this.#forget();
    const message = `The client ${this.#to.session.clientId} has not answered within ${tookMs} ms`;
    this.#fail(slot, new BridgeError('CALL_TIMED_OUT', message, { hint: 'It was told to cancel.' }));
  }

  #takeBack(reason: string): void {
    this.#tellReceiver(reason);
    this.#close();
  }

  #tellReceiver(reason: string): void {
    if (this.#to.session.isOpen) this.#to.session.tell(cancelNotice(JSON.stringify(this.id), reason));
  }

  // --- the end ---

  /** Nobody gets an answer. */
  #close(): void {
    const slot = this.#forget();
    slot?.session.close(slot);
  }

  #fail(slot: Slot, error: BridgeError): void {
    slot.session.answerError(slot.idText, rpcErrorOf(error));
    slot.session.close(slot);
  }

  /** The slot, if it is still open. */
  #forget(): Slot | undefined {
    const slot = this.#slot;
    if (slot === undefined) return undefined;
    this.#slot = undefined;
    this.#from.asking--;
    this.#to.asked--;
    this.#to.session.questions.delete(this.id);
    return slot;
  }
}
