// The requests between a registered server and the bridge, over one connection after the other. The ids and progress
// tokens that the server sees name their connection, so that a late answer reaches nobody. The bridge's ids are numbers
// and stay numbers, because some servers take no others. Ids and tokens are JSON here.

import { INTERNAL_ERROR } from '../protocol/rpc-codes.ts';
import { expectSyntaxError } from '../util/expected-error.ts';

/** The answer to a server's request that the bridge can no longer answer. */
export const BRIDGE_GONE = { code: INTERNAL_ERROR, message: 'The bridge has gone before it answered' };

const NUMBER = /^\d{1,10}$/;
const SPAN = 2 ** 32;

export class TurnRequests {
  /** The number of connections so far. */
  #turn = 0;
  /** The open requests of the bridge and of the server, by the ids that the server sees. */
  readonly #asked = new Set<string>();
  readonly #questions = new Set<string>();

  /** Begins the turn of the next connection. */
  begin(): void {
    this.#turn++;
  }

  get isFirstTurn(): boolean {
    return this.#turn === 1;
  }

  /** Notes a request of the bridge; returns the id for the server. */
  asked(id: string): string {
    const towards = this.mark(id);
    this.#asked.add(towards);
    return towards;
  }

  /** Returns the bridge's id of a request that the server answers; undefined if nobody waits for the answer. */
  answered(towards: string): string | undefined {
    return this.#asked.delete(towards) ? this.unmark(towards) : undefined;
  }

  questionAsked(id: string): void {
    this.#questions.add(id);
  }

  questionAnswered(id: string): void {
    this.#questions.delete(id);
  }

  /**
   * Ends the turn. Returns ids as the server sees them: of the requests that nobody waits for, and of those that get
   * this error as their answer.
   */
  end(): { readonly abandoned: readonly string[]; readonly unanswered: readonly string[]; readonly error: object } {
    const ended = { abandoned: [...this.#asked], unanswered: [...this.#questions], error: BRIDGE_GONE };
    this.#asked.clear();
    this.#questions.clear();
    return ended;
  }

  /** Returns the bridge's id or token as the server sees it. */
  mark(text: string): string {
    return marked(this.#turn, text);
  }

  /** Returns the bridge's own id or token; undefined for one of another turn. */
  unmark(text: string): string | undefined {
    return unmarked(this.#turn, text);
  }
}

export function marked(turn: number, text: string): string {
  const number = NUMBER.test(text) ? Number(text) : SPAN;
  return number < SPAN ? String(turn * SPAN + number) : JSON.stringify(`${turn}|${text}`);
}

/** Returns the text that was marked; undefined if it was not marked in this turn. */
export function unmarked(turn: number, text: string): string | undefined {
  const value = parsedText(text);
  if (typeof value === 'number') {
    const number = value - turn * SPAN;
    return Number.isInteger(number) && number >= 0 && number < SPAN ? String(number) : undefined;
  }
  const prefix = `${turn}|`;
  return typeof value === 'string' && value.startsWith(prefix) ? value.slice(prefix.length) : undefined;
}

function parsedText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    expectSyntaxError(error);
    return undefined; // none of ours
  }
}
