// One request from a client to another, from delivery to its one answer. The sender, the receiver and the time limit
// can each end it; the first one settles the other side.

import type { Call, CallOwner } from '../core/call.ts';
import { extend, overdueMs } from '../core/call.ts';
import type { Events } from '../core/events.ts';
import type { ClientQuestion } from '../core/session.ts';
import type { Limits } from '../model/limits.ts';
import { cancelNotice } from '../protocol/era.ts';
import { rpcErrorOf } from '../protocol/rpc-error.ts';
import { BridgeError } from '../util/bridge-error.ts';
import type { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Participant } from './participants.ts';

export interface DeliveryPorts {
  readonly limits: Limits;
  readonly events: Events;
}

let delivered = 0;

export class Delivery implements ClientQuestion, CallOwner {
  /** The id towards the receiver, and its progress token. */
  readonly id = `mcp-bridge/message-${++delivered}`;
  readonly #from: Participant;
  readonly #to: Participant;
  readonly #ports: DeliveryPorts;
  #call: Call | undefined;

  constructor(from: Participant, to: Participant, ports: DeliveryPorts) {
    this.#from = from;
    this.#to = to;
    this.#ports = ports;
  }

  /** Opens the request, just before it is written to the receiver. */
  begin(call: Call): void {
    this.#call = call;
    this.#from.asking++;
    this.#to.asked++;
    this.#to.session.addQuestion(this.id, this);
  }

  // --- from the receiver ---

  answer(answer: Frame, envelope: Envelope): void {
    const call = this.#forget();
    if (call === undefined) return;
    if (!call.session.backlog.hasRoomFor(answer.end - answer.start))
      return this.#fail(
        call,
        new BridgeError(
          'CLIENT_BUSY',
          'The answer was dropped: this client has too many answers that it does not read',
        ),
      );
    call.output.passAnswer(call, answer, envelope, this.#to.session.era);
    call.close();
  }

  progress(notice: Frame, envelope: Envelope): void {
    const call = this.#call;
    if (call === undefined) return;
    if (this.#ports.limits.progressExtendsTimeout) extend(call);
    if (call.tokenText === '' || call.session.backlog.isCrowded) return;
    call.output.passProgress(call, notice, envelope);
  }

  /** Called when the receiver has gone; with a call, when the sender has. */
  abandon(call?: Call): void {
    if (call !== undefined) return this.#takeBack('The sender has disconnected');
    const open = this.#forget();
    if (open === undefined) return;
    const { clientId } = this.#to.session;
    const message = `The client ${clientId} disconnected before it answered; it may have acted on the request`;
    this.#fail(open, new BridgeError('CLIENT_GONE', message, { hint: 'bridge/clients lists the connected clients.' }));
  }

  // --- from the sender ---

  wasSent(): boolean {
    return true;
  }

  withdraw(): void {
    // Nothing to do: the receiver has the request already.
  }

  cancel(call: Call, notice: Frame, envelope: Envelope): void {
    this.#to.session.output.passCancel(this.id, notice, envelope);
    this.#ports.events.incident.tell('cancelled', call.session);
    this.#close();
  }

  stop(call: Call, error: BridgeError): void {
    this.#tellReceiver('The request was ended');
    this.#forget();
    this.#fail(call, error);
  }

  tickCall(call: Call, nowMs: number): void {
    const { limits, events } = this.#ports;
    const tookMs = overdueMs(call, nowMs, limits.callTimeoutMs, limits);
    if (tookMs === undefined) return;
    events.incident.tell('timeouts', call.session);
    this.#tellReceiver('The request has timed out');
    this.#forget();
    const message = `The client ${this.#to.session.clientId} did not answer within ${tookMs} ms`;
    this.#fail(call, new BridgeError('CALL_TIMED_OUT', message, { hint: 'It was asked to cancel the request.' }));
  }

  #takeBack(reason: string): void {
    this.#tellReceiver(reason);
    this.#close();
  }

  #tellReceiver(reason: string): void {
    if (this.#to.session.isOpen) this.#to.session.output.notify(cancelNotice(JSON.stringify(this.id), reason));
  }

  // --- the end ---

  /** Ends the request without an answer. */
  #close(): void {
    const call = this.#forget();
    call?.close();
  }

  #fail(call: Call, error: BridgeError): void {
    call.output.fail(call.idText, rpcErrorOf(error));
    call.close();
  }

  /** Forgets the request. Returns its call if it was still open. */
  #forget(): Call | undefined {
    const call = this.#call;
    if (call === undefined) return undefined;
    this.#call = undefined;
    this.#from.asking--;
    this.#to.asked--;
    this.#to.session.forgetQuestion(this.id);
    return call;
  }
}
