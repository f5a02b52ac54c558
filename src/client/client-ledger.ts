// Keeps everything between a client and its daemons that outlives a daemon: open requests, settings, and the
// introduction. Only the ledger changes its state, by methods that name what has happened.

import { idOf } from '../wire/frame-head.ts';
import type { Introduction, Welcome } from './introduction.ts';
import { OpenQuestions } from './open-questions.ts';
import { type OpenRequest, OpenRequests } from './open-requests.ts';
import { SessionStream } from './session-stream.ts';
import type { UnreadTraffic } from './unread-traffic.ts';

/** A frame that no daemon has looked at: b[start, end), followed by a newline, or by the CR before one. */
export interface WaitingFrame {
  readonly b: Buffer;
  readonly start: number;
  readonly end: number;
  /** The request, if the frame is one. */
  readonly request: OpenRequest | undefined;
}

/** The one revision that has batches. */
const BATCHING_VERSION = '2025-03-26';

/** The maximum that waits while there is no daemon. */
const MOST_WAITING = 256;
const MOST_WAITING_BYTES = 1024 * 1024;

export class ClientLedger {
  readonly requests = new OpenRequests();
  readonly questions = new OpenQuestions();
  readonly stream = new SessionStream();
  /** The requests and answers that passed unread; undefined for a client that reads everything as it passes. */
  readonly traffic: UnreadTraffic | undefined;
  #hasEnded = false;
  #introduction: Introduction | undefined;
  #hello: OpenRequest | undefined;
  #welcome: Welcome | undefined;
  /**
   * How much of the additions to `_meta` the current daemon knows. A daemon forgets what an `initialize` said if it
   * refuses that.
   */
  #told: 'nothing' | 'refused' | 'all' = 'nothing';
  #clientId = '';
  #maxMessageBytes = Number.POSITIVE_INFINITY;
  #waiting: WaitingFrame[] = [];
  #isInitialized = false;
  readonly #ownIds = new Set<unknown>();
  #ownCount = 0;

  /** Makes the ledger. `unread` makes the store for frames that pass unread. */
  constructor(unread?: (stream: SessionStream, requests: OpenRequests) => UnreadTraffic) {
    this.traffic = unread?.(this.stream, this.requests);
  }

  // --- who the client is ---

  /** The client's `initialize`. */
  get introduction(): Introduction | undefined {
    return this.#introduction;
  }

  /** The client's `initialize` request while it is unanswered. */
  get hello(): OpenRequest | undefined {
    return this.#hello;
  }

  /** The first answer to the client's `initialize`. */
  get welcome(): Welcome | undefined {
    return this.#welcome;
  }

  /** Called when the client has said `initialize`. `request` has its bytes if they can be said again. */
  introduced(request: OpenRequest | undefined, introduction: Introduction): void {
    this.#introduction = request === undefined ? undefined : introduction;
    this.#hello = request;
  }

  /** Called when the client's own `initialize` was answered with a result. */
  welcomed(welcome: Welcome): void {
    this.#closeHello();
    this.#welcome = welcome;
    this.stream.agree(welcome.token);
  }

  /** Called when the client's own `initialize` was refused: the client may try again. */
  refused(): void {
    this.#closeHello();
    this.#introduction = undefined;
    this.#told = 'refused';
  }

  #closeHello(): void {
    if (this.#hello !== undefined) this.requests.close(this.#hello);
    this.#hello = undefined;
  }

  /** Takes a daemon's answer to `initialize`; it holds until the next daemon answers. */
  agree({ clientId, maxMessageBytes }: Welcome): void {
    this.#clientId = clientId;
    this.#maxMessageBytes = maxMessageBytes;
  }

  /**
   * True once the current daemon knows the additions to `_meta`: from `initialize`, or from a notice for requests
   * without one.
   */
  get isKnown(): boolean {
    return this.#told === 'all';
  }

  /** True while the current daemon has heard nothing from the client. */
  get isSilent(): boolean {
    return this.#told === 'nothing';
  }

  becomeKnown(): void {
    this.#told = 'all';
  }

  /** Called when the connection to the daemon has dropped. */
  lost(): void {
    this.#told = 'nothing';
    this.settle();
  }

  /** The client's id at the last daemon; '' before a daemon has said it. */
  get clientId(): string {
    return this.#clientId;
  }

  /** The maximum message size of the last daemon. */
  get maxMessageBytes(): number {
    return this.#maxMessageBytes;
  }

  /** True once a daemon has heard from the client that it is initialized. */
  get isInitialized(): boolean {
    return this.#isInitialized;
  }

  becomeInitialized(): void {
    this.#isInitialized = true;
  }

  /**
   * True if batches are taken apart. A daemon that knows a version answers in it, so this also holds for what is sent
   * before its answer.
   */
  get mayBatch(): boolean {
    const { protocolVersion } = this.#welcome ?? this.#introduction ?? {};
    return protocolVersion === BATCHING_VERSION;
  }

  // --- what passes ---

  /**
   * True once the client has ended its side. Everything that passes is read then, to see when all requests are
   * answered.
   */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  end(): void {
    this.#hasEnded = true;
    this.settle();
  }

  /** Reads everything that has passed unread, so that unanswered requests are known. */
  settle(): void {
    this.traffic?.settle();
    this.requests.settle();
  }

  /**
   * True while frames may pass unread, except those that show in their bytes that they must be seen: the handshake is
   * over, no question is open, and the session keeps what is sent.
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

  /** Queues these frames before all others. */
  waitFirst(frames: readonly WaitingFrame[]): void {
    this.#waiting.unshift(...frames);
  }

  /** Takes the waiting messages, in the order in which they came. */
  takeWaiting(): readonly WaitingFrame[] {
    return this.#waiting.splice(0);
  }

  /** Called when no daemon can be reached any more; returns the unanswered requests. */
  giveUp(): readonly OpenRequest[] {
    this.#waiting = [];
    this.#hello = undefined;
    return this.requests.takeAll();
  }

  // --- this side's own requests ---

  /** Makes an id for a request of this side's own. The client does not see the answer. */
  ownId(): string {
    let id: string;
    do id = `mcp-bridge/own-${++this.#ownCount}`;
    while (this.requests.has(id));
    this.#ownIds.add(id);
    return id;
  }

  /** True if this text is the id of a request of this side's own. */
  isOwn(idText: string): boolean {
    return this.#ownIds.size > 0 && this.#ownIds.has(idOf(idText));
  }

  /** True for the answer to a request of this side's own; the request is over then. */
  takeOwn(id: unknown): boolean {
    return this.#ownIds.size > 0 && this.#ownIds.delete(id);
  }

  /** Forgets all requests of this side's own: nobody waits for their answers. */
  forgetOwn(): void {
    this.#ownIds.clear();
  }
}
