// Work that takes time leaves turns of the event loop to everybody else.

/** Resolves after everything that waits has had a turn. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
