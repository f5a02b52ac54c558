// Which of a server's tools may be used. The one place that decides about a call is CallDesk.take; whoever lists tools
// asks here too, so that nobody sees what may not be called.

import type { BridgeError } from '../util/bridge-error.ts';

export interface ToolGate {
  /** Whether it lets everything pass. */
  readonly isOpen: boolean;
  /** Why a tool may not be called; undefined if it may. */
  refusalOf(tool: string): BridgeError | undefined;
  /** Whether it is another one than it was when somebody has last agreed to it. */
  isChanged(tool: string): boolean;
  /** Words by which it is found. */
  tagsOf(tool: string): readonly string[];
}

/** What a config says of some tools. */
export interface ToolRule {
  /** Globs over the server's name, the tool's, or `server:tool`. */
  readonly patterns: readonly string[];
  /** Undefined if it only gives tags. */
  readonly isEnabled: boolean | undefined;
  readonly tags: readonly string[];
}

/** What a client says in its own file of the tools of a server: globs. */
export interface ToolFilter {
  /** Undefined for all. */
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[];
}

export const NO_FILTER: ToolFilter = { allow: undefined, deny: [] };

const NO_TAGS: readonly string[] = [];

export const OPEN_GATE: ToolGate = {
  isOpen: true,
  refusalOf: () => undefined,
  isChanged: () => false,
  tagsOf: () => NO_TAGS,
};

/** What becomes of tools that are others than they were: nothing, a mark, or that nobody may call them. */
export type ToolChangePolicy = 'allow' | 'warn' | 'block';
