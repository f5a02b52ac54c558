// A JSON-RPC session with the bridge over one socket, for users that may decode each message. It splits frames, numbers
// requests, keeps the open ones, reads errors and says `initialize`. Each request ends exactly once. The session never
// decides what a failure means to a person: its users know what they asked for.

import type { Socket } from 'node:net';
import { INTERNAL_ERROR, METHOD_NOT_FOUND } from '../protocol/rpc-codes.ts';
import { LATEST_PROTOCOL_VERSION } from '../protocol/versions.ts';
import { messageOf } from '../util/bridge-error.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import { type Frame, type FrameSink, FrameSplitter } from '../wire/frame-splitter.ts';
import { findMembers } from '../wire/json-members.ts';
import { valueIn } from './bytes.ts';
import { type Refusal, readRefusal } from './rpc-refusal.ts';

export interface Answer {
  readonly result: unknown;
  /** Returns the result in its original bytes. */
  text(): string;
}

/** `foreign` means that the other side says something that no bridge says. */
type FailureKind = 'closed' | 'foreign' | 'refused' | 'timeout';

export class RpcFailure extends Error {
  override readonly name = 'RpcFailure';
  readonly kind: FailureKind;
  /** The bridge's own words, if it refused the request. */
  readonly refusal: Refusal | undefined;

  constructor(kind: FailureKind, message: string, refusal?: Refusal) {
    super(message);
    this.kind = kind;
    this.refusal = refusal;
  }
}

export interface RpcSessionOptions {
  readonly maxFrameBytes: number;
  /** Answers a request of the bridge with a result; undefined for a method that this side does not know. */
  readonly onRequest?: ((method: string, params: unknown) => Promise<object> | undefined) | undefined;
  readonly onNotification?: ((method: string, params: Readonly<Record<string, unknown>>) => void) | undefined;
  /** True if the session reads one answer and leaves all later frames, unread, to `passTo`. */
  readonly isPassedOn?: boolean;
}

export interface RpcIntroduction {
  readonly clientInfo: { readonly name: string; readonly version: string };
  readonly capabilities?: object;
  readonly _meta: Readonly<Record<string, unknown>>;
}

interface RequestOptions {
  /** Cancels the request, which then fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

interface OpenRequest {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export class RpcSession {
  readonly #socket: Socket;
  readonly #options: RpcSessionOptions;
  readonly #splitter: FrameSplitter;
  readonly #open = new Map<number, OpenRequest>();
  /** The frames behind the answer, until somebody takes them. */
  readonly #unread: Frame[] = [];
  #lastId = 0;
  #isForeign = false;

  constructor(socket: Socket, options: RpcSessionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#splitter = new FrameSplitter(
      options.maxFrameBytes,
      this.#sink((frame) => this.#received(frame)),
    );
    socket.on('data', (chunk: Buffer) => this.#splitter.push(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#failAll(this.#ended()));
  }

  initialize({ clientInfo, capabilities = {}, _meta }: RpcIntroduction, timeoutMs?: number): Promise<Answer> {
    const params = { protocolVersion: LATEST_PROTOCOL_VERSION, capabilities, clientInfo, _meta };
    return this.request('initialize', JSON.stringify(params), { timeoutMs });
  }

  /** The id of the next request. */
  get nextId(): number {
    return this.#lastId + 1;
  }

  isOpen(id: number): boolean {
    return this.#open.has(id);
  }

  /**
   * Sends a request. `params` is the text of a JSON object, on one line. Rejects with an RpcFailure, or with the
   * signal's reason.
   */
  request(method: string, params: string, { signal, timeoutMs }: RequestOptions = {}): Promise<Answer> {
    const id = ++this.#lastId;
    if (signal?.aborted === true) return Promise.reject(signal.reason);
    if (this.#socket.destroyed) return Promise.reject(this.#ended());
    const answered = new Promise<Answer>((resolve, reject) => this.#open.set(id, { resolve, reject }));
    this.#send(`"id":${id},"method":${JSON.stringify(method)},"params":${params}`);
    const cancel = (): void => this.#cancel(id, signal?.reason);
    signal?.addEventListener('abort', cancel, { once: true });
    const late = (): void => this.#fail(id, new RpcFailure('timeout', 'Request timeout'));
    const timer = timeoutMs === undefined ? undefined : setTimeout(late, timeoutMs);
    return answered.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', cancel);
    });
  }

