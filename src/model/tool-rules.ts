// What may be said of tools in files: rules of the config, lists of clients, and what becomes of tools that change. How they
// are applied is for the gates.

/** Says what becomes of tools that have changed: nothing, a mark, or that nobody may call them. */
export type ToolChangePolicy = 'allow' | 'warn' | 'block';

/** A rule of a config. */
export interface ToolRule {
  /** Globs over the server's name, the tool's, or `server:tool`. */
  readonly patterns: readonly string[];
  /** Undefined if it only gives tags. */
  readonly isEnabled: boolean | undefined;
  readonly tags: readonly string[];
}

/** Lists that a client's own file has of the tools of a server: globs. */
export interface ToolFilter {
  /** Undefined for all. */
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[];
}

export const NO_FILTER: ToolFilter = { allow: undefined, deny: [] };
