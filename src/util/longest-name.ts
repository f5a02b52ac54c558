// The limit for names: every rule, list and message relies on it. It is not in glob.ts, so that a client need not load
// that.

/** The longest name of a tool, a prompt or a server. */
export const LONGEST_NAME = 256;
