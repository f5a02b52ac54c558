// Settings for detecting clients that have gone silently. The table of settings describes each.

import { defaultsOf, LIVENESS, type SettingsOf } from './settings.ts';

export type LivenessSettings = SettingsOf<typeof LIVENESS>;
export const DEFAULT_LIVENESS: LivenessSettings = defaultsOf(LIVENESS);
