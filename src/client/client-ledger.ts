// The words of a client and its daemons that outlive a daemon: what is unanswered, what was set, who was introduced.
// Only the ledger changes its state, by methods that name what has happened.

import { idOf } from '../wire/frame-head.ts';
import type { Introduction, Welcome } from './introduction.ts';
import { OpenQuestions } from './open-questions.ts';
import { type OpenRequest, OpenRequests } from './open-requests.ts';
import { SessionStream } from './session-stream.ts';
import type { UnreadTraffic } from './unread-traffic.ts';

/** A frame that no daemon has looked at: b[start, end), with a newline or the CR before one behind it. */
export interface WaitingFrame {
  readonly b: Buffer;
  readonly start: number;
  readonly end: number;
  /** The request, if the frame is one. */
  readonly request: OpenRequest | undefined;
}

/** The one revision that has batches. */
const BATCHING_VERSION = '2025-03-26';

/** While there is no daemon. */
const MOST_WAITING = 256;
const MOST_WAITING_BYTES = 1024 * 1024;

export class ClientLedger {
  readonly requests = new OpenRequests();
  readonly questions = new OpenQuestions();
  readonly stream = new SessionStream();
  /** Requests and answers that passed unread; undefined for a client that has all read as it passes. */
  readonly traffic: UnreadTraffic | undefined;
  #hasEnded = false;
  #introduction: Introduction | undefined;
  #hello: OpenRequest | undefined;
  #welcome: Welcome | undefined;
  /** The daemon at hand knows what goes into `_meta`. It forgets what an `initialize` said that it has refused. */
  #told: 'nothing' | 'refused' | 'all' = 'nothing';
  #clientId = '';
  #maxMessageBytes = Number.POSITIVE_INFINITY;
  #waiting: WaitingFrame[] = [];
  #isInitialized = false;
  readonly #ownIds = new Set<unknown>();
  #ownCount = 0;

  /** `unread` makes what keeps frames that pass unread. */
  constructor(unread?: (stream: SessionStream, requests: OpenRequests) => UnreadTraffic) {
    this.traffic = unread?.(this.stream, this.requests);
  }

  // --- who the client is ---

  /** The client's `initialize`. */
  get introduction(): Introduction | undefined {
    return this.#introduction;
  }

  /** The request of the client's `initialize` while that is unanswered. */
  get hello(): OpenRequest | undefined {
    return this.#hello;
  }

  /** The first answer to it. */
  get welcome(): Welcome | undefined {
    return this.#welcome;
  }

  /** The client has said `initialize`, in these bytes if they can be said again. */
  introduced(request: OpenRequest | undefined, introduction: Introduction): void {
    this.#introduction = request === undefined ? undefined : introduction;
    this.#hello = request;
  }

  /** The client's own `initialize` was answered with a result. */
  welcomed(welcome: Welcome): void {
    this.#closeHello();
    this.#welcome = welcome;
    this.stream.agree(welcome.token);
  }

  /** The client's own `initialize` was refused: it may try again. */
  refused(): void {
    this.#closeHello();
    this.#introduction = undefined;
    this.#told = 'refused';
  }

  #closeHello(): void {
    if (this.#hello !== undefined) this.requests.close(this.#hello);
    this.#hello = undefined;
  }

  /** The answer of a daemon to `initialize` holds until the next one answers. */
  agree({ clientId, maxMessageBytes }: Welcome): void {
    this.#clientId = clientId;
    this.#maxMessageBytes = maxMessageBytes;
  }

  /** True once the daemon at hand was told what goes into `_meta`: by `initialize`, or for requests that need none. */
  get isKnown(): boolean {
    return this.#told === 'all';
  }

  /** True while the daemon at hand has heard nothing from the client. */
  get isSilent(): boolean {
    return this.#told === 'nothing';
  }

  becomeKnown(): void {
    this.#told = 'all';
  }

  /** The connection to the daemon has dropped. */
  lost(): void {
    this.#told = 'nothing';
    this.settle();
  }

  /** The client's id at the last daemon; '' before it has said so. */
  get clientId(): string {
    return this.#clientId;
  }

  /** The longest message that the last daemon takes. */
  get maxMessageBytes(): number {
    return this.#maxMessageBytes;
  }

  /** True when a daemon has heard from the client that it is initialized. */
  get isInitialized(): boolean {
    return this.#isInitialized;
  }

  becomeInitialized(): void {
    this.#isInitialized = true;
  }

  /** A daemon that knows a version answers in it, so what is sent before its answer has come is taken apart too. */
  get mayBatch(): boolean {
    const { protocolVersion } = this.#welcome ?? this.#introduction ?? {};
    return protocolVersion === BATCHING_VERSION;
  }

  // --- what passes ---

  /** The client has ended its side: all that passes is read, to see when everything is answered. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  end(): void {
    this.#hasEnded = true;
    this.settle();
  }

  /** Reads all that has passed unread, so that it is known what is unanswered. */
  settle(): void {
    this.traffic?.settle();
    this.requests.settle();
  }

  /**
   * True while neither side says anything that must be seen as it passes, except what shows in the bytes at once: the
   * handshake is over, no question is open, and the session keeps what is sent.
   */
  get mayPassUnread(): boolean {
    return (
      this.traffic !== undefined &&
      this.stream.token !== undefined &&
      this.#welcome !== undefined &&
      this.#hello === undefined &&
      this.#isInitialized &&
      !this.#hasEnded &&
      !this.mayBatch &&
      this.#ownIds.size === 0 &&
      this.questions.isIdle
    );
  }

  // --- what waits for a daemon ---

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** True if so much waits that the client should send no more. */
  get waitsEnough(): boolean {
    if (this.#waiting.length >= MOST_WAITING) return true;
    return this.#waiting.reduce((bytes, { start, end }) => bytes + end - start, 0) >= MOST_WAITING_BYTES;
  }

  wait(frame: WaitingFrame): void {
    this.#waiting.push(frame);
  }

  /** These wait before all others. */
  waitFirst(frames: readonly WaitingFrame[]): void {
    this.#waiting.unshift(...frames);
  }

  /** The messages that waited, in the order in which they came. */
  takeWaiting(): readonly WaitingFrame[] {
    return this.#waiting.splice(0);
  }

  /** Nothing reaches a daemon any more: returns the requests that are unanswered. */
  giveUp(): readonly OpenRequest[] {
    this.#waiting = [];
    this.#hello = undefined;
    return this.requests.takeAll();
  }

  // --- this side's own requests ---

  /** An id for a request of this side's own, whose answer the client does not see. */
  ownId(): string {
    let id: string;
    do id = `mcp-bridge/own-${++this.#ownCount}`;
    while (this.requests.has(id));
    this.#ownIds.add(id);
    return id;
  }

  /** True if this text is the id of such a request. */
  isOwn(idText: string): boolean {
    return this.#ownIds.size > 0 && this.#ownIds.has(idOf(idText));
  }

  /** True for the answer to such a request; the request is over with that. */
  takeOwn(id: unknown): boolean {
    return this.#ownIds.size > 0 && this.#ownIds.delete(id);
  }

  /** Forgets all such requests: nobody waits for their answers. */
  forgetOwn(): void {
    this.#ownIds.clear();
  }
}
