// Lets other work run between the parts of long work.

/** Resolves after all waiting work has had a turn. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
