// What the client has asked and nobody has answered, with its bytes: whoever the daemon is by then, each of them gets
// exactly one answer. Also what the client has set, which a new daemon has to be told.

import type { Envelope } from '../wire/envelope.ts';
import { Field } from '../wire/envelope.ts';
import type { RequestId } from '../wire/request-id.ts';
import { MethodKind, methodKind } from './method-kind.ts';

export interface OpenRequest {
  readonly id: RequestId;
  /** As it is spelled. */
  readonly idText: string;
  readonly kind: MethodKind;
  /** Its frame is b[start, end). */
  readonly b: Buffer;
  readonly start: number;
  readonly end: number;
  /** For those that set something: `params`, and the resource's URI, as they are spelled. */
  readonly params: string;
  readonly uri: string;
  /** Where its frame ends among the bytes sent in this session; undefined while it was not sent in it. */
  position: number | undefined;
  /** A daemon that is gone has had it. */
  isMaybeDone: boolean;
  /** How many daemons have had it. */
  sendings: number;
}

export class OpenRequests {
  readonly #requests = new Map<RequestId, OpenRequest>();
  /** Asked under ids of which another one is open: the daemon refuses each, unless that one is answered by then. */
  #doubles: OpenRequest[] = [];
  /** By URI, the `params` that asked for it. */
  readonly #subscriptions = new Map<string, string>();
  #logLevel: string | undefined;

  get size(): number {
    return this.#requests.size + this.#doubles.length;
  }

  has(id: RequestId): boolean {
    return this.#requests.has(id);
  }

  /** Of several with this id, the one that was asked first. */
  get(id: RequestId | undefined): OpenRequest | undefined {
    return id === undefined ? undefined : this.#requests.get(id);
  }

  isOpen(request: OpenRequest): boolean {
    return this.#requests.get(request.id) === request || this.#doubles.includes(request);
  }

  /** In the order in which they were asked, the doubles behind the others. */
  all(): readonly OpenRequest[] {
    return [...this.#requests.values(), ...this.#doubles];
  }

  /** `read` has scanned b[start, end), a request. Undefined if its id is none: the daemon refuses it. */
  add(read: Envelope, b: Buffer, start: number, end: number): OpenRequest | undefined {
    const id = read.id(b, Field.id);
    if (id === undefined) return undefined;
    const kind = methodKind(b, read.from(Field.method), read.to(Field.method));
    const sets = kind >= MethodKind.subscribe;
    const request: OpenRequest = {
      id,
      idText: read.raw(b, Field.id),
      kind,
      b,
      start,
      end,
      params: sets && read.has(Field.params) ? read.raw(b, Field.params) : '',
      uri: sets && read.has(Field.uri) ? read.raw(b, Field.uri) : '',
      position: undefined,
      isMaybeDone: false,
      sendings: 0,
    };
    if (this.#requests.has(id)) this.#doubles.push(request);
    else this.#requests.set(id, request);
    return request;
  }

  /** Of several with this id, an error is the answer to the last one: that its id is in use. */
  answered(id: RequestId, isResult: boolean): void {
    const double = isResult ? undefined : this.#doubles.findLast((one) => one.id === id);
    const request = double ?? this.#requests.get(id);
    if (request === undefined) return;
    this.close(request);
    if (isResult) this.#remember(request);
  }

  /** Nobody waits for its answer any more. */
  cancelled(id: RequestId): void {
    const request = this.#requests.get(id);
    if (request !== undefined) this.close(request);
  }

  /** This very one is over. */
  close(request: OpenRequest): void {
    if (this.#requests.get(request.id) !== request) {
      this.#doubles = this.#doubles.filter((one) => one !== request);
      return;
    }
    this.#requests.delete(request.id);
    const next = this.#doubles.find(({ id }) => id === request.id);
    if (next === undefined) return;
    this.#doubles = this.#doubles.filter((one) => one !== next);
    this.#requests.set(next.id, next);
  }

  takeAll(): readonly OpenRequest[] {
    const all = this.all();
    this.#requests.clear();
    this.#doubles = [];
    return all;
  }

  #remember({ kind, params, uri }: OpenRequest): void {
    if (kind === MethodKind.subscribe) this.#subscriptions.set(uri, params);
    else if (kind === MethodKind.unsubscribe) this.#subscriptions.delete(uri);
    else if (kind === MethodKind.setLevel) this.#logLevel = params;
  }

  /** The requests, each with its `params`, that set in a new session what was set in this one. */
  settings(): readonly (readonly [string, string])[] {
    const subscriptions = [...this.#subscriptions.values()].map((params) => ['resources/subscribe', params] as const);
    return this.#logLevel === undefined ? subscriptions : [...subscriptions, ['logging/setLevel', this.#logLevel]];
  }

  /** The resources subscribed to, each as its URI is spelled. */
  get subscribed(): Iterable<string> {
    return this.#subscriptions.keys();
  }
}
