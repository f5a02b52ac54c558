// A long answer that its owner has parked in the store of claims. It is fetched again and again until it is here or the
// store has forgotten it. It does not know the answer's content, and tells its call the outcome once.

import { messageOf } from '../util/bridge-error.ts';
import type { Clock, Timer } from '../util/clock.ts';
import { CLAIM_AGE_MS, ClaimFault, type Claims } from './claims.ts';

/** The pause before the next attempt: the first one, and the longest. */
const FETCH_MS = 500;
const LATEST_FETCH_MS = 30_000;

export interface ClaimedAnswerOptions {
  readonly claims: Claims;
  readonly clock: Clock;
  /** The maximum size of an answer that is taken. */
  readonly mostBytes: number;
  /** The host that has parked the answer. */
  readonly host: string;
  /** False once nobody waits for the answer; then it is not fetched again. */
  readonly isWanted: () => boolean;
  readonly fetched: (bytes: Uint8Array) => void;
  /** Called if the answer is there but is not acceptable. */
  readonly refused: (why: string) => void;
  /** Called if nobody will ever get the answer. */
  readonly lost: (why: string) => void;
  readonly unwanted: () => void;
  /** Called on a fault of the bridge while the outcome is handled. */
  readonly failed: (error: unknown) => void;
}

export class ClaimedAnswer {
  readonly #id: string;
  readonly #options: ClaimedAnswerOptions;
  readonly #sinceMs: number;
  #failures = 0;
  #again: Timer | undefined;
  #isOver = false;

  constructor(id: string, options: ClaimedAnswerOptions) {
    this.#id = id;
    this.#options = options;
    this.#sinceMs = options.clock.now();
    this.#fetch();
  }

  #fetch(): void {
    const { claims, mostBytes, host, fetched } = this.#options;
    claims.take(this.#id, mostBytes, host).then(
      (bytes) => this.#end(() => fetched(bytes)),
      (error: unknown) => this.#onFailure(error),
    );
  }

  /** Tries again later: an answer that cannot be fetched now may be there later, until the store forgets it. */
  #onFailure(error: unknown): void {
    if (this.#isOver) return;
    const { clock, refused, lost } = this.#options;
    const fault = error instanceof ClaimFault ? error : undefined;
    const why = messageOf(error);
    const leftMs = this.#sinceMs + CLAIM_AGE_MS - clock.now();
    if (fault?.isGone === false) return this.#end(() => refused(why));
    if (fault !== undefined || leftMs <= 0) return this.#end(() => lost(why));
    const patienceMs = Math.min(FETCH_MS * 2 ** this.#failures++, LATEST_FETCH_MS, leftMs);
    this.#again = clock.after(patienceMs, () => this.#tryAgain());
  }

  #tryAgain(): void {
    const { isWanted, unwanted } = this.#options;
    if (isWanted()) this.#fetch();
    else this.#end(unwanted);
  }

  #end(tell: () => void): void {
    if (this.#isOver) return;
    this.close();
    try {
      tell();
    } catch (error) {
      this.#options.failed(error);
    }
  }

  /** Stops; the call hears nothing more. */
  close(): void {
    this.#isOver = true;
    this.#again?.cancel();
  }
}
