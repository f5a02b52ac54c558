// A link to a caller on another host, as the core sees it: one stream of calls of one caller. The core names the call
// before it writes each message. The link never looks at the messages, and a caller that takes nothing blocks no other
// call.

import { invariant } from '../util/invariant.ts';
import type { Carrier, LinkHandler, Streams } from '../wire/link.ts';
import type { FlushTurn } from '../wire/outbox.ts';
import { WaitingFrames } from '../wire/waiting-frames.ts';
import { idleSink, MessageOutbox } from './message-outbox.ts';

/** Nothing waits here, so nothing counts as unread. */
const NOWHERE = idleSink(() => 0);

/** The output of one request: takes what the core writes for it. */
export interface CallOutput {
  /** The asking client, as its host's daemon says. */
  readonly client?: string | undefined;
  notify(body: Buffer): void;
  answer(body: Buffer): void;
  /** Called when there will be no answer. */
  over(): void;
}

export interface OwnerLinkOptions {
  readonly turn: FlushTurn;
  /** Called when the core is about to take the request of this output. */
  readonly taking?: (output: CallOutput) => void;
  /** Called when the core has closed the link. */
  readonly closed: () => void;
}

export class OwnerLink implements Carrier, Streams {
  readonly outbox: MessageOutbox;
  readonly #closed: () => void;
  readonly #takes: ((output: CallOutput) => void) | undefined;
  /** The open requests' outputs, by their ids as spelled. */
  readonly #open = new Map<string, CallOutput>();
  #handler: LinkHandler | undefined;
  /** The id of the request that is being handed on. */
  #taking: string | undefined;
  #isClosed = false;
  /** Requests that came while the core does not read the link. */
  readonly #waiting = new WaitingFrames();

  constructor({ turn, taking, closed }: OwnerLinkOptions) {
    this.#takes = taking;
    this.outbox = new MessageOutbox(NOWHERE, turn);
    this.#closed = closed;
  }

  get streams(): Streams {
    return this;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True while new requests have to wait for the core. */
  get isWaiting(): boolean {
    return this.#waiting.isPaused;
  }

  /** The bytes of requests that wait for the core. */
  get waitingBytes(): number {
    return this.#waiting.bytes;
  }

  /** True if a request with this id is unanswered. */
  isOpen(idText: string): boolean {
    return this.#open.has(idText);
  }

  /** Takes the request in b[0, end), with a newline behind it. */
  take(b: Buffer, end: number, idText: string, output: CallOutput): void {
    this.#open.set(idText, output);
    this.#waiting.add(() => {
      if (this.#open.get(idText) !== output) return; // cancelled meanwhile
      this.#taking = idText;
      this.#takes?.(output);
      this.#handler?.frame(b, 0, end);
      this.#taking = undefined;
    }, end);
  }

  /** Called when the caller does not want the answer any more. */
  cancel(idText: string): void {
    if (!this.#open.has(idText)) return;
    const notice = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${idText}}}\n`;
    const b = Buffer.from(notice, 'latin1');
    this.#handler?.frame(b, 0, b.length - 1);
    this.over(idText);
  }

  // --- the streams ---

  /**
   * Called before an answer. An error to a message without a readable id belongs to the request that is being handed
   * on.
   */
  answering(idText: string): void {
    const id = idText === 'null' ? (this.#taking ?? idText) : idText;
    const output = this.#open.get(id);
    if (output === undefined) return this.outbox.aim(undefined);
    this.#aim((body) => {
      if (this.#open.get(id) === output) this.#open.delete(id);
      output.answer(body);
    });
  }

  /** Sends the next message to `take`, or nowhere. */
  #aim(take: ((body: Buffer) => void) | undefined): void {
    this.outbox.aim(
      take &&
        ((b, end) => {
          this.outbox.aim(undefined);
          take(b.subarray(0, end));
        }),
    );
  }

  refusing(idText: string): void {
    this.answering(idText);
  }

  /** Called before a message that does not name its request: it goes with any request of the caller. */
  during(idText: string): void {
    const [anyOutput] = idText === '' ? this.#open.values() : [];
    const output = anyOutput ?? this.#open.get(idText);
    this.#aim(output && ((body) => output.notify(body)));
  }

  /** Called before a message outside a request: a caller of this era gets none. */
  aside(): void {
    this.outbox.aim(undefined);
  }

  over(idText: string): void {
    const output = this.#open.get(idText);
    if (output === undefined) return;
    this.#open.delete(idText);
    output.over();
  }

  // --- the link ---

  start(handler: LinkHandler): void {
    this.#handler = handler;
  }

  pause(): void {
    this.#waiting.pause();
  }

  resume(): void {
    this.#waiting.resume();
  }

  end(): void {
    this.destroy();
  }

  destroy(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#waiting.drop();
    for (const idText of [...this.#open.keys()]) this.over(idText);
    queueMicrotask(() => {
      this.#handler?.closed();
      this.#closed();
    });
  }

  readonly heldBytes = 0;

  handTo(): number {
    invariant(false, 'a stream of calls over the bus has no connection that another may go on with');
  }
}
