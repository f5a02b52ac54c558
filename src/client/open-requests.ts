// The client's unanswered requests, with their bytes. Each gets exactly one answer, from whichever daemon runs by then.
// Also keeps the client's settings, which a new daemon has to be told, and knows the kinds of methods.

import { isUtf8 } from 'node:buffer';
import { KEYS_2025 } from '../protocol/keys-2025.ts';
import { ByteTable } from '../wire/byte-table.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { idOf } from '../wire/frame-head.ts';
import { joined } from '../wire/frame-pieces.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import { copyOf } from '../wire/own-frame.ts';
import type { RequestId } from '../wire/request-id.ts';

export interface OpenRequest {
  readonly id: RequestId;
  /** The id in its own bytes. */
  readonly idText: string;
  readonly kind: MethodKind;
  /** True if the request may be done twice. */
  readonly isSafe: boolean;
  /** The buffer of the request's frame, which is b[start, end). */
  b: Buffer;
  start: number;
  end: number;
  /** Set for requests that set something: `params`, and the resource's URI, as spelled. */
  readonly params: string;
  readonly uri: string;
  /** The place where its frame ends among the bytes of this session; undefined until it is sent in this session. */
  position: number | undefined;
  /** True if a lost daemon has had the request. */
  isMaybeDone: boolean;
  /** The number of daemons that have had the request. */
  sendings: number;
  /** True if the client knows that its subscription has begun. */
  hasBegun: boolean;
}

/**
 * A request that sets nothing. Only its ends were read, enough to match it with its answer. It is scanned as a whole
 * once more must be known; requests that the daemon refused without naming them are forgotten then.
 */
interface PlainRequest {
  b: Buffer;
  start: number;
  end: number;
  /** The pieces in which it came, with its newline. If they are set, b is empty. */
  readonly pieces: readonly Buffer[] | undefined;
  readonly position: number;
}

/** Longer frames keep the memory in which they came. */
const MOST_COPIED = 4096;

const scanner = new Envelope(KEYS_2025);

const NOTHING: Buffer = Buffer.alloc(0);

function requestOf(read: Envelope, b: Buffer, start: number, end: number): OpenRequest | undefined {
  const id = read.id(b, Field.id);
  if (id === undefined) return undefined;
  const kind = methodKind(b, read.from(Field.method), read.to(Field.method));
  const sets = kind >= MethodKind.subscribe;
  return {
    id,
    idText: read.raw(b, Field.id),
    kind,
    isSafe: kind !== MethodKind.other,
    b,
    start,
    end,
    params: sets && read.has(Field.params) ? read.raw(b, Field.params) : '',
    uri: sets && read.has(Field.uri) ? read.raw(b, Field.uri) : '',
    position: undefined,
    isMaybeDone: false,
    sendings: 0,
    hasBegun: false,
  };
}

/** Scans the whole request; returns nothing if the daemon refuses it. */
function scanned(plain: PlainRequest): readonly OpenRequest[] {
  const { b, start, end } = plain.pieces === undefined ? plain : frameIn(plain.pieces);
  if (!isUtf8(b.subarray(start, end)) || !scanner.scan(b, start, end, DEEPEST) || scanner.kind !== 'request') return [];
  const request = requestOf(scanner, b, start, end);
  if (request === undefined) return [];
  request.position = plain.position;
  request.sendings = 1;
  return [request];
}

/** Orders requests as they were sent, those not sent yet last. Places are counted from behind the `initialize`. */
function inOrder(one: OpenRequest, other: OpenRequest): number {
  const placeOf = ({ kind, position = Number.MAX_SAFE_INTEGER }: OpenRequest): number =>
    kind === MethodKind.initialize ? 0 : position;
  return placeOf(one) - placeOf(other);
}

function frameIn(pieces: readonly Buffer[]): Frame {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  return { b: joined(pieces, bytes), start: 0, end: bytes - 1 };
}

