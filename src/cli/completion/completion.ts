// `mcp-bridge completion`: a script for a shell, and the names that such a script asks for.

import { textOf } from '../../util/json-value.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { ask, recordsIn, type ToolVerbValues, withTools } from '../tool-session.ts';
import type { NAMES, SHELLS } from '../verb-table.ts';
import { SCRIPTS } from './scripts.ts';

export interface CompletionValues extends ToolVerbValues {
  readonly what?: (typeof SHELLS)[number] | (typeof NAMES)[number] | undefined;
  readonly server?: string | undefined;
}

/** Whoever has pressed Tab waits. */
const NAMES_MS = 1500;

export async function completion(values: CompletionValues, host: CliHost): Promise<number> {
  const { what = 'bash' } = values;
  const text = what === 'servers' || what === 'tools' ? await names(what, values, host) : SCRIPTS[what]();
  host.stdout.write(text);
  return DONE;
}

/** One in each line. No daemon is started for it, and where nothing is known in time there is nothing to complete. */
async function names(what: 'servers' | 'tools', values: CompletionValues, host: CliHost): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string[]>((resolve) => {
    timer = setTimeout(() => resolve([]), NAMES_MS);
  });
  const quiet = { ...values, 'no-autostart': true };
  const found = withTools(quiet, host, async (client) => {
    if (what === 'servers')
      return recordsIn((await ask(client, 'list_mcp_servers')).servers).map(({ name }) => textOf(name));
    const { tools } = await ask(client, 'list_tools', { server: values.server ?? '' });
    return recordsIn(tools).map(({ name, tool }) => textOf(name ?? tool));
  }).catch(() => []); // a shell shows no errors between two keys
  const list = await Promise.race([found, late]);
  clearTimeout(timer);
  return list
    .filter((name) => /^[\w@.:/+-]+$/.test(name))
    .map((name) => `${name}\n`)
    .join('');
}
