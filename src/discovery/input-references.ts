// References to inputs in the bridge's own config: `${input:NAME}` stands for the value that `mcp-bridge input set NAME`
// keeps. The values stay in the file of inputs: a config that is written for somebody never has one.

import type { RemoteServer, ServerDefinition } from '../model/server-definition.ts';

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

/** What discovery is to fill in for an input, where a definition is to be written down: a reference, and no value. */
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
