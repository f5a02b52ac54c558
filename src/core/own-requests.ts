// The bridge's own requests to one server, and their answers. Never sends anything while the server does not run.

import { ERA_2025 } from '../protocol/era-2025.ts';
import { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Outbox } from '../wire/outbox.ts';

export interface OwnRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
}

/** An answer to the bridge itself; undefined when none came that could be read. */
export type OwnAnswer = (answer: Frame | undefined, envelope: Envelope) => void;

interface OwnCall {
  readonly onAnswer: OwnAnswer | undefined;
  deadlineMs: number;
}

/** The envelope for an answer that never came. */
const nothing = new Envelope(ERA_2025.keys);

/**
 * The requests of the bridge itself: lists, shared settings, pings. Their ids come from the same row as those of calls, so
 * that no answer can be taken for another one's.
 */
export class OwnRequests {
  readonly #takeId: () => number;
  readonly #timeoutMs: number;
  readonly #open = new Map<number, OwnCall>();
  #outbox: Outbox | undefined;
  /** The members of `_meta` that each request has, as JSON; '' for none. */
  #meta = '';

  constructor(takeId: () => number, timeoutMs: number) {
    this.#takeId = takeId;
    this.#timeoutMs = timeoutMs;
  }

  /** The instance runs: sends the first requests. */
  opened(outbox: Outbox, first: readonly OwnRequest[], meta: string): void {
    this.#outbox = outbox;
    this.#meta = meta;
    for (const { method, params } of first) this.ask(method, params);
  }

  /**
   * Asks the server; returns the id of the request. Without `onAnswer` nobody waits for the answer. `meta` has the members of `_meta`
   * of this request where they differ from those of all others.
   */
  ask(method: string, params: object, onAnswer?: OwnAnswer, meta: string = this.#meta): number {
    if (this.#outbox === undefined) {
      onAnswer?.(undefined, nothing);
      return 0;
    }
    const id = this.#takeId();
    this.#open.set(id, { onAnswer, deadlineMs: 0 });
    this.#outbox.utf8(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":`);
    writeParams(this.#outbox, JSON.stringify(params), meta);
    this.#outbox.latin1('}');
    this.#outbox.endFrame();
    return id;
  }

  /** The answer to a request may come at any time. */
  keep(id: number): void {
    const own = this.#open.get(id);
    if (own !== undefined) own.deadlineMs = Number.POSITIVE_INFINITY;
  }

  /** Nobody waits for the answer to a request any more, which may still come. */
  forget(id: number): void {
    if (this.#open.has(id)) this.#open.set(id, { onAnswer: undefined, deadlineMs: 0 });
  }

  /** Takes an answer; returns true if it was for one of these requests. */
  take(id: number, answer: Frame | undefined, envelope: Envelope = nothing): boolean {
    const own = this.#open.get(id);
    this.#open.delete(id);
    own?.onAnswer?.(answer, envelope);
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

function writeParams(outbox: Outbox, params: string, meta: string): void {
  if (meta === '') return outbox.utf8(params);
  outbox.latin1(`{"_meta":{${meta}}${params === '{}' ? '' : ','}`);
  outbox.utf8(params.slice(1));
}
