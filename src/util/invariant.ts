// Bugs of our own, told apart from failures of the world: whatever throws here has to be repaired in the code, and is never handled.

/** Throws when something that this program promises itself does not hold. */
export function invariant(holds: boolean, promise: string): asserts holds {
  if (!holds) throw new Error(`Invariant broken: ${promise}`);
}
