// The words of a client and its daemons that outlive a daemon: what is unanswered, what was set, who was introduced.

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

export class ClientLedger {
  readonly requests = new OpenRequests();
  readonly questions = new OpenQuestions();
  readonly stream = new SessionStream();
  /** Requests and answers that passed unread; undefined for a client that has all read as it passes. */
  traffic: UnreadTraffic | undefined;
  /** The client has ended its side: all that passes is read, to see when everything is answered. */
  hasEnded = false;
  /** The client's `initialize`; and its request while that is unanswered. */
  introduction: Introduction | undefined;
  hello: OpenRequest | undefined;
  /** The first answer to it. */
  welcome: Welcome | undefined;
  /** The client's id at the last daemon; '' before it has said so. */
  clientId = '';
  /** The longest message that the last daemon takes. */
  maxMessageBytes = Number.POSITIVE_INFINITY;
  /** The messages that wait for a daemon, in the order in which they came. */
  waiting: WaitingFrame[] = [];
  /** True when a daemon has heard from the client that it is initialized. */
  isInitialized = false;
  readonly #ownIds = new Set<unknown>();
  #ownCount = 0;

  /** A daemon that knows a version answers in it, so what is sent before its answer has come is taken apart too. */
  get mayBatch(): boolean {
    const { protocolVersion } = this.welcome ?? this.introduction ?? {};
    return protocolVersion === BATCHING_VERSION;
  }

  /**
   * True while neither side says anything that must be seen as it passes, except what shows in the bytes at once: the
   * handshake is over, no question is open, and the session keeps what is sent.
   */
  get mayPassUnread(): boolean {
    return (
      this.traffic !== undefined &&
      this.stream.token !== undefined &&
      this.welcome !== undefined &&
      this.hello === undefined &&
      this.isInitialized &&
      !this.hasEnded &&
      !this.mayBatch &&
      this.#ownIds.size === 0 &&
      this.questions.isIdle
    );
  }

  /** The answer of a daemon to `initialize` holds until the next one answers. */
  agree({ clientId, maxMessageBytes }: Welcome): void {
    this.clientId = clientId;
    this.maxMessageBytes = maxMessageBytes;
  }

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
