// What each client wishes of a server that all of them share, carried out: what the server is told, and when a client can
// be answered without asking it. Whose wish it is stands in SharedState.

import { BridgeError } from '../util/bridge-error.ts';
import { textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Limits } from '../wire/limits.ts';
import type { Counters } from './counters.ts';
import type { CallRole } from './era/era-2025.ts';
import type { OwnRequest } from './own-requests.ts';
import type { Session } from './session.ts';
import { isLevel, SharedState } from './shared-state.ts';
import type { Slot } from './slot.ts';
import type { SlotTable } from './slot-table.ts';
import { paramsOf } from './view.ts';

export interface WishesPorts {
  readonly server: string;
  readonly slots: SlotTable;
  readonly sessions: ReadonlySet<Session>;
  readonly limits: Limits;
  readonly counters: Counters;
  /** Has the server answer it. */
  readonly submit: (slot: Slot, role: CallRole, frame: Frame, read: Envelope) => void;
}

export class Wishes {
  readonly #ports: WishesPorts;
  readonly state = new SharedState();

  constructor(ports: WishesPorts) {
    this.#ports = ports;
  }

  // --- subscriptions ---

  subscribe(slot: Slot, frame: Frame, read: Envelope): void {
    const uri = uriIn(frame, read);
    if (this.#isTooMuch(slot.session, uri)) return this.#refuse(slot);
    // At once: the first update may come before the answer.
    if (uri !== '') this.state.subscribed(slot.session, uri);
    this.#ports.submit(slot, 'subscribe', frame, read);
  }

  #isTooMuch(session: Session, uri: string): boolean {
    return this.state.bytesWith(session, uri) > this.#ports.limits.maxSubscribedBytesPerClient;
  }

  #refuse(slot: Slot): void {
    const { server, slots, counters, limits } = this.#ports;
    counters.subscriptionsRefused++;
    const message = `A client may have subscriptions of ${limits.maxSubscribedBytesPerClient} bytes on server ${server}`;
    const hint = 'Take some back; limits.maxSubscribedBytesPerClient allows more.';
    slots.fail(slot, new BridgeError('REQUEST_REFUSED', message, { server, hint }));
  }

  unsubscribe(slot: Slot, frame: Frame, read: Envelope): void {
    const isStillWished = this.state.unsubscribe(slot.session, uriIn(frame, read));
    if (isStillWished) this.#ports.slots.succeed(slot);
    else this.#ports.submit(slot, 'unsubscribe', frame, read);
  }

  /** A wish that the server does not grant is none. */
  watchSubscription(slot: Slot, frame: Frame, read: Envelope): void {
    const { session } = slot;
    const uri = uriIn(frame, read);
    slot.onEnd = (hasResult) => void (hasResult || this.state.unsubscribe(session, uri));
  }

  // --- the log level ---

  askForLevel(slot: Slot, frame: Frame, read: Envelope): void {
    const { session } = slot;
    const asked = textOf(paramsOf(frame, read).level);
    const level = this.state.levelWith(session, asked);
    // A level that nobody knows is the server's to refuse.
    if (level === undefined || level === asked) return this.#ports.submit(slot, 'set-level', frame, read);
    this.setLevel(session, asked); // others have the server say more already
    this.#ports.slots.succeed(slot);
  }

  /** A level that the server does not take is none. */
  watchLevel(slot: Slot, frame: Frame, read: Envelope): void {
    const { session } = slot;
    const level = textOf(paramsOf(frame, read).level);
    slot.onEnd = (hasResult) => void (hasResult && isLevel(level) && this.#levelTaken(session, level));
  }

  /** The server has it already, unless the client uses another instance by now. */
  #levelTaken(session: Session, level: string): void {
    const { sessions, server } = this.#ports;
    if (sessions.has(session)) return void this.state.setLevel(session, level);
    for (const backend of session.view?.backends() ?? [])
      if (backend.server === server) backend.wishes.setLevel(session, level);
  }

  /** The client wants this level here, and asks for no answer. */
  setLevel(session: Session, level: string): void {
    this.#tell(this.state.setLevel(session, level));
  }

  // --- comings and goings ---

  forget(session: Session): void {
    this.#tell(this.state.forget(session));
  }

  /** The client uses another instance from now on. */
  handOver(session: Session, to: Wishes): void {
    for (const wish of this.state.wishesOf(session)) to.#adopt(session, wish);
  }

  #adopt(session: Session, wish: OwnRequest): void {
    const { level, uri } = wish.params;
    if (level !== undefined) return this.setLevel(session, level);
    this.state.subscribed(session, textOf(uri));
    this.#tell([wish]);
  }

  #tell(requests: readonly OwnRequest[]): void {
    for (const { method, params } of requests) this.#ports.slots.own.ask(method, params);
  }
}

function uriIn({ b }: Frame, read: Envelope): string {
  return textOf(read.decode(b, Field.uri));
}
