// Letters to a client that reads them when it likes: a language model, which nobody can interrupt. It holds so many and
// no more; who writes to a full one is told so, and nothing that was taken in is thrown away.

import type { MessagingSettings } from '../model/messaging-settings.ts';
import { BridgeError } from '../util/bridge-error.ts';

export interface Letter {
  readonly id: string;
  readonly from: string;
  /** When it came. */
  readonly time: string;
  readonly text: string;
  readonly inReplyTo: string | undefined;
  /** How many letters before it were answers to each other. */
  readonly hops: number;
}

/** Letters that were read and may be answered. */
const MOST_READ = 256;
/** What a letter takes besides its text. */
const OVERHEAD_BYTES = 256;

export class Mailbox {
  readonly #limits: MessagingSettings['mailbox'];
  readonly #letters: Letter[] = [];
  #bytes = 0;
  /** By their ids, how many were before them. */
  readonly #read = new Map<string, number>();
  readonly #waiting = new Set<() => void>();

  constructor(limits: MessagingSettings['mailbox']) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#letters.length;
  }

  /** False if there is no room for it. */
  put(letter: Letter): boolean {
    const bytes = weightOf(letter);
    const { maxMessages, maxBytes } = this.#limits;
    if (this.#letters.length >= maxMessages || this.#bytes + bytes > maxBytes) return false;
    this.#add(letter);
    this.#endFirstWait();
    return true;
  }

  /** Takes over what was taken in for its client before, also beyond what it holds: that was promised already. */
  restore(letters: readonly Letter[]): void {
    for (const letter of letters) this.#add(letter);
    if (letters.length > 0) this.#endFirstWait();
  }

  #endFirstWait(): void {
    const [first] = this.#waiting;
    first?.();
  }

  /** Everything that was not read; it stays. */
  letters(): readonly Letter[] {
    return this.#letters;
  }

  #add(letter: Letter): void {
    this.#letters.push(letter);
    this.#bytes += weightOf(letter);
  }

  /** The oldest first; they are gone from it. */
  take(most: number): Letter[] {
    const taken = this.#letters.splice(0, most);
    for (const letter of taken) {
      this.#bytes -= weightOf(letter);
      this.#read.set(letter.id, letter.hops);
    }
    for (const id of this.#read.keys()) {
      if (this.#read.size <= MOST_READ) break;
      this.#read.delete(id);
    }
    return taken;
  }

  /** How many letters there were before an answer to this one. */
  hopsAfter(id: string | undefined): number {
    const hops = id === undefined ? undefined : this.#read.get(id);
    return hops === undefined ? 0 : hops + 1;
  }

  /** Nobody shall wait any longer, with or without a letter. */
  endWaits(): void {
    for (const end of [...this.#waiting]) end();
  }

  /** Calls back once there is something; until the returned function is called. */
  whenFilled(then: () => void): () => void {
    const once = (): void => {
      this.#waiting.delete(once);
      then();
    };
    this.#waiting.add(once);
    return () => void this.#waiting.delete(once);
  }
}

/** How many bytes it counts for. */
function weightOf({ text }: Letter): number {
  return Buffer.byteLength(text) + OVERHEAD_BYTES;
}

// What a client has asked with cannot be understood.

export function invalidParams(problem: string): BridgeError {
  return new BridgeError('MESSAGE_INVALID', problem, { hint: 'See docs/agents.md.' });
}

// A letter as its sender writes it, in the params of `bridge/post` or the arguments of a tool.

export interface LetterDraft {
  readonly to: string;
  readonly text: string;
  readonly inReplyTo: string | undefined;
}

/** Throws what is wrong with it. */
export function letterIn({ to, text, inReplyTo }: Readonly<Record<string, unknown>>): LetterDraft {
  if (typeof to !== 'string' || to === '') throw invalidParams('params.to must be the id of a client');
  if (typeof text !== 'string' || text === '') throw invalidParams('params.text must be a text');
  if (inReplyTo !== undefined && (typeof inReplyTo !== 'string' || inReplyTo.length > 64))
    throw invalidParams('params.inReplyTo must be the id of a message');
  return { to, text, inReplyTo };
}

// Letters of sessions that have ended. They wait for the next client with the same id, which gets them once. They are in
// memory only and end with the daemon.

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
