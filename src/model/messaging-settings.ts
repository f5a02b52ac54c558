// What clients may say to each other, and how much of it.

export interface MessagingSettings {
  /** Whether language models get tools for it, and with them a mailbox. */
  readonly isEnabled: boolean;
  /** Messages of one client, and those between two; twice as many at once. */
  readonly maxPerSecond: number;
  /** One message, with what it says whom it is for. */
  readonly maxMessageBytes: number;
  /** Requests of one client to others that are not answered, and of others to it. */
  readonly maxInFlight: number;
  /** How often a message may be handed on, or a letter be answered by another. */
  readonly maxHops: number;
  /** What one client's mailbox holds. */
  readonly mailbox: { readonly maxMessages: number; readonly maxBytes: number };
  /** The first rule that fits a pair decides; without one it is allowed. */
  readonly policy: readonly PairRule[];
}

export interface PairRule {
  /** Client ids, in which * stands for any text and ? for any character. */
  readonly from: string;
  readonly to: string;
  readonly isAllowed: boolean;
}

export const DEFAULT_MESSAGING: MessagingSettings = {
  isEnabled: false,
  maxPerSecond: 50,
  maxMessageBytes: 1024 * 1024,
  maxInFlight: 64,
  maxHops: 8,
  mailbox: { maxMessages: 100, maxBytes: 1024 * 1024 },
  policy: [],
};
