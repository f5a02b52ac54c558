// The type of a daemon's limits. The table of settings describes each.

import { defaultsOf, LIMITS, type SettingsOf } from './settings.ts';

export type Limits = SettingsOf<typeof LIMITS>;
export const DEFAULT_LIMITS: Limits = defaultsOf(LIMITS);

/** The time limit of the bridge's own requests, because no client would cancel them. */
const OWN_TIMEOUT_MS = 30_000;

/** The time that an answer to the bridge itself may take. */
export function ownTimeoutMs({ callTimeoutMs }: Pick<Limits, 'callTimeoutMs'>): number {
  return callTimeoutMs === 0 ? OWN_TIMEOUT_MS : callTimeoutMs;
}
