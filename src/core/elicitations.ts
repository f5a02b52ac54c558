// Pages that clients of one server were asked to visit outside the protocol: who was shown which, and is told of its end.

import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { isRequestId } from '../wire/request-id.ts';
import { URL_ELICITATION_REQUIRED } from './era/era-2025.ts';
import type { Session } from './session.ts';

/** Beyond it the oldest are forgotten. */
const MOST_ELICITATIONS = 1000;

export class Elicitations {
  readonly #shownTo = new Map<string, Session>();

  /** One whose name is longer than an id may be is not told of: so many of them would fill the memory. */
  note(elicitationId: string, session: Session): void {
    if (!isRequestId(elicitationId)) return;
    this.#shownTo.set(elicitationId, session);
    const [oldest] = this.#shownTo.keys();
    if (this.#shownTo.size > MOST_ELICITATIONS && oldest !== undefined) this.#shownTo.delete(oldest);
  }

  /** An error may ask for visits before the call can be made. */
  noteThoseIn(error: unknown, session: Session): void {
    if (!isRecord(error) || error.code !== URL_ELICITATION_REQUIRED) return;
    const { elicitations } = membersOf(error.data);
    if (!Array.isArray(elicitations)) return;
    for (const one of elicitations as unknown[]) {
      const id = textOf(membersOf(one).elicitationId);
      if (id !== '') this.note(id, session);
    }
  }

  shownTo(elicitationId: string): Session | undefined {
    const session = this.#shownTo.get(elicitationId);
    return session?.isOpen === true ? session : undefined;
  }

  /** The server has gone. */
  clear(): void {
    this.#shownTo.clear();
  }
}
