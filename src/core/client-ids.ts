// Which client has which id. Each has one that nobody else has, as far as it can be the one that it has asked for.

import { randomBytes } from 'node:crypto';
import type { Session } from './session.ts';

/** So many clients may want one id before they are told apart by chance instead of by counting. */
const MOST_NAMESAKES = 20;

export class ClientIds {
  readonly #owners = new Map<string, Session>();

  /** Gives a client its id: the one it asked for, if nobody has it. */
  give(session: Session, wanted: string | undefined): string {
    const base = wanted ?? `client-${randomBytes(4).toString('hex')}`;
    let id = base;
    for (let n = 2; this.#owners.has(id); n++)
      id = `${base}-${n < MOST_NAMESAKES ? n : randomBytes(4).toString('hex')}`;
    this.#owners.set(id, session);
    return id;
  }

  /** The client has gone. */
  takeBack(session: Session): void {
    if (this.#owners.get(session.clientId) === session) this.#owners.delete(session.clientId);
  }
}
