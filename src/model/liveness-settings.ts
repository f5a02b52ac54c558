// How the daemon finds out that a client has gone without a word. What each setting does is said in the table of settings.

import { defaultsOf, LIVENESS, type SettingsOf } from './settings.ts';

export type LivenessSettings = SettingsOf<typeof LIVENESS>;
export const DEFAULT_LIVENESS: LivenessSettings = defaultsOf(LIVENESS);
