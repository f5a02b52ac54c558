// How a server may be shared: which clients share an instance, and how many calls it gets at a time. The user's setting
// comes first, then the server's own `capabilities["x-mux"].sharing`, then what the bridge knows about the program.

import type { ServerDefinition, Sharing } from './server-definition.ts';

/**
 * `isolated`: each client needs its own instance. `session-aware`: the server tells clients apart by
 * `_meta.muxSessionId`.
 */
export type DeclaredSharing = 'shared' | 'isolated' | 'session-aware';

export type SharingTerms = Pick<ServerDefinition, 'sharing' | 'nature' | 'maxConcurrentCalls'>;

export function sharingOf({ sharing, nature }: SharingTerms, declared: DeclaredSharing | undefined): Sharing {
  if (sharing !== undefined) return sharing;
  if (declared === 'isolated') return 'dedicated';
  return declared === undefined && nature?.keepsState !== undefined ? 'dedicated' : 'auto';
}

export function maxConcurrentCallsOf({ maxConcurrentCalls, nature }: SharingTerms): number {
  return maxConcurrentCalls ?? (nature?.losesWrites === undefined ? 0 : 1);
}

/** Reads `x-mux` in the capabilities of a server's answer to `initialize`. */
export function declaredSharingIn(capabilities: Readonly<Record<string, unknown>>): DeclaredSharing | undefined {
  const said = capabilities['x-mux'];
  const sharing = typeof said === 'object' && said !== null && 'sharing' in said ? said.sharing : undefined;
  return sharing === 'shared' || sharing === 'isolated' || sharing === 'session-aware' ? sharing : undefined;
}
