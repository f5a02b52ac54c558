// Makes the gates of servers out of the rules that count now. What it takes for that is loaded when there is a rule.

import type { ServerDefinition } from '../core/server-definition.ts';
import { OPEN_GATE, type ToolGate, type ToolRule } from '../core/tool-gate.ts';
import { invariant } from '../util/invariant.ts';

type Gated = Pick<ServerDefinition, 'name' | 'tools'>;
type RuledGate = typeof import('../catalog/ruled-gate.ts').RuledGate;

export class ToolGates {
  #rules: readonly ToolRule[] = [];
  #RuledGate: RuledGate | undefined;

  /** Before gates of these are made under these rules; whether the rules are others than before. */
  async prepare(rules: readonly ToolRule[], definitions: Iterable<Gated>): Promise<boolean> {
    const isNeeded = rules.length > 0 || [...definitions].some(isFiltered);
    if (isNeeded) this.#RuledGate ??= (await import('../catalog/ruled-gate.ts')).RuledGate;
    const isOther = JSON.stringify(rules) !== JSON.stringify(this.#rules);
    this.#rules = rules;
    return isOther;
  }

  gateOf(definition: Gated): ToolGate {
    if (this.#rules.length === 0 && !isFiltered(definition)) return OPEN_GATE;
    invariant(this.#RuledGate !== undefined, 'gates are prepared before they are made');
    return new this.#RuledGate(definition.name, this.#rules, definition.tools);
  }
}

function isFiltered({ tools: { allow, deny } }: Gated): boolean {
  return allow !== undefined || deny.length > 0;
}
