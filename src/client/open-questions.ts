// The questions of servers to the client. When the daemon that passed a question on is gone, the client's answer
// belongs to nobody. The next daemon may count its own questions from one again, so the second question under one id
// gets another spelling.

import type { RequestId } from '../wire/request-id.ts';

/** The maximum number of void questions without an answer that are kept; the oldest are forgotten first. */
const MOST_VOID = 1024;

interface Question {
  /** Its id as the client sees it, and as the daemon spells it. */
  readonly clientText: string;
  readonly daemonText: string;
  /** The id as the daemon sees it. */
  readonly daemonId: RequestId;
}

export class OpenQuestions {
  readonly #open = new Map<RequestId, Question>();
  readonly #void = new Set<RequestId>();
  #respelled = 0;

  /** True if no answer of the client needs a look. */
  get isIdle(): boolean {
    return this.#open.size === 0 && this.#void.size === 0;
  }

  /** Notes a question. Returns the id for the client; undefined if it stays unchanged. */
  asked(id: RequestId, idText: string): string | undefined {
    if (!this.#void.has(id)) {
      this.#open.set(id, { clientText: idText, daemonText: idText, daemonId: id });
      return undefined;
    }
    let own: string;
    do own = `mcp-bridge/asked-${++this.#respelled}`;
    while (this.#void.has(own) || this.#open.has(own));
    const clientText = JSON.stringify(own);
    this.#open.set(own, { clientText, daemonText: idText, daemonId: id });
    return clientText;
  }

  /** Decides about a client's answer: it is dropped, passes unchanged, or passes under this id. */
  answered(id: RequestId): 'drop' | 'pass' | { readonly idText: string } {
    if (this.#void.delete(id)) return 'drop';
    const question = this.#open.get(id);
    this.#open.delete(id);
    if (question === undefined || question.clientText === question.daemonText) return 'pass';
    return { idText: question.daemonText };
  }

  /** Called when the daemon takes a question back. Returns the client's id for it, if that is another one. */
  takenBack(id: RequestId): string | undefined {
    for (const [clientId, { daemonId, clientText, daemonText }] of this.#open) {
      if (daemonId !== id) continue;
      this.#open.delete(clientId);
      return clientText === daemonText ? undefined : clientText;
    }
    return undefined;
  }

  /** Takes all open questions, which count as answered then. Returns their ids as the daemon spells them. */
  takeAll(): string[] {
    const all = [...this.#open.values()].map(({ daemonText }) => daemonText);
    this.#open.clear();
    return all;
  }

  /**
   * Called when nobody waits for the answers to open questions any more. Returns the client's ids of these questions,
   * as spelled.
   */
  abandon(): string[] {
    const ids = [...this.#open.values()].map(({ clientText }) => clientText);
    for (const id of this.#open.keys()) this.#void.add(id);
    this.#open.clear();
    for (const id of this.#void) {
      if (this.#void.size <= MOST_VOID) break;
      this.#void.delete(id);
    }
    return ids;
  }
}
