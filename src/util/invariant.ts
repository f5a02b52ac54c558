// Separates our own bugs from failures of the world: an error from here must be fixed in the code, and is never
// handled.

/** Throws if a promise that this program makes to itself is broken. */
export function invariant(holds: boolean, promise: string): asserts holds {
  if (!holds) throw new Error(`Invariant broken: ${promise}`);
}
