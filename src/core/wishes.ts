// What each client wishes of a server that all of them share, carried out: which requests the server is sent, and which
// are answered without asking it. What is wished stands in Subscriptions and LogLevels.

import { BridgeError } from '../util/bridge-error.ts';
import { textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Limits } from '../wire/limits.ts';
import type { Counters } from './counters.ts';
import type { MethodRole } from './era/era-2025.ts';
import { LogLevels } from './log-levels.ts';
import type { OwnRequest } from './own-requests.ts';
import type { Session } from './session.ts';
import type { Slot } from './slot.ts';
import type { SlotTable } from './slot-table.ts';
import { Subscriptions } from './subscriptions.ts';
import { paramsOf } from './view.ts';

export interface WishesPorts {
  readonly server: string;
  readonly slots: SlotTable;
  readonly limits: Limits;
  readonly counters: Counters;
}

export class Wishes {
  readonly #ports: WishesPorts;
  readonly subscriptions: Subscriptions;
  readonly levels: LogLevels;

  constructor(ports: WishesPorts) {
    this.#ports = ports;
    const ask = ({ method, params }: OwnRequest): void => ports.slots.own.ask(method, params);
    this.subscriptions = new Subscriptions({ ask, mostBytes: ports.limits.maxSubscribedBytesPerClient });
    this.levels = new LogLevels({ ask });
  }

  /** One that is about a wish is decided when its turn comes: what others wish may be something else by then. */
  prepare(slot: Slot, role: MethodRole): void {
    if (role === 'subscribe') slot.onTurn = (frame, read) => this.#subscribe(slot, uriIn(frame, read));
    if (role === 'unsubscribe') slot.onTurn = (frame, read) => this.#unsubscribe(slot, uriIn(frame, read));
    if (role === 'set-level') slot.onTurn = (frame, read) => this.#setLevel(slot, textOf(paramsOf(frame, read).level));
  }

  #subscribe(slot: Slot, uri: string): boolean {
    if (uri === '') return true; // the server's to refuse
    slot.onEnd = this.subscriptions.subscribe(slot.session, uri, slot.hasNamedUri);
    if (slot.onEnd === undefined) this.#refuse(slot);
    return slot.onEnd !== undefined;
  }

  #refuse(slot: Slot): void {
    const { server, slots, counters, limits } = this.#ports;
    counters.subscriptionsRefused++;
    const message = `A client may have subscriptions of ${limits.maxSubscribedBytesPerClient} bytes on server ${server}`;
    const hint = 'Take some back; limits.maxSubscribedBytesPerClient allows more.';
    slots.fail(slot, new BridgeError('REQUEST_REFUSED', message, { server, hint }));
  }

  #unsubscribe(slot: Slot, uri: string): boolean {
    if (!this.subscriptions.unsubscribe(slot.session, uri)) return this.#isSo(slot);
    slot.onEnd = this.subscriptions.sendUnsubscribe(uri);
    return true;
  }

  #setLevel(slot: Slot, level: string): boolean {
    if (this.levels.isForServer(slot.session, level)) {
      slot.onEnd = this.levels.ask(slot.session, level);
      return true;
    }
    this.levels.set(slot.session, level);
    return this.#isSo(slot);
  }

  /** The slot's one answer is that it is so, as the bridge knows without asking. */
  #isSo(slot: Slot): false {
    slot.session.answer(slot.idText, '{}');
    slot.session.close(slot);
    return false;
  }

  /** What a server that was started again has to be told. */
  opened(): OwnRequest[] {
    return [...this.levels.opened(), ...this.subscriptions.opened()];
  }

  /** Of how much anything is kept here. */
  get size(): number {
    return this.subscriptions.size + this.levels.size;
  }

  // --- comings and goings ---

  forget(session: Session): void {
    this.subscriptions.forget(session);
    this.levels.forget(session);
  }

  /** The client uses another instance from now on. */
  handOver(session: Session, to: Wishes): void {
    this.levels.handOver(session, to.levels);
    this.subscriptions.handOver(session, to.subscriptions);
  }
}

function uriIn({ b }: Frame, read: Envelope): string {
  return textOf(read.decode(b, Field.uri));
}
