// Inputs of definitions (`${input:api-key}`): the values that a person has given for them, kept in a private file, and the
// references to them in the bridge's own config. A config that is written for somebody has references, and never a value.

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

const REFERENCE = /\$\{input:([^{}]+)\}/g;

/** The name of the input that the content of a `${…}` refers to. */
export function inputIn(content: string): string | undefined {
  return content.startsWith('input:') ? content.slice('input:'.length) || undefined : undefined;
}

/** Fills in what is kept; undefined if something is not. */
export function withInputs<Definition extends ServerDefinition>(
  definition: Definition,
  inputs: ReadonlyMap<string, string>,
): Definition | undefined {
  let isMissing = false;
  const fill = (text: string): string =>
    text.replace(REFERENCE, (_, name: string) => {
      const value = inputs.get(name);
      isMissing ||= value === undefined;
      return value ?? '';
    });
  const filled = filledWith(definition, fill);
  return isMissing ? undefined : filled;
}

function filledWith<Definition extends ServerDefinition>(definition: Definition, fill: (text: string) => string) {
  if (definition.transport === 'dial-in') return definition;
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
