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

const NO_TAGS: readonly string[] = [];

export const OPEN_GATE: ToolGate = {
  isOpen: true,
  refusalOf: () => undefined,
  isChanged: () => false,
  tagsOf: () => NO_TAGS,
};
