// The eras that the bridge speaks, and the era of each version.

import type { Era } from './era.ts';
import { ERA_2025 } from './era-2025.ts';
import { ERA_2026 } from './era-2026.ts';
import { PROTOCOL_VERSIONS } from './versions.ts';

/** The era of a protocol version. Unknown versions count as old ones, which have a handshake. */
export function eraOf(version: string): Era {
  return ERA_2026.versions.includes(version) ? ERA_2026 : ERA_2025;
}

/** All versions that the bridge speaks, newest first. */
export const SPOKEN_VERSIONS: readonly string[] = [...ERA_2026.versions, ...PROTOCOL_VERSIONS];

/** The highest of these versions that the bridge speaks. */
export function highestCommon(versions: readonly string[]): string | undefined {
  return SPOKEN_VERSIONS.find((version) => versions.includes(version));
}
