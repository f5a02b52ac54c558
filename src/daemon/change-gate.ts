// A gate that knows of tools which are others than they were. What the rules refuse is refused for that.

import type { ToolGate } from '../core/tool-gate.ts';
import { BridgeError } from '../util/bridge-error.ts';

export interface ToolChanges {
  readonly server: string;
  readonly changed: ReadonlySet<string>;
  /** Whether they may not be called. */
  readonly isBlocking: boolean;
}

export class ChangeGate implements ToolGate {
  readonly isOpen: boolean;
  readonly #rules: ToolGate;
  readonly #changes: ToolChanges;

  constructor(rules: ToolGate, changes: ToolChanges) {
    this.isOpen = rules.isOpen && !changes.isBlocking;
    this.#rules = rules;
    this.#changes = changes;
  }

  refusalOf(tool: string): BridgeError | undefined {
    const { isBlocking, changed } = this.#changes;
    return this.#rules.refusalOf(tool) ?? (isBlocking && changed.has(tool) ? this.#refusal(tool) : undefined);
  }

  tagsOf(tool: string): readonly string[] {
    return this.#rules.tagsOf(tool);
  }

  isChanged(tool: string): boolean {
    return this.#changes.changed.has(tool);
  }

  #refusal(tool: string): BridgeError {
    const { server } = this.#changes;
    const what = `The tool ${JSON.stringify(tool.slice(0, 128))} of ${server}`;
    return new BridgeError('TOOL_CHANGED', `${what} is another one than it was when it was first seen or accepted`, {
      server,
      hint: `Do without it, or ask your user to look at what has changed: mcp-bridge tools ${server} --changed`,
    });
  }
}
