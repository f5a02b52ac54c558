// An MCP server that the bridge knows by name, wherever the definition was found.

export interface ServerDefinition {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute, or undefined for the daemon's own. */
  readonly cwd: string | undefined;
  readonly description: string;
  /** How long a call may take; undefined for the default. */
  readonly timeoutMs: number | undefined;
  /** How long it may run with no client; undefined for the default. */
  readonly idleMs: number | undefined;
}
