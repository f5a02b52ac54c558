// Letters to a client that reads them when it likes: a language model, which nobody can interrupt. It holds so many and
// no more; who writes to a full one is told so, and nothing that was taken in is thrown away.

import type { MessagingSettings } from '../model/messaging-settings.ts';

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
export function weightOf({ text }: Letter): number {
  return Buffer.byteLength(text) + OVERHEAD_BYTES;
}
