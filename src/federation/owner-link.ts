// A link to a caller on another host, as the core sees it: one stream of calls of one caller. Each message that the core writes belongs to a call, which
// the core names first. It never looks at what is written, and a caller that takes nothing holds up no other call.

import { invariant } from '../util/invariant.ts';
import type { Carrier, LinkHandler, Streams } from '../wire/link.ts';
import type { FlushTurn } from '../wire/outbox.ts';
import { WaitingFrames } from '../wire/waiting-frames.ts';
import { idleSink, MessageOutbox } from './message-outbox.ts';

/** Nothing waits here, so nothing counts as not taken. */
const NOWHERE = idleSink(() => 0);

/** The output of one request: takes what the core writes for it. */
export interface CallOutput {
  /** The client that asks, by the word of its host's daemon. */
  readonly client?: string | undefined;
  notify(body: Buffer): void;
  answer(body: Buffer): void;
  /** There will be no answer. */
  over(): void;
}

export interface OwnerLinkOptions {
  readonly turn: FlushTurn;
  /** The core is about to take the request of this output. */
  readonly taking?: (output: CallOutput) => void;
  /** The core has closed it. */
  readonly closed: () => void;
}

export class OwnerLink implements Carrier, Streams {
  readonly outbox: MessageOutbox;
  readonly #closed: () => void;
  readonly #takes: ((output: CallOutput) => void) | undefined;
  /** By the ids of their requests, as they were spelled. */
  readonly #open = new Map<string, CallOutput>();
  #handler: LinkHandler | undefined;
  /** The id of the request that is being handed on. */
  #taking: string | undefined;
  #isClosed = false;
  /** Requests, while the core does not read the link. */
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

  /** True if nothing more can be taken in at present. */
  get isFull(): boolean {
    return this.#waiting.isFull;
  }

  /** True while what is taken in has to wait for the core. */
  get isWaiting(): boolean {
    return this.#waiting.isPaused;
  }

  /** The bytes of requests that wait for the core. */
  get waitingBytes(): number {
    return this.#waiting.bytes;
  }

  /** True if a request with this id is not answered. */
  isOpen(idText: string): boolean {
    return this.#open.has(idText);
  }

  /** Takes the request in b[0, end) in; a newline stands behind it. */
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

  /** The caller does not want the answer any more. */
  cancel(idText: string): void {
    if (!this.#open.has(idText)) return;
    const notice = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${idText}}}\n`;
    const b = Buffer.from(notice, 'latin1');
    this.#handler?.frame(b, 0, b.length - 1);
    this.over(idText);
  }

  // --- the streams ---

  /** An error whose message has no id that can be read belongs to what is being taken in. */
  answering(idText: string): void {
    const id = idText === 'null' ? (this.#taking ?? idText) : idText;
    const output = this.#open.get(id);
    if (output === undefined) return this.outbox.aim(undefined);
    this.#aim((body) => {
      if (this.#open.get(id) === output) this.#open.delete(id);
      output.answer(body);
    });
  }

  /** The next message goes there, or nowhere. */
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

  /** A message that does not say which request of the caller it is about goes with any of them. */
  during(idText: string): void {
    const [anyOutput] = idText === '' ? this.#open.values() : [];
    const output = anyOutput ?? this.#open.get(idText);
    this.#aim(output && ((body) => output.notify(body)));
  }

  /** A caller of this era is told nothing outside a request. */
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
