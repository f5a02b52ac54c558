// Bugs of our own, told apart from failures of the world: whatever throws here is to be mended, not handled.

/** Throws when something that this program promises itself does not hold. */
export function invariant(holds: boolean, promise: string): asserts holds {
  if (!holds) throw new Error(`Invariant broken: ${promise}`);
}
