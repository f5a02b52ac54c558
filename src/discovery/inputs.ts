// Values that the bridge's own config only refers to: inputs (`${input:api-key}`), which a person has given and a private
// file keeps, and variables of the environment (`${env:TOKEN}`). A config that is written for somebody has the references,
// never a value.

import { type StateEnvironment, StateFile } from '../local/state-file.ts';
import type { RemoteServer, ServerDefinition } from '../model/server-definition.ts';
import { isTree } from './tree.ts';

export class KeptInputs extends StateFile<ReadonlyMap<string, string>> {
  constructor(environment: StateEnvironment, homedir: string) {
    const kind = {
      name: 'inputs.json',
      member: 'inputs',
      empty: () => new Map(),
      parse: valuesIn,
      format: (values: ReadonlyMap<string, string>) => Object.fromEntries(values),
      ifRemoved: 'values have to be given again, with mcp-bridge input set NAME',
    };
    super(kind, environment, homedir);
  }

  set(name: string, value: string): Promise<void> {
    return this.change((values) => new Map(values).set(name, value));
  }

  /** True if there was one. */
  async remove(name: string): Promise<boolean> {
    let wasThere = false;
    await this.change((values) => {
      const others = new Map(values);
      wasThere = others.delete(name);
      return others;
    });
    return wasThere;
  }
}

function valuesIn(value: unknown): Map<string, string> | undefined {
  if (!isTree(value)) return undefined;
  const entries = Object.entries(value);
  return entries.every(isPair) ? new Map(entries) : undefined;
}

function isPair(entry: [string, unknown]): entry is [string, string] {
  return typeof entry[1] === 'string';
}

const REFERENCE = /\$\{((?:input|env):[^{}]+)\}/g;

/** `otherwise` is what a variable that is not set becomes. */
export type Reference =
  | { readonly of: 'input'; readonly name: string }
  | { readonly of: 'environment'; readonly name: string; readonly otherwise: string | undefined };

/** The reference that the content of a `${…}` is; undefined for other content. */
export function referenceIn(content: string): Reference | undefined {
  const [, input] = /^input:(.+)$/s.exec(content) ?? [];
  if (input !== undefined) return { of: 'input', name: input };
  const [, name, otherwise] = /^env:([A-Za-z_]\w*)(?::-(.*))?$/s.exec(content) ?? [];
  return name === undefined ? undefined : { of: 'environment', name, otherwise };
}

/** Everything that references are filled in from. An input of its name stands in for a variable that is not set. */
export interface ReferredValues {
  readonly inputs: ReadonlyMap<string, string>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export const NO_VALUES: ReferredValues = { inputs: new Map(), environment: {} };

/** Fills in all references; undefined if one of them has no value. */
export function withReferences<Definition extends ServerDefinition>(
  definition: Definition,
  { inputs, environment }: ReferredValues,
): Definition | undefined {
  let isMissing = false;
  const fill = (text: string): string =>
    text.replace(REFERENCE, (whole, content: string) => {
      const reference = referenceIn(content);
      if (reference === undefined) return whole;
      const { name } = reference;
      const given = reference.of === 'environment' ? (environment[name] ?? reference.otherwise) : undefined;
      const value = given ?? inputs.get(name);
      isMissing ||= value === undefined;
      return value ?? '';
    });
  const filled = filledWith(definition, fill);
  return isMissing ? undefined : filled;
}

export function hasReferences(definition: ServerDefinition): boolean {
  let isFound = false;
  filledWith(definition, (text) => {
    isFound ||= new RegExp(REFERENCE).test(text);
    return text;
  });
  return isFound;
}

function filledWith<Definition extends ServerDefinition>(definition: Definition, fill: (text: string) => string) {
  if (definition.transport === 'dial-in' || definition.transport === 'bus') return definition;
  if (definition.transport === 'stdio') {
    const { command, args, env, cwd } = definition;
    const place = cwd === undefined ? {} : { cwd: fill(cwd) };
    return { ...definition, command: fill(command), args: args.map(fill), env: mapped(env, fill), ...place };
  }
  const { url, headers }: Pick<RemoteServer, 'url' | 'headers'> = definition;
  return { ...definition, url: fill(url), headers: mapped(headers, fill) };
}

function mapped(map: Readonly<Record<string, string>>, fill: (text: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(map).map(([name, text]) => [name, fill(text)]));
}

/** Stands around a reference while a definition goes through discovery, so that it is not taken for a text of its file. */
const MARK = '\ue001';
const MARKED = new RegExp(`${MARK}([^${MARK}]*)${MARK}`, 'g');
const WORKSPACE = new Set(['workspaceFolder', 'workspaceRoot', 'cwd']);

/** Gives discovery a reference for an input, and no value, where a definition is to be written down. */
export function referenceTo(inputs: ReadonlyMap<string, string>): (name: string) => string | undefined {
  return (name) => {
    if (WORKSPACE.has(name)) return `\${workspaceFolder}`;
    return inputs.has(name) ? `${MARK}\${input:${name}}${MARK}` : undefined;
  };
}

/** Gives discovery a reference to a variable, and no value, where a definition is to be written down. */
export function environmentReference(name: string, otherwise?: string): string {
  return `${MARK}\${env:${name}${otherwise === undefined ? '' : `:-${otherwise}`}}${MARK}`;
}

/** Says if a text has what the bridge would take for a reference, and the file that it comes from does not. */
export function isMistakable(text: string): boolean {
  return new RegExp(REFERENCE).test(text.replace(MARKED, ''));
}

export function isMarked(text: string): boolean {
  return text.includes(MARK);
}

export function unmarked(text: string): string {
  return text.replaceAll(MARK, '');
}
