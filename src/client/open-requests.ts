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
  /** By URI, the `params` that asked for it. */
  readonly #subscriptions = new Map<string, string>();
  #logLevel: string | undefined;

  get size(): number {
    return this.#requests.size;
  }

  has(id: RequestId): boolean {
    return this.#requests.has(id);
  }

  get(id: RequestId | undefined): OpenRequest | undefined {
    return id === undefined ? undefined : this.#requests.get(id);
  }

  /** In the order in which they were asked. */
  all(): readonly OpenRequest[] {
    return [...this.#requests.values()];
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
    this.#requests.set(id, request);
    return request;
  }

  /** It was answered. */
  answered(id: RequestId, isResult: boolean): OpenRequest | undefined {
    const request = this.#requests.get(id);
    if (request === undefined) return undefined;
    this.#requests.delete(id);
    if (isResult) this.#remember(request);
    return request;
  }

  /** Nobody waits for its answer any more. */
  cancelled(id: RequestId): void {
    this.#requests.delete(id);
  }

  takeAll(): readonly OpenRequest[] {
    const all = this.all();
    this.#requests.clear();
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
