// The place where hosts say that they are there and what they offer: entries, which are read by all and seldom written, and signs of life, which
// are small, are over soon, and are counted or listed instead of being sent to everybody. The bus has one.

export interface Board {
  /** Writes an entry; throws why that is not possible. */
  put(key: string, value: Uint8Array): Promise<void>;
  get(key: string): Promise<Uint8Array | undefined>;
  remove(key: string): Promise<void>;
  /** Tells of each entry that is there, was written, or was removed. Resolves with what ends it, once all that were there were told of. */
  watch(prefix: string, changed: EntryListener): Promise<() => void>;
  /** Gives a sign of life. It is over after `SIGN_AGE_MS`. */
  sign(key: string): Promise<void>;
  /** The number of signs on the board, of all hosts. */
  countSigns(): Promise<number>;
  /** The keys below a prefix that have a sign. */
  signs(prefix: string): Promise<ReadonlySet<string>>;
}

/** `isNews` is false for what was there before anybody watched. */
export type EntryListener = (key: string, value: Uint8Array | undefined, isNews: boolean) => void;

/** A host that is gone is noticed within this time. */
export const LEASE_MS = 15_000;
/** The pause between signs of life, and between looks at those of others. */
export const SIGN_MS = 4000;
/** The time that a board takes to drop what is over, and a daemon to tell its clients. */
const SLACK_MS = 1000;
/** A sign is over then. The next look at the board notices it. */
export const SIGN_AGE_MS = LEASE_MS - SIGN_MS - SLACK_MS;
/** An entry that nobody writes again is over then. */
export const ENTRY_AGE_MS = 3_600_000;
