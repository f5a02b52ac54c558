// The board where hosts say that they are present and what they offer. Entries are read by all hosts and seldom
// written. Signs of life are small and expire soon; they are counted or listed, never sent to everybody. The bus
// provides one board.

export interface Board {
  /** Writes an entry; throws the reason if that fails. */
  put(key: string, value: Uint8Array): Promise<void>;
  get(key: string): Promise<Uint8Array | undefined>;
  remove(key: string): Promise<void>;
  /**
   * Calls the listener for each entry that exists, is written, or is removed. Resolves once all existing entries were
   * told; the result ends the watch.
   */
  watch(prefix: string, changed: EntryListener): Promise<() => void>;
  /** Gives a sign of life. It expires after `SIGN_AGE_MS`. */
  sign(key: string): Promise<void>;
  /** Returns the number of signs on the board, of all hosts. */
  countSigns(): Promise<number>;
  /** Returns the keys below a prefix that have a sign. */
  signs(prefix: string): Promise<ReadonlySet<string>>;
}

/** Called for each entry. `isNews` is false for an entry that was there before the watch began. */
export type EntryListener = (key: string, value: Uint8Array | undefined, isNews: boolean) => void;

/** A host that is gone is noticed within this time. */
export const LEASE_MS = 15_000;
/** The pause between signs of life, and between looks at those of others. */
export const SIGN_MS = 4000;
/** The time that a board takes to drop expired signs, plus the time that a daemon takes to tell its clients. */
const SLACK_MS = 1000;
/** The age at which a sign expires. The next look at the board notices it. */
export const SIGN_AGE_MS = LEASE_MS - SIGN_MS - SLACK_MS;
/** The age at which an entry expires if nobody writes it again. */
export const ENTRY_AGE_MS = 3_600_000;
