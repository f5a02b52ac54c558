// What each client wishes of a server that all of them share, carried out: which requests the server is sent, and which
// are answered without asking it. What is wished stands in Subscriptions and LogLevels.

import { BridgeError } from '../util/bridge-error.ts';
import { textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Limits } from '../wire/limits.ts';
import type { Call } from './call.ts';
import type { CallTable } from './call-table.ts';
import type { Counters } from './counters.ts';
import type { MethodRole } from './era/era-2025.ts';
import { LogLevels } from './log-levels.ts';
import type { OwnRequest } from './own-requests.ts';
import type { Session } from './session.ts';
import { Subscriptions } from './subscriptions.ts';
import { paramsOf } from './view.ts';

export interface WishesPorts {
  readonly server: string;
  readonly calls: CallTable;
  readonly limits: Limits;
  readonly counters: Counters;
}

export class Wishes {
  readonly #ports: WishesPorts;
  readonly subscriptions: Subscriptions;
  readonly levels: LogLevels;

  constructor(ports: WishesPorts) {
    this.#ports = ports;
    const ask = ({ method, params }: OwnRequest): void => ports.calls.own.ask(method, params);
    this.subscriptions = new Subscriptions({ ask, mostBytes: ports.limits.maxSubscribedBytesPerClient });
    this.levels = new LogLevels({ ask });
  }

  /** One that is about a wish is decided when its turn comes: what others wish may be something else by then. */
  prepare(call: Call, role: MethodRole): void {
    if (role === 'subscribe') call.onTurn = (frame, read) => this.#subscribe(call, uriIn(frame, read));
    if (role === 'unsubscribe') call.onTurn = (frame, read) => this.#unsubscribe(call, uriIn(frame, read));
    if (role === 'set-level') call.onTurn = (frame, read) => this.#setLevel(call, textOf(paramsOf(frame, read).level));
  }

  #subscribe(call: Call, uri: string): boolean {
    if (uri === '') return true; // the server's to refuse
    call.onEnd = this.subscriptions.subscribe(call.session, uri, call.hasNamedUri);
    if (call.onEnd === undefined) this.#refuse(call);
    return call.onEnd !== undefined;
  }

  #refuse(call: Call): void {
    const { server, calls, counters, limits } = this.#ports;
    counters.subscriptionsRefused++;
    const message = `A client may have subscriptions of ${limits.maxSubscribedBytesPerClient} bytes on server ${server}`;
    const hint = 'Take some back; limits.maxSubscribedBytesPerClient allows more.';
    calls.fail(call, new BridgeError('REQUEST_REFUSED', message, { server, hint }));
  }

  #unsubscribe(call: Call, uri: string): boolean {
    if (!this.subscriptions.unsubscribe(call.session, uri)) return this.#isSo(call);
    call.onEnd = this.subscriptions.sendUnsubscribe(uri);
    return true;
  }

  #setLevel(call: Call, level: string): boolean {
    if (this.levels.isForServer(call.session, level)) {
      call.onEnd = this.levels.ask(call.session, level);
      return true;
    }
    this.levels.set(call.session, level);
    return this.#isSo(call);
  }

  /** The call's one answer is that it is so, as the bridge knows without asking. */
  #isSo(call: Call): false {
    call.session.answer(call.idText, '{}');
    call.session.close(call);
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
