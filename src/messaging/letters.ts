// Letters between language models, which read them at any time: drafts, mailboxes, and letters of clients that have
// gone. A full mailbox refuses new letters, and never drops an accepted one. Letters are in memory only; they are lost
// when the daemon ends.

import type { MessagingSettings } from '../model/messaging-settings.ts';
import { BridgeError } from '../util/bridge-error.ts';

/** A letter in a mailbox. */
export interface Letter {
  readonly id: string;
  readonly from: string;
  /** The host of its sender; undefined for an agent of this host. */
  readonly host?: string | undefined;
  /** The time of its arrival, in ISO format. */
  readonly time: string;
  readonly text: string;
  readonly inReplyTo: string | undefined;
  /** The number of letters before it that were answers to each other. */
  readonly hops: number;
}

/** A mailbox remembers this many read letters, so that answers to them are counted. */
const MOST_READ = 256;
/** The size of a letter without its text. */
const OVERHEAD_BYTES = 256;
/** Letters from other hosts may fill this part (1/2) of a mailbox, and letters from one host half of that. */
const PART_OF_OTHERS = 2;

export class Mailbox {
  readonly #limits: MessagingSettings['mailbox'];
  readonly #letters: Letter[] = [];
  #bytes = 0;
  /** Hops of read letters, by id. */
  readonly #read = new Map<string, number>();
  readonly #waiting = new Set<() => void>();

  constructor(limits: MessagingSettings['mailbox']) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#letters.length;
  }

  /** Adds a letter; false if there is no room. */
  put(letter: Letter): boolean {
    const bytes = weightOf(letter);
    const { maxMessages, maxBytes } = this.#limits;
    if (letter.host !== undefined && !this.#hasRoomForHost(letter.host, bytes)) return false;
    if (this.#letters.length >= maxMessages || this.#bytes + bytes > maxBytes) return false;
    this.#add(letter);
    this.#endFirstWait();
    return true;
  }

  /**
   * True if there is room: other hosts leave half of the mailbox to agents of this host, and each host leaves half of
   * that part to the others.
   */
  #hasRoomForHost(host: string, bytes: number): boolean {
    const { maxMessages, maxBytes } = this.#limits;
    const ofOthers = this.#letters.filter((letter) => letter.host !== undefined);
    return [ofOthers, ofOthers.filter((letter) => letter.host === host)].every((letters, i) => {
      const part = PART_OF_OTHERS * (i + 1);
      const taken = letters.reduce((sum, letter) => sum + weightOf(letter), 0);
      return letters.length < Math.ceil(maxMessages / part) && taken + bytes <= maxBytes / part;
    });
  }

  /**
   * Takes over letters that were accepted for this client before. They may exceed the limits, because they were
   * promised.
   */
  restore(letters: readonly Letter[]): void {
    for (const letter of letters) this.#add(letter);
    if (letters.length > 0) this.#endFirstWait();
  }

  #endFirstWait(): void {
    const [first] = this.#waiting;
    first?.();
  }

  /** Unread letters. They stay in the mailbox. */
  letters(): readonly Letter[] {
    return this.#letters;
  }

  #add(letter: Letter): void {
    this.#letters.push(letter);
    this.#bytes += weightOf(letter);
  }

  /** Takes the oldest letters out. */
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

  /** The hops of an answer to this letter. */
  hopsAfter(id: string | undefined): number {
    const hops = id === undefined ? undefined : this.#read.get(id);
    return hops === undefined ? 0 : hops + 1;
  }

  /** Ends all waits, with or without a letter. */
  endWaits(): void {
    for (const end of [...this.#waiting]) end();
  }

  /** Calls back once a letter has come. The returned function ends the wait. */
  whenFilled(then: () => void): () => void {
    const once = (): void => {
      this.#waiting.delete(once);
      then();
    };
    this.#waiting.add(once);
    return () => void this.#waiting.delete(once);
  }
}

/** The bytes that a letter counts. */
function weightOf({ text }: Letter): number {
  return Buffer.byteLength(text) + OVERHEAD_BYTES;
}

export function invalidParams(problem: string): BridgeError {
  return new BridgeError('MESSAGE_INVALID', problem, { hint: 'See docs/agents.md.' });
}

// --- drafts ---

/** A letter as its sender writes it: the params of `bridge/post`, or the arguments of `send_message`. */
export interface LetterDraft {
  readonly to: string;
  readonly text: string;
  readonly inReplyTo: string | undefined;
}

/** Reads a draft. Throws if it is wrong. */
export function letterIn({ to, text, inReplyTo }: Readonly<Record<string, unknown>>): LetterDraft {
  if (typeof to !== 'string' || to === '') throw invalidParams('params.to must be the id of a client');
  if (typeof text !== 'string' || text === '') throw invalidParams('params.text must be a text');
  if (inReplyTo !== undefined && (typeof inReplyTo !== 'string' || inReplyTo.length > 64))
    throw invalidParams('params.inReplyTo must be the id of a message');
  return { to, text, inReplyTo };
}

// --- letters of clients that have gone ---

/** The letters of one client, oldest first. */
export interface KeptMailbox {
  readonly clientId: string;
  /** The time when the last session of the client ended. */
  readonly sinceMs: number;
  readonly letters: readonly Letter[];
}

/** A client that stays away longer is not expected back. */
export const UNCLAIMED_MS = 24 * 3_600_000;
/** The limit for all clients together. */
const MOST_UNCLAIMED_BYTES = 16 * 1024 * 1024;

/** Letters of sessions that have ended. The next client with the same id gets them, once. */
export class UnclaimedLetters {
  readonly #mostBytes: number;
  /** Mailboxes in the order in which their sessions ended. */
  readonly #mailboxes = new Map<string, KeptMailbox & { readonly bytes: number }>();
  #bytes = 0;

  constructor(mostBytes: number = MOST_UNCLAIMED_BYTES) {
    this.#mostBytes = mostBytes;
  }

  /** Adds letters behind those that wait for the same client already. */
  add({ clientId, sinceMs, letters }: KeptMailbox): void {
    const earlier = this.#remove(clientId);
    const all = earlier === undefined || isLate(earlier, sinceMs) ? letters : inTheirOrder(earlier.letters, letters);
    const bytes = all.reduce((sum, letter) => sum + weightOf(letter), 0);
    this.#mailboxes.set(clientId, { clientId, sinceMs, letters: all, bytes });
    this.#bytes += bytes;
  }

  /**
   * Drops mailboxes that are too old, then the largest ones until all fit: a flood for one client does not cost others their
   * letters. Returns the dropped ones that were not too old.
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

  /** Hands the letters to their client, once. */
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

  /** Mailboxes that are not too old. */
  all(nowMs: number): KeptMailbox[] {
    return [...this.#mailboxes.values()]
      .filter((mailbox) => !isLate(mailbox, nowMs))
      .map(({ clientId, sinceMs, letters }) => ({ clientId, sinceMs, letters }));
  }
}

function isLate({ sinceMs }: KeptMailbox, nowMs: number): boolean {
  return nowMs - sinceMs >= UNCLAIMED_MS;
}

/** Merges letters of two sessions of one client by the time of their arrival. */
export function inTheirOrder(some: readonly Letter[], others: readonly Letter[]): Letter[] {
  return [...some, ...others].sort((a, b) => (a.time < b.time ? -1 : Number(a.time > b.time)));
}

/** Numbers for the log. */
export function countsOf(mailboxes: readonly KeptMailbox[]): { readonly letters: number; readonly clients: number } {
  return { letters: mailboxes.reduce((sum, { letters }) => sum + letters.length, 0), clients: mailboxes.length };
}
