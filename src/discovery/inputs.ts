// Values that the bridge's own config only refers to: inputs (`${input:api-key}`), which a person entered and a private
// file keeps, and environment variables (`${env:TOKEN}`). A config that the bridge writes has only references, never
// values.

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

  /** Removes a value; true if there was one. */
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

/** `otherwise` replaces a variable that is not set. */
export type Reference =
  | { readonly of: 'input'; readonly name: string }
  | { readonly of: 'environment'; readonly name: string; readonly otherwise: string | undefined };

/** The reference in the content of a `${…}`; undefined for other content. */
export function referenceIn(content: string): Reference | undefined {
  const [, input] = /^input:(.+)$/s.exec(content) ?? [];
  if (input !== undefined) return { of: 'input', name: input };
  const [, name, otherwise] = /^env:([A-Za-z_]\w*)(?::-(.*))?$/s.exec(content) ?? [];
  return name === undefined ? undefined : { of: 'environment', name, otherwise };
}

/** All values for references. If a variable is not set, the input of the same name is used. */
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

/** Surrounds a reference during discovery, so that it is not mistaken for text of its file. */
const MARK = '\ue001';
const MARKED = new RegExp(`${MARK}([^${MARK}]*)${MARK}`, 'g');
const WORKSPACE = new Set(['workspaceFolder', 'workspaceRoot', 'cwd']);

/** Returns references instead of values for inputs, if definitions will be written to a file. */
export function referenceTo(inputs: ReadonlyMap<string, string>): (name: string) => string | undefined {
  return (name) => {
    if (WORKSPACE.has(name)) return `\${workspaceFolder}`;
    return inputs.has(name) ? `${MARK}\${input:${name}}${MARK}` : undefined;
  };
}

/** Returns a reference instead of a value for a variable, if definitions will be written to a file. */
export function environmentReference(name: string, otherwise?: string): string {
  return `${MARK}\${env:${name}${otherwise === undefined ? '' : `:-${otherwise}`}}${MARK}`;
}

/** True if a text contains something that the bridge would take for a reference, but its own client would not. */
export function isMistakable(text: string): boolean {
  return new RegExp(REFERENCE).test(text.replace(MARKED, ''));
}

export function isMarked(text: string): boolean {
  return text.includes(MARK);
}

export function unmarked(text: string): string {
  return text.replaceAll(MARK, '');
}
