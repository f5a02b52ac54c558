// The settings for messages between clients: what they may send, and how much.

import { AGENTS, defaultsOf, MAILBOX, type SettingsOf } from './settings.ts';

/** The bounds are described in the table of settings. */
export interface MessagingSettings extends Omit<SettingsOf<typeof AGENTS>, 'enabled'> {
  /** True if language models get tools for messages, and thereby a mailbox. */
  readonly isEnabled: boolean;
  readonly mailbox: SettingsOf<typeof MAILBOX>;
  /** The first rule that matches a pair decides; without a match it is allowed. */
  readonly policy: readonly PairRule[];
}

export interface PairRule {
  /** Client ids, where * matches any text and ? any character. */
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
