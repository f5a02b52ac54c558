// The versions of the protocol that have a handshake, as names: which one counts, and which one answers which.

/** Newest first. */
export const PROTOCOL_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
/** From before the first release. Nothing that matters here was different, and servers of it are still about. */
const PRELIMINARY_VERSION = '2024-10-07';
/** The only revision that has batches. */
export const BATCH_VERSION: string = '2025-03-26';
export const LATEST_PROTOCOL_VERSION: string = PROTOCOL_VERSIONS[0];

/** True if the bridge speaks this version. */
export function isSpoken(version: string): boolean {
  return version === PRELIMINARY_VERSION || PROTOCOL_VERSIONS.some((known) => known === version);
}

/** The version that an answer to a client names: the one it asked for if it is known here, else the latest. */
export function negotiateVersion(asked: string): string {
  return PROTOCOL_VERSIONS.find((version) => version === asked) ?? LATEST_PROTOCOL_VERSION;
}
