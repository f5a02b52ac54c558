// Makes, shows and removes named sets of tools in the bridge's own config.

import { isTree } from '../discovery/tree.ts';
import { TOOLSET_NAME, TOOLSET_NAME_RULE } from '../model/toolset.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { problemIn } from '../util/glob.ts';
import { nearest, suggestion } from '../util/nearest.ts';
import type { ConfigDocument } from './config-document.ts';
import { alone, type EditingHost } from './editing-host.ts';
import { backUp } from './install-record.ts';
import { type OpenOwnConfig, openOwnConfig, replaceOwn } from './own-config.ts';
import type { OwnOptions } from './own-servers.ts';

const OWN = 'bridge';
const CONTAINER = ['toolsets'];

export interface WrittenToolset {
  readonly name: string;
  readonly tools: readonly string[];
  readonly view: string;
}

/** The sets of the config, as the file spells them. */
export async function toolsetsIn(options: OwnOptions, host: EditingHost): Promise<readonly WrittenToolset[]> {
  const { document } = await openOwnConfig(options.config, host, CONTAINER);
  return [...document.entries].map(([name, entry]) => writtenToolset(name, entry));
}

function writtenToolset(name: string, entry: unknown): WrittenToolset {
  const { tools, view } = isTree(entry) ? entry : {};
  const texts = Array.isArray(tools) ? tools.filter((tool): tool is string => typeof tool === 'string') : [];
  return { name, tools: texts, view: typeof view === 'string' ? view : 'all' };
}

/** Makes a set, or replaces the one with the same name. */
export function makeToolset(
  { name, tools, view }: Omit<WrittenToolset, 'view'> & { readonly view: string | undefined },
  options: OwnOptions,
  host: EditingHost,
): Promise<string[]> {
  if (!TOOLSET_NAME.test(name)) throw wrong(`A toolset has a name of ${TOOLSET_NAME_RULE}`);
  const problem = problemIn(tools);
  if (problem !== undefined) throw wrong(`${JSON.stringify(problem.pattern)} ${problem.problem}`);
  return alone(host, async () => {
    const own = await openOwnConfig(options.config, host, CONTAINER);
    const was = own.document.entries.has(name) ? 'was changed' : 'is new';
    write(own, await own.document.with(name, { tools, ...(view !== undefined && { view }) }), host);
    return [
      `The toolset "${name}" ${was} in ${own.file.path}`,
      `Clients use it with: mcp-bridge connect --toolset ${name}`,
    ];
  });
}

export function removeToolset(name: string, options: OwnOptions, host: EditingHost): Promise<string[]> {
  return alone(host, async () => {
    const own = await openOwnConfig(options.config, host, CONTAINER);
    if (!own.document.entries.has(name)) throw noSuchToolset(name, [...own.document.entries.keys()]);
    write(own, await own.document.without(name), host);
    return [`The toolset "${name}" was removed from ${own.file.path}`];
  });
}

export function noSuchToolset(name: string, names: readonly string[]): BridgeError {
  const hint =
    names.length === 0 ? 'There is none. Make one: mcp-bridge toolset NAME TOOL…' : `There are: ${names.join(', ')}`;
  return new BridgeError('VIEW_UNKNOWN', `There is no toolset ${name}`, {
    hint: suggestion(nearest(name, names)) ?? hint,
  });
}

function wrong(message: string): BridgeError {
  return new BridgeError('USAGE', message, { hint: 'See: mcp-bridge toolset --help' });
}

function write({ file }: OpenOwnConfig, document: ConfigDocument, host: EditingHost): void {
  backUp(file, OWN, host);
  replaceOwn(file, { bytes: Buffer.from(document.text), entries: [] }, host);
}
