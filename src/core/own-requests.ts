// The bridge's own requests to one server, and their answers. Never sends anything while the server does not run.

import { ERA_2025 } from '../protocol/era-2025.ts';
import { Envelope } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Outbox } from '../wire/outbox.ts';

export interface OwnRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, string>>;
}

/** Takes an answer to the bridge itself; undefined if no readable answer came. */
export type OwnAnswer = (answer: Frame | undefined, envelope: Envelope) => void;

interface OwnCall {
  readonly onAnswer: OwnAnswer | undefined;
  deadlineMs: number;
}

/** The envelope for a missing answer. */
const nothing = new Envelope(ERA_2025.keys);

/**
 * The bridge's own requests: lists, shared settings, pings. Their ids come from the same sequence as those of calls, so
 * that no answer can be taken for another.
 */
export class OwnRequests {
  readonly #takeId: () => number;
  readonly #timeoutMs: number;
  readonly #open = new Map<number, OwnCall>();
  #outbox: Outbox | undefined;
  /** The `_meta` members that each request has, as JSON; '' for none. */
  #meta = '';

  constructor(takeId: () => number, timeoutMs: number) {
    this.#takeId = takeId;
    this.#timeoutMs = timeoutMs;
  }

  /** Called when the instance runs. Sends the first requests. */
  opened(outbox: Outbox, first: readonly OwnRequest[], meta: string): void {
    this.#outbox = outbox;
    this.#meta = meta;
    for (const { method, params } of first) this.ask(method, params);
  }

  /**
   * Sends a request; returns its id. Without `onAnswer` the answer is dropped. `meta` holds the request's `_meta`
   * members if they differ from the usual ones.
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

  /** Removes the time limit of a request: its answer may come at any time. */
  keep(id: number): void {
    const own = this.#open.get(id);
    if (own !== undefined) own.deadlineMs = Number.POSITIVE_INFINITY;
  }

  /** Stops waiting for the answer to a request; it may still come. */
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

  /** Called once a second. */
  tick(nowMs: number): void {
    for (const [id, own] of [...this.#open]) {
      if (own.deadlineMs === 0) own.deadlineMs = nowMs + this.#timeoutMs;
      if (nowMs >= own.deadlineMs) this.take(id, undefined);
    }
  }

  /** Called when the server has gone. */
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
