// The rules about tools in files: rules of the config, lists of clients, and the policy for changed tools. Gates apply
// them.

/** The policy for changed tools: allow them, mark them, or block them. */
export type ToolChangePolicy = 'allow' | 'warn' | 'block';

/** A rule in a config. */
export interface ToolRule {
  /** Globs over the server's name, the tool's, or `server:tool`. */
  readonly patterns: readonly string[];
  /** Undefined for a rule that only gives tags. */
  readonly isEnabled: boolean | undefined;
  readonly tags: readonly string[];
}

/** A client file's own lists of a server's tools, as globs. */
export interface ToolFilter {
  /** Undefined for all. */
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[];
}

export const NO_FILTER: ToolFilter = { allow: undefined, deny: [] };
