// What the bridge asks a server for itself: its lists, the settings its clients share, whether it still works on something. Their
// ids come from the same row as those of clients' requests, so that no answer can be taken for another one's.

import { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Outbox } from '../wire/outbox.ts';

export interface OwnRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
}

/** An answer to the bridge itself; undefined when none came that could be read. */
export type OwnAnswer = (answer: Frame | undefined, read: Envelope) => void;

interface OwnCall {
  readonly onAnswer: OwnAnswer | undefined;
  deadlineMs: number;
}

/** What was read of an answer that has not come. */
const nothing = new Envelope();

export class OwnRequests {
  readonly #takeId: () => number;
  readonly #timeoutMs: number;
  readonly #open = new Map<number, OwnCall>();
  #outbox: Outbox | undefined;

  constructor(takeId: () => number, timeoutMs: number) {
    this.#takeId = takeId;
    this.#timeoutMs = timeoutMs;
  }

  /** From here on requests can be sent. */
  opened(outbox: Outbox, first: readonly OwnRequest[]): void {
    this.#outbox = outbox;
    for (const { method, params } of first) this.ask(method, params);
  }

  /** Without `onAnswer`, whatever the answer is, nobody waits for it. */
  ask(method: string, params: object, onAnswer?: OwnAnswer): void {
    if (this.#outbox === undefined) return onAnswer?.(undefined, nothing);
    const id = this.#takeId();
    this.#open.set(id, { onAnswer, deadlineMs: 0 });
    this.#outbox.utf8(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${JSON.stringify(params)}}`);
    this.#outbox.endFrame();
  }

  /** Takes the answer to one of them; whether it was one. */
  take(id: number, answer: Frame | undefined, read: Envelope = nothing): boolean {
    const own = this.#open.get(id);
    this.#open.delete(id);
    own?.onAnswer?.(answer, read);
    return own !== undefined;
  }

  /** Looked at once a second. */
  tick(nowMs: number): void {
    for (const [id, own] of [...this.#open]) {
      if (own.deadlineMs === 0) own.deadlineMs = nowMs + this.#timeoutMs;
      if (nowMs >= own.deadlineMs) this.take(id, undefined);
    }
  }

  /** The server has gone. */
  closed(): void {
    this.#outbox = undefined;
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const { onAnswer } of open) onAnswer?.(undefined, nothing);
  }
}
