// The bound of names: every rule, list and message counts on it. Apart from glob.ts, so that a client need not load that.

/** A name of a tool, a prompt or a server is no longer. */
export const LONGEST_NAME = 256;
