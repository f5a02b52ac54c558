// What servers have asked the client. When the daemon that passed a question on is gone, its answer is nobody's any more;
// and the next daemon may count its own questions from one again, so what is asked twice under one id is respelled.

import type { RequestId } from '../wire/request-id.ts';

/** The most void questions without an answer that are kept; beyond it the oldest are forgotten. */
const MOST_VOID = 1024;

interface Question {
  /** Its id towards the client, and towards the daemon, as they are spelled. */
  readonly clientText: string;
  readonly daemonText: string;
  /** The id towards the daemon. */
  readonly daemonId: RequestId;
}

export class OpenQuestions {
  readonly #open = new Map<RequestId, Question>();
  readonly #void = new Set<RequestId>();
  #respelled = 0;

  /** True if no answer of the client's needs a look. */
  get isIdle(): boolean {
    return this.#open.size === 0 && this.#void.size === 0;
  }

  /** How the client is to see the id of a question that has come; undefined if as it is. */
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

  /** The fate of a client's answer: it is dropped, passes as it is, or passes under this id. */
  answered(id: RequestId): 'drop' | 'pass' | { readonly idText: string } {
    if (this.#void.delete(id)) return 'drop';
    const question = this.#open.get(id);
    this.#open.delete(id);
    if (question === undefined || question.clientText === question.daemonText) return 'pass';
    return { idText: question.daemonText };
  }

  /** The daemon takes a question back; how the client knows it, if under another id. */
  takenBack(id: RequestId): string | undefined {
    for (const [clientId, { daemonId, clientText, daemonText }] of this.#open) {
      if (daemonId !== id) continue;
      this.#open.delete(clientId);
      return clientText === daemonText ? undefined : clientText;
    }
    return undefined;
  }

  /** The ids, as the daemon spells them, of all that are open; they count as answered. */
  takeAll(): string[] {
    const all = [...this.#open.values()].map(({ daemonText }) => daemonText);
    this.#open.clear();
    return all;
  }

  /** Nobody waits for the answers to those that are open; the client's ids of them, as they are spelled. */
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