/** True if no part of a frame is in this memory any more. */
function hasLeft(
  frame: { b: Buffer; start: number; end: number; readonly pieces?: readonly Buffer[] | undefined },
  memory: ArrayBufferLike,
): boolean {
  if (frame.pieces !== undefined) return frame.pieces.every(({ buffer }) => buffer !== memory);
  if (frame.b.buffer !== memory) return true;
  if (frame.end - frame.start > MOST_COPIED) return false;
  const own = copyOf(frame);
  frame.b = own.b;
  frame.start = own.start;
  frame.end = own.end;
  return true;
}

/** Returns the spelling under which a plain request has this id. */
function textOf(id: RequestId): string {
  return typeof id === 'number' ? String(id) : `"${id}"`;
}

export class OpenRequests {
  readonly #requests = new Map<RequestId, OpenRequest>();
  /** Plain requests by their ids as spelled; none of them is in `#requests`. */
  readonly #plain = new Map<string, PlainRequest>();
  /** Requests under the id of another open one. The daemon refuses each, unless the other one is answered by then. */
  #doubles: OpenRequest[] = [];
  /** The `params` of each subscription, by URI. */
  readonly #subscriptions = new Map<string, string>();
  #logLevel: string | undefined;

  get size(): number {
    return this.#plain.size + this.#requests.size + this.#doubles.length;
  }

  has(id: RequestId): boolean {
    return this.#plain.has(textOf(id)) || this.#requests.has(id);
  }

  /** Returns the first open request with this id. */
  get(id: RequestId | undefined): OpenRequest | undefined {
    this.settle();
    return id === undefined ? undefined : this.#requests.get(id);
  }

  isOpen(request: OpenRequest): boolean {
    return this.#requests.get(request.id) === request || this.#doubles.includes(request);
  }

