// `mcp-bridge toolset`: named sets of tools. Lists all of them; shows one, given its name; makes one, given tools.

import { makeToolset, noSuchToolset, removeToolset, toolsetsIn } from '../../editing/own-toolsets.ts';
import { editingHostOf, tell } from '../editing.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { printJson, table } from '../render/table.ts';
import { widthOf } from '../render/terminal.ts';
import { reloadIfRunning } from '../running-daemon.ts';
import { wrongUsage } from '../tool-session.ts';

export interface ToolsetValues {
  readonly name?: string | undefined;
  readonly tools?: readonly string[] | undefined;
  readonly view?: string | undefined;
  readonly remove?: boolean | undefined;
  readonly config?: string | undefined;
  readonly json?: boolean | undefined;
}

export async function toolset(values: ToolsetValues, host: CliHost): Promise<number> {
  const { name, tools = [], view, remove = false, config } = values;
  if (remove && (name === undefined || tools.length > 0 || view !== undefined))
    throw wrongUsage('toolset', '--remove takes the name of a toolset and nothing else');
  if (view !== undefined && tools.length === 0) throw wrongUsage('toolset', 'Name the tools too, such as "github:*"');
  const editing = editingHostOf(host);
  if (name === undefined || (!remove && tools.length === 0)) return show(values, host);
  const lines = remove
    ? await removeToolset(name, { config }, editing)
    : await makeToolset({ name, tools, view }, { config }, editing);
  await reloadIfRunning({}, host);
  return tell({ lines, diff: '' }, host);
}

async function show({ name, config, json }: ToolsetValues, host: CliHost): Promise<number> {
  const all = await toolsetsIn({ config }, editingHostOf(host));
  const shown = name === undefined ? all : all.filter((one) => one.name === name);
  if (name !== undefined && shown.length === 0)
    throw noSuchToolset(
      name,
      all.map((one) => one.name),
    );
  if (json === true) return printJson(shown, host);
  if (shown.length === 0) host.stdout.write('There is no toolset. Make one: mcp-bridge toolset NAME TOOL…\n');
  else
    host.stdout.write(
      table(
        ['TOOLSET', 'VIEW', 'TOOLS'],
        shown.map((one) => [one.name, one.view, one.tools.join(' ')]),
        { width: widthOf(host) },
      ),
    );
  return DONE;
}
