// Letters of sessions that have ended. They wait for the next client with the same id, which gets them once. They are in
// memory only and end with the daemon.

import { type Letter, weightOf } from './mailbox.ts';

/** The letters of one client, oldest first. */
export interface KeptMailbox {
  readonly clientId: string;
  /** Since when nobody is there to read them. */
  readonly sinceMs: number;
  readonly letters: readonly Letter[];
}

/** A client that has not come back by then does not come. */
export const UNCLAIMED_MS = 24 * 3_600_000;
/** What waits for all clients together. */
const MOST_UNCLAIMED_BYTES = 16 * 1024 * 1024;

export class UnclaimedLetters {
  readonly #mostBytes: number;
  /** Those whose sessions have ended are in the order in which they did. */
  readonly #mailboxes = new Map<string, KeptMailbox & { readonly bytes: number }>();
  #bytes = 0;

  constructor(mostBytes: number = MOST_UNCLAIMED_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** Behind those that wait for the same client already. */
  add({ clientId, sinceMs, letters }: KeptMailbox): void {
    const earlier = this.#remove(clientId);
    const all = earlier === undefined || isLate(earlier, sinceMs) ? letters : inTheirOrder(earlier.letters, letters);
    const bytes = all.reduce((sum, letter) => sum + weightOf(letter), 0);
    this.#mailboxes.set(clientId, { clientId, sinceMs, letters: all, bytes });
    this.#bytes += bytes;
  }

  /**
   * Forgets what came too long ago, and the largest mailboxes if there is too much: a flood for one client does not cost
   * others what is for them. Returns those that somebody may have wanted still.
   */
  makeRoom(nowMs: number): KeptMailbox[] {
    for (const mailbox of this.#mailboxes.values()) {
      if (!isLate(mailbox, nowMs)) break;
      this.#remove(mailbox.clientId);
    }
    const lost: KeptMailbox[] = [];
    while (this.#bytes > this.#mostBytes) {
      const largest = [...this.#mailboxes.values()].reduce((a, b) => (b.bytes > a.bytes ? b : a));
      this.#remove(largest.clientId);
      if (!isLate(largest, nowMs)) lost.push(largest);
    }
    return lost;
  }

  /** They are its own from here on. */
  claim(clientId: string, nowMs: number): readonly Letter[] {
    const mailbox = this.#remove(clientId);
    return mailbox === undefined || isLate(mailbox, nowMs) ? [] : mailbox.letters;
  }

  #remove(clientId: string): KeptMailbox | undefined {
    const mailbox = this.#mailboxes.get(clientId);
    if (mailbox === undefined) return undefined;
    this.#mailboxes.delete(clientId);
    this.#bytes -= mailbox.bytes;
    return mailbox;
  }

  /** Those that may still be wanted. */
  all(nowMs: number): KeptMailbox[] {
    return [...this.#mailboxes.values()]
      .filter((mailbox) => !isLate(mailbox, nowMs))
      .map(({ clientId, sinceMs, letters }) => ({ clientId, sinceMs, letters }));
  }
}

function isLate({ sinceMs }: KeptMailbox, nowMs: number): boolean {
  return nowMs - sinceMs >= UNCLAIMED_MS;
}

/** As they came, whichever session of the client they came to. */
export function inTheirOrder(some: readonly Letter[], others: readonly Letter[]): Letter[] {
  return [...some, ...others].sort((a, b) => (a.time < b.time ? -1 : Number(a.time > b.time)));
}

/** For the log. */
export function countsOf(mailboxes: readonly KeptMailbox[]): { readonly letters: number; readonly clients: number } {
  return { letters: mailboxes.reduce((sum, { letters }) => sum + letters.length, 0), clients: mailboxes.length };
}