  notify(method: string, params?: object): void {
    this.#send(
      `"method":${JSON.stringify(method)}${params === undefined ? '' : `,"params":${JSON.stringify(params)}`}`,
    );
  }

  /** Hands on the frames behind the answer, those here and those to come. `closed` is called once, last. */
  passTo(frame: (frame: Frame) => void, closed: () => void): void {
    this.#splitter.handTo(this.#sink(frame));
    if (this.#socket.closed) return void setImmediate(closed);
    this.#socket.once('close', closed);
    for (const one of this.#unread.splice(0)) frame(one);
  }

  #sink(frame: (frame: Frame) => void): FrameSink {
    const end = (): void => void this.#socket.destroy();
    return { frame: (b, start, e) => frame({ b, start, end: e }), overflowed: end, badFrame: end };
  }

  #send(members: string): void {
    this.#socket.write(`{"jsonrpc":"2.0",${members}}\n`);
  }

  #received({ b, start, end }: Frame): void {
    const message = valueIn(b, start, end);
    if (!isRecord(message)) {
      this.#isForeign = true;
      this.#socket.destroy();
      return;
    }
    const { id, method, error, result } = message;
    if (typeof method === 'string') return this.#asked(method, message);
    // The bridge has no id for a message that it could not read, for instance one over its limit.
    if (id === null) return this.#failAll(refused(error));
    const request = this.#open.get(Number(id));
    if (request === undefined) return;
    if (this.#options.isPassedOn === true) this.#splitter.handTo(this.#sink((next) => this.#unread.push(next)));
    if (error !== undefined) return this.#fail(Number(id), refused(error));
    this.#open.delete(Number(id));
    const text = (): string => {
      const span = findMembers(b, start, ['result'])?.spans.get('result');
      return span === undefined ? JSON.stringify(result) : b.toString('utf8', span.from, span.to);
    };
    request.resolve({ result, text });
  }

  #asked(method: string, { id, params }: Readonly<Record<string, unknown>>): void {
    if (id === undefined) return this.#options.onNotification?.(method, membersOf(params));
    if (method === 'ping') return this.#answer(id, { result: {} });
    const answer = this.#options.onRequest?.(method, params);
    if (answer !== undefined) return void this.#answerLater(id, answer);
    const message = 'This side of mcp-bridge answers no such requests';
    this.#answer(id, { error: { code: METHOD_NOT_FOUND, message } });
  }

  async #answerLater(id: unknown, answer: Promise<object>): Promise<void> {
    try {
      this.#answer(id, { result: await answer });
    } catch (error) {
      this.#answer(id, { error: { code: INTERNAL_ERROR, message: messageOf(error) } });
    }
  }

  #answer(id: unknown, outcome: { readonly result: object } | { readonly error: object }): void {
    this.#send(`"id":${JSON.stringify(id)},${JSON.stringify(outcome).slice(1, -1)}`);
  }

  #cancel(id: number, reason: unknown): void {
    this.notify('notifications/cancelled', { requestId: id, reason: 'Nobody waits for it any more' });
    this.#fail(id, reason);
  }

  #fail(id: number, why: unknown): void {
    this.#open.get(id)?.reject(why);
    this.#open.delete(id);
  }

  #failAll(why: RpcFailure): void {
    for (const id of [...this.#open.keys()]) this.#fail(id, why);
  }

  #ended(): RpcFailure {
    return this.#isForeign
      ? new RpcFailure('foreign', 'the other side is no bridge')
      : new RpcFailure('closed', 'the daemon closed the connection');
  }
}

function refused(error: unknown): RpcFailure {
  const refusal = readRefusal(error);
  return new RpcFailure('refused', refusal.message, refusal);
}
