// Letters that outlive a daemon: what it has taken in and nobody has read when it goes, and what the next one has of that
// while the clients that it is for have not come. They are given to whoever goes by the same id, once.

import type { Letter } from './mailbox.ts';

/** The letters of one client, oldest first. */
export interface KeptMailbox {
  readonly clientId: string;
  /** Since when nobody is there to read them. */
  readonly sinceMs: number;
  readonly letters: readonly Letter[];
}

export interface KeptLetters {
  /** How many letters have had a number. */
  readonly written: number;
  readonly mailboxes: readonly KeptMailbox[];
}

/** A client that has not come back by then does not come. */
export const UNCLAIMED_MS = 24 * 3_600_000;

export class UnclaimedLetters {
  readonly #mailboxes = new Map<string, KeptMailbox>();

  add(mailboxes: Iterable<KeptMailbox>): void {
    for (const mailbox of mailboxes) this.#mailboxes.set(mailbox.clientId, mailbox);
  }

  /** They are its own from here on. */
  claim(clientId: string, nowMs: number): readonly Letter[] {
    const mailbox = this.#mailboxes.get(clientId);
    this.#mailboxes.delete(clientId);
    return mailbox === undefined || isLate(mailbox, nowMs) ? [] : mailbox.letters;
  }

  /** Those that may still be wanted. */
  all(nowMs: number): KeptMailbox[] {
    return [...this.#mailboxes.values()].filter((mailbox) => !isLate(mailbox, nowMs));
  }
}

function isLate({ sinceMs }: KeptMailbox, nowMs: number): boolean {
  return nowMs - sinceMs >= UNCLAIMED_MS;
}
