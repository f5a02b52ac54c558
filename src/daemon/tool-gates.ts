// Makes the gates of servers out of the rules that count now, and of what has become of their tools. What it takes for
// rules is loaded when there is one.

import { ChangeGate } from '../catalog/change-gate.ts';
import type { ServerDefinition } from '../core/server-definition.ts';
import { OPEN_GATE, type ToolChangePolicy, type ToolGate, type ToolRule } from '../core/tool-gate.ts';
import { invariant } from '../util/invariant.ts';

type Gated = Pick<ServerDefinition, 'name' | 'tools' | 'isOfProject'>;
type RuledGate = typeof import('../catalog/ruled-gate.ts').RuledGate;

/** What a config says of tools. */
export interface ToolSettings {
  readonly toolRules: readonly ToolRule[];
  /** Undefined for what goes without saying. */
  readonly onToolChange: ToolChangePolicy | undefined;
}

export class ToolGates {
  #settings: ToolSettings = { toolRules: [], onToolChange: undefined };
  #RuledGate: RuledGate | undefined;

  /** Before gates of these are made under these settings; whether they are others than before. */
  async prepare({ toolRules, onToolChange }: ToolSettings, definitions: Iterable<Gated>): Promise<boolean> {
    const isNeeded = toolRules.length > 0 || [...definitions].some(isFiltered);
    if (isNeeded) this.#RuledGate ??= (await import('../catalog/ruled-gate.ts')).RuledGate;
    const settings = { toolRules, onToolChange };
    const isOther = JSON.stringify(settings) !== JSON.stringify(this.#settings);
    this.#settings = settings;
    return isOther;
  }

  /** `changed` are the tools that are others than they were. */
  gateOf(definition: Gated, changed: ReadonlySet<string>): ToolGate {
    const rules = this.#rulesFor(definition);
    const policy = this.policyFor(definition);
    if (changed.size === 0 || policy === 'allow') return rules;
    return new ChangeGate(rules, { server: definition.name, changed, isBlocking: policy === 'block' });
  }

  /** What came with a project is watched more closely: its author is not this user. */
  policyFor({ isOfProject }: Pick<Gated, 'isOfProject'>): ToolChangePolicy {
    return this.#settings.onToolChange ?? (isOfProject === true ? 'block' : 'warn');
  }

  #rulesFor(definition: Gated): ToolGate {
    const { toolRules } = this.#settings;
    if (toolRules.length === 0 && !isFiltered(definition)) return OPEN_GATE;
    invariant(this.#RuledGate !== undefined, 'gates are prepared before they are made');
    return new this.#RuledGate(definition.name, toolRules, definition.tools);
  }
}

function isFiltered({ tools: { allow, deny } }: Pick<Gated, 'tools'>): boolean {
  return allow !== undefined || deny.length > 0;
}
