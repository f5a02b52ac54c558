// What clients may say to each other, and how much of it, as the rooms that carry messages know it.

import { AGENTS, defaultsOf, MAILBOX, type SettingsOf } from './settings.ts';

/** The bounds are described in the table of settings. */
export interface MessagingSettings extends Omit<SettingsOf<typeof AGENTS>, 'enabled'> {
  /** Language models get tools for messages, and with them a mailbox. */
  readonly isEnabled: boolean;
  readonly mailbox: SettingsOf<typeof MAILBOX>;
  /** The first rule that fits a pair decides; without one it is allowed. */
  readonly policy: readonly PairRule[];
}

export interface PairRule {
  /** Client ids, in which * stands for any text and ? for any character. */
  readonly from: string;
  readonly to: string;
  readonly isAllowed: boolean;
}

const { enabled, ...BOUNDS } = defaultsOf(AGENTS);
export const DEFAULT_MESSAGING: MessagingSettings = {
  isEnabled: enabled,
  ...BOUNDS,
  mailbox: defaultsOf(MAILBOX),
  policy: [],
};
