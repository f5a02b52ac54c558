// The limits of a daemon, as all rooms know them. What each bounds is said in the table of settings.

import { defaultsOf, LIMITS, type SettingsOf } from './settings.ts';

export type Limits = SettingsOf<typeof LIMITS>;
export const DEFAULT_LIMITS: Limits = defaultsOf(LIMITS);

/** Nobody would give up a request that the bridge makes for itself. */
const OWN_TIMEOUT_MS = 30_000;

/** The time that an answer to the bridge itself may take. */
export function ownTimeoutMs({ callTimeoutMs }: Pick<Limits, 'callTimeoutMs'>): number {
  return callTimeoutMs === 0 ? OWN_TIMEOUT_MS : callTimeoutMs;
}
