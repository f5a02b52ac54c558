// Two gates, one behind the other: what holds for everybody, and what holds for one client.

import type { ToolGate } from '../core/tool-gate.ts';
import type { BridgeError } from '../util/bridge-error.ts';

export class BothGates implements ToolGate {
  readonly isOpen: boolean;
  readonly #first: ToolGate;
  readonly #second: ToolGate;

  constructor(first: ToolGate, second: ToolGate) {
    this.isOpen = first.isOpen && second.isOpen;
    this.#first = first;
    this.#second = second;
  }

  refusalOf(tool: string): BridgeError | undefined {
    return this.#first.refusalOf(tool) ?? this.#second.refusalOf(tool);
  }

  isChanged(tool: string): boolean {
    return this.#first.isChanged(tool) || this.#second.isChanged(tool);
  }

  tagsOf(tool: string): readonly string[] {
    const more = this.#second.tagsOf(tool);
    return more.length === 0 ? this.#first.tagsOf(tool) : [...new Set([...this.#first.tagsOf(tool), ...more])];
  }
}