  /** Returns the requests in the order in which they were asked, the doubles behind the others. */
  all(): readonly OpenRequest[] {
    this.settle();
    return [...this.#requests.values(), ...this.#doubles];
  }

  /**
   * Adds a request that `read` has scanned in b[start, end). Undefined if its id is invalid; the daemon refuses it
   * then.
   */
  add(read: Envelope, b: Buffer, start: number, end: number): OpenRequest | undefined {
    const request = requestOf(read, b, start, end);
    if (request === undefined) return undefined;
    if (this.#plain.has(textOf(request.id))) this.settle();
    this.#open(request);
    return request;
  }

  /**
   * Adds a plain request that is sent and ends at `position`. False if another request has its id; then it cannot be
   * plain.
   */
  addPlain(idText: string, b: Buffer, start: number, end: number, position: number): boolean {
    if (this.#isTaken(idText)) return false;
    this.#plain.set(idText, { b, start, end, pieces: undefined, position });
    return true;
  }

  /** Adds a long plain request, in pieces that hold it and its newline. */
  addLong(idText: string, pieces: readonly Buffer[], position: number): boolean {
    if (this.#isTaken(idText)) return false;
    this.#plain.set(idText, { b: NOTHING, start: 0, end: 0, pieces, position });
    return true;
  }

  /** Called when an answer has come to the request with this id, as spelled. */
  answeredAs(idText: string, isResult: boolean): void {
    if (!this.#plain.delete(idText)) this.#answered(idOf(idText), isResult);
  }

  #isTaken(idText: string): boolean {
    return this.#plain.has(idText) || (this.#requests.size > 0 && this.#requests.has(idOf(idText)));
  }

  #open(request: OpenRequest): void {
    if (this.#requests.has(request.id)) this.#doubles.push(request);
    else this.#requests.set(request.id, request);
  }

  /** Scans the plain requests; they are like all others then. */
  settle(): void {
    if (this.#plain.size === 0) return;
    const requests = [...this.#requests.values()];
    for (const plain of this.#plain.values()) requests.push(...scanned(plain));
    this.#plain.clear();
    this.#requests.clear();
    for (const request of requests.sort(inOrder)) this.#requests.set(request.id, request);
  }

  /** True if this memory may be reused. Copies short frames out of it. */
  leave(memory: ArrayBufferLike): boolean {
    for (const one of this.#plain.values()) if (!hasLeft(one, memory)) return false;
    for (const one of this.#requests.values()) if (!hasLeft(one, memory)) return false;
    return this.#doubles.every((one) => hasLeft(one, memory));
  }

  /** Ends a request with this id. If there are several, an error answers the last one: its id is in use. */
  answered(id: RequestId, isResult: boolean): void {
    if (!this.#plain.delete(textOf(id))) this.#answered(id, isResult);
  }

  #answered(id: RequestId, isResult: boolean): void {
    const double = isResult || this.#doubles.length === 0 ? undefined : this.#doubles.findLast((one) => one.id === id);
    const request = double ?? this.#requests.get(id);
    if (request === undefined) return;
    this.close(request);
    if (isResult) this.#remember(request);
  }

  /** Called when nobody waits for the request's answer any more. */
  cancelled(id: RequestId): void {
    if (this.#plain.delete(textOf(id))) return;
    const request = this.#requests.get(id);
    if (request !== undefined) this.close(request);
  }

  /** Ends exactly this request. */
  close(request: OpenRequest): void {
    if (this.#requests.get(request.id) !== request) {
      this.#doubles = this.#doubles.filter((one) => one !== request);
      return;
    }
    this.#requests.delete(request.id);
    if (this.#doubles.length === 0) return;
    const next = this.#doubles.find(({ id }) => id === request.id);
    if (next === undefined) return;
    this.#doubles = this.#doubles.filter((one) => one !== next);
    this.#requests.set(next.id, next);
  }

  /** True if a request ends at this place among the sent bytes. */
  hasAt(place: number): boolean {
    for (const { position } of this.#plain.values()) if (position === place) return true;
    for (const { position } of this.#requests.values()) if (position === place) return true;
    return this.#doubles.some(({ position }) => position === place);
  }

  /** Keeps only requests that end at one of these places, and those sent behind `place`. */
  keepOnly(place: number, open: ReadonlySet<number>): void {
    const isOver = (position: number | undefined): boolean =>
      position !== undefined && position <= place && !open.has(position);
    for (const [idText, { position }] of this.#plain) if (isOver(position)) this.#plain.delete(idText);
    for (const request of [...this.#requests.values(), ...this.#doubles])
      if (isOver(request.position)) this.close(request);
  }

  /** Ends the subscriptions; returns their ids as spelled. */
  endSubscriptions(): readonly string[] {
    const listening = this.all().filter(({ kind }) => kind === MethodKind.listen);
    for (const request of listening) this.close(request);
    return listening.map(({ idText }) => idText);
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

  /** Returns the requests, each with its `params`, that repeat this session's settings in a new session. */
  settings(): readonly (readonly [string, string])[] {
    const subscriptions = [...this.#subscriptions.values()].map((params) => ['resources/subscribe', params] as const);
    return this.#logLevel === undefined ? subscriptions : [...subscriptions, ['logging/setLevel', this.#logLevel]];
  }

  /** The subscribed resources, each by its URI as spelled. */
  get subscribed(): Iterable<string> {
    return this.#subscriptions.keys();
  }
}

export const MethodKind = {
  other: 0,
  /** The method changes nothing, so the request may be done twice. */
  safe: 1,
  /** A subscription. It has no answer while it goes on; the next daemon may be asked again. */
  listen: 2,
  initialize: 3,
  subscribe: 4,
  unsubscribe: 5,
  setLevel: 6,
} as const;
export type MethodKind = (typeof MethodKind)[keyof typeof MethodKind];

const KINDS = new ByteTable<MethodKind>([
  ['initialize', MethodKind.initialize],
  ['subscriptions/listen', MethodKind.listen],
  ['resources/subscribe', MethodKind.subscribe],
  ['resources/unsubscribe', MethodKind.unsubscribe],
  ['logging/setLevel', MethodKind.setLevel],
  ...[
    'ping',
    'tools/list',
    'prompts/list',
    'prompts/get',
    'resources/list',
    'resources/templates/list',
    'resources/read',
    'completion/complete',
    'server/discover',
  ].map((name) => [name, MethodKind.safe] as const),
]);

/** Returns the kind of a method. b[from, to) is its name with quotes. */
export function methodKind(b: Buffer, from: number, to: number): MethodKind {
  return KINDS.find(b, from + 1, to - 1) ?? MethodKind.other;
}
