// Makes the gates of servers out of the rules that count now, and of what has become of their tools. What it takes for
// rules is loaded when there is one.

import type { ClientSettings } from '../core/client-settings.ts';
import { OPEN_GATE, type ToolGate } from '../core/tool-gate.ts';
import type { ServerDefinition } from '../model/server-definition.ts';
import { NO_FILTER, type ToolChangePolicy, type ToolFilter, type ToolRule } from '../model/tool-rules.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { invariant } from '../util/invariant.ts';
import type { GateRules } from './ruled-gate.ts';

type Gated = Pick<ServerDefinition, 'name' | 'tools' | 'filters' | 'alsoNamed' | 'isOfProject'>;
type RuledGate = typeof import('./ruled-gate.ts').RuledGate;

/** What a config says of tools. */
export interface ToolSettings {
  readonly toolRules: readonly ToolRule[];
  /** Undefined for what goes without saying. */
  readonly onToolChange: ToolChangePolicy | undefined;
  /** Whether some hold for one client. */
  readonly areOfClients?: boolean;
}

export class ToolGates {
  #settings: ToolSettings = { toolRules: [], onToolChange: undefined };
  #RuledGate: RuledGate | undefined;

  /** Before gates of these are made under these settings; whether they are others than before. */
  async prepare(
    { toolRules, onToolChange, areOfClients = false }: ToolSettings,
    definitions: Iterable<Gated>,
  ): Promise<boolean> {
    const isNeeded = areOfClients || toolRules.length > 0 || [...definitions].some(isFiltered);
    if (isNeeded) this.#RuledGate ??= (await import('./ruled-gate.ts')).RuledGate;
    const settings = { toolRules, onToolChange };
    const isOther = JSON.stringify(settings) !== JSON.stringify(this.#settings);
    this.#settings = settings;
    return isOther;
  }

  /** `changed` are the tools that are others than they were. */
  gateOf(definition: Gated, changed: ReadonlySet<string>, settings?: ClientSettings): ToolGate {
    const rules = this.#rulesOf(definition, settings);
    const policy = this.policyFor(definition);
    if (changed.size === 0 || policy === 'allow') return rules;
    return new ChangeGate(rules, { server: definition.name, changed, isBlocking: policy === 'block' });
  }

  /** What came with a project is watched more closely: its author is not this user. */
  policyFor({ isOfProject }: Pick<Gated, 'isOfProject'>): ToolChangePolicy {
    return this.#settings.onToolChange ?? (isOfProject === true ? 'block' : 'warn');
  }

  /** True if a client with these settings may use other tools than everybody. */
  isForClient({ filters }: Gated, { program, toolRules }: ClientSettings): boolean {
    return toolRules.length > 0 || (filters !== undefined && program !== undefined);
  }

  #rulesOf(definition: Gated, settings: ClientSettings | undefined): ToolGate {
    const { toolRules } = this.#settings;
    const { name, alsoNamed = [] } = definition;
    const filter = filterFor(definition, settings?.program);
    const where = 'by discovery.toolRules of the config';
    const everybody = this.#gateBy({ names: [name, ...alsoNamed], where, rules: toolRules, filter });
    if (settings === undefined || settings.toolRules.length === 0) return everybody;
    const rules = {
      names: [name, ...alsoNamed, settings.nameOf(name)] as [string, ...string[]],
      where: `for this client, by ${settings.place} of the config`,
      rules: settings.toolRules,
      filter: NO_FILTER,
    };
    return new BothGates(everybody, this.#gateBy(rules));
  }

  #gateBy(rules: GateRules): ToolGate {
    if (rules.rules.length === 0 && !isFilter(rules.filter)) return OPEN_GATE;
    invariant(this.#RuledGate !== undefined, 'gates are prepared before they are made');
    return new this.#RuledGate(rules);
  }
}

/** Where several clients have it, what one of them says of its tools holds for that one alone. */
function filterFor({ tools, filters = [] }: Gated, program: string | undefined): ToolFilter {
  if (filters.length === 0) return tools;
  const own = filters.filter(({ client }) => client === program);
  const said = (own.length === 0 ? filters : own).map((filter) => filter.tools);
  return said.find((filter) => !isFilter(filter)) ?? (own.length === 0 ? tools : (said[0] ?? tools));
}

function isFiltered({ tools, filters = [] }: Pick<Gated, 'tools' | 'filters'>): boolean {
  return isFilter(tools) || filters.some((filter) => isFilter(filter.tools));
}

function isFilter({ allow, deny }: ToolFilter): boolean {
  return allow !== undefined || deny.length > 0;
}

// Two gates, one behind the other: what holds for everybody, and what holds for one client.

class BothGates implements ToolGate {
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

// A gate that knows of tools which are others than they were. What the rules refuse is refused for that.

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
