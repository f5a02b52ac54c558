// The eras that the bridge speaks, and the one that a version belongs to.

import type { Era } from './era.ts';
import { ERA_2025 } from './era-2025.ts';
import { ERA_2026 } from './era-2026.ts';

/** The era of a version of the protocol. Versions that nobody knows are taken for old ones, which have a handshake. */
export function eraOf(version: string): Era {
  return ERA_2026.versions.includes(version) ? ERA_2026 : ERA_2025;
}
