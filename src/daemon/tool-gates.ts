// Makes the gate of each server from the config's rules, the filters of clients, and the changed tools. The code for
// rules is loaded only if there are rules.

import type { ClientSettings } from '../model/client-settings.ts';
import type { BusServer, ServerDefinition } from '../model/server-definition.ts';
import { OPEN_GATE, type ToolGate } from '../model/tool-gate.ts';
import { NO_FILTER, type ToolChangePolicy, type ToolFilter, type ToolRule } from '../model/tool-rules.ts';
import type { WantedToolset } from '../model/toolset.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { invariant } from '../util/invariant.ts';
import type { GateRules } from './ruled-gate.ts';

type Gated = Pick<ServerDefinition, 'name' | 'tools' | 'filters' | 'alsoNamed' | 'isOfProject'> &
  Partial<Pick<BusServer, 'offeredName' | 'anyOf'>>;
type RuledGate = typeof import('./ruled-gate.ts').RuledGate;

/** The config's settings about tools. */
export interface ToolSettings {
  readonly toolRules: readonly ToolRule[];
  /** Undefined for the default. */
  readonly onToolChange: ToolChangePolicy | undefined;
  /** True if some rules apply to single clients. */
  readonly areOfClients?: boolean;
}

export class ToolGates {
  #settings: ToolSettings = { toolRules: [], onToolChange: undefined };
  #RuledGate: RuledGate | undefined;

  /** Takes new settings before gates for these servers are made. Returns true if they differ from the old ones. */
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

  /** Makes the gate of a server; `changed` are its changed tools. */
  gateOf(definition: Gated, changed: ReadonlySet<string>, settings?: ClientSettings): ToolGate {
    const rules = this.#rulesOf(definition, settings);
    const policy = this.policyFor(definition);
    if (changed.size === 0 || policy === 'allow') return rules;
    return new ChangeGate(rules, { server: definition.name, changed, isBlocking: policy === 'block' });
  }

  /**
   * The treatment of changed tools. Servers of projects are blocked by default, because the user did not write them.
   */
  policyFor({ isOfProject }: Pick<Gated, 'isOfProject'>): ToolChangePolicy {
    return this.#settings.onToolChange ?? (isOfProject === true ? 'block' : 'warn');
  }

  /** True if the tools of a client with these settings may differ from those for everybody. */
  isForClient({ filters }: Gated, { program, toolRules, toolset }: ClientSettings): boolean {
    return toolset !== undefined || toolRules.length > 0 || (filters !== undefined && program !== undefined);
  }

  #rulesOf(definition: Gated, settings: ClientSettings | undefined): ToolGate {
    const { anyOf = [], ...own } = definition;
    // Any of these hosts may answer.
    const [first = own, ...others] = anyOf.map((name) => ({ ...own, name, alsoNamed: [own.name] }));
    return others.reduce<ToolGate>(
      (gate, next) => bothOf(gate, this.#rulesOfOne(next, settings)),
      this.#rulesOfOne(first, settings),
    );
  }

  #rulesOfOne(definition: Gated, settings: ClientSettings | undefined): ToolGate {
    const { toolRules } = this.#settings;
    const { name, offeredName } = definition;
    // Rules about a server of another host may leave out the host, even if several hosts have such a server.
    const alsoNamed = [...(definition.alsoNamed ?? []), ...(offeredName === undefined ? [] : [offeredName])];
    const filter = filterFor(definition, settings?.program);
    const where = 'by discovery.toolRules of the config';
    const everybody = this.#gateBy({ names: [name, ...alsoNamed], where, rules: toolRules, filter });
    if (settings === undefined) return everybody;
    const names: [string, ...string[]] = [name, ...alsoNamed, settings.nameOf(name)];
    const whereOwn = `for this client, by ${settings.place} of the config`;
    const own = this.#gateBy({ names, where: whereOwn, rules: settings.toolRules, filter: NO_FILTER });
    const inSet = settings.toolset && this.#gateOfSet(names, settings.toolset);
    return bothOf(bothOf(everybody, own), inSet ?? OPEN_GATE);
  }

  /** The gate of a tool set. A set that does not exist allows nothing, and needs no code for rules. */
  #gateOfSet(names: [string, ...string[]], { name, tools, exists }: WantedToolset): ToolGate {
    if (!exists) return new NoToolGate(names[0], name);
    const rules = [
      { patterns: ['*'], isEnabled: false, tags: [] },
      { patterns: tools, isEnabled: true, tags: [] },
    ];
    return this.#gateBy({
      names,
      where: `for this client: it is not in the toolset ${name}`,
      rules,
      filter: NO_FILTER,
    });
  }

  #gateBy(rules: GateRules): ToolGate {
    if (rules.rules.length === 0 && !isFilter(rules.filter)) return OPEN_GATE;
    invariant(this.#RuledGate !== undefined, 'gates are prepared before they are made');
    return new this.#RuledGate(rules);
  }
}

/** The filter for a client: if several clients define the server, each filter applies only to its own client. */
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

/** The gate of a tool set that no longer exists. */
class NoToolGate implements ToolGate {
  readonly isOpen = false;
  readonly #server: string;
  readonly #toolset: string;

  constructor(server: string, toolset: string) {
    this.#server = server;
    this.#toolset = toolset;
  }

  refusalOf(tool: string): BridgeError {
    const what = `The tool ${JSON.stringify(tool.slice(0, 128))} of ${this.#server}`;
    return new BridgeError('TOOL_DISABLED', `${what} is disabled`, {
      server: this.#server,
      hint: `The toolset ${this.#toolset} does not exist any more.`,
    });
  }

  isChanged(): boolean {
    return false;
  }

  tagsOf(): readonly string[] {
    return [];
  }
}

const bothOf = (first: ToolGate, second: ToolGate): ToolGate =>
  second === OPEN_GATE ? first : first === OPEN_GATE ? second : new BothGates(first, second);

/** Two gates in a row: one for all clients, one for a single client. */
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

interface ToolChanges {
  readonly server: string;
  readonly changed: ReadonlySet<string>;
  /** True if changed tools may not be called. */
  readonly isBlocking: boolean;
}

/** Adds the changed tools to a gate. The inner gate's rules refuse first. */
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
    return new BridgeError('TOOL_CHANGED', `${what} has changed since it was first seen or accepted`, {
      server,
      hint: `Use another tool, or ask your user to review the change: mcp-bridge tools ${server} --changed`,
    });
  }
}
