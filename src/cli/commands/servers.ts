// `mcp-bridge servers`: the servers that the bridge offers here, and how many tools they have.

import { textOf } from '../../util/json-value.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { printJson } from '../render/json-output.ts';
import { pendingNotes, waitingNotes } from '../render/status-view.ts';
import { table } from '../render/table.ts';
import { tableStyle } from '../render/terminal.ts';
import { wrappedLines } from '../render/wrapped-lines.ts';

import { ask, recordsIn, type ToolCommandValues, withTools } from '../tool-session.ts';
import { dialledIn } from './dialled-in.ts';

export interface ServersValues extends ToolCommandValues {
  readonly running?: boolean | undefined;
}

export async function servers(values: ServersValues, host: CliHost): Promise<number> {
  if (values.running === true) return (await import('./running-servers.ts')).listRunning(values, host);
  const answer = await withTools(values, host, (client) => ask(client, 'list_mcp_servers'));
  const list = recordsIn(answer.servers).toSorted(byName);
  const { dialledIn: connected, pendingApprovals } = await dialledIn(values, host);
  if (values.json === true) return printJson({ ...answer, pendingApprovals: pendingApprovals ?? null }, host);
  const rows = list.map((server) => [
    textOf(server.name),
    stateOf(server),
    toolCount(server),
    textOf(server.description),
  ]);
  const style = tableStyle(host, 1);
  const text = table(['SERVER', 'STATE', 'TOOLS', 'DESCRIPTION'], rows, style);
  host.stdout.write(list.length === 0 ? NO_SERVER : text);
  if (rows.some(([, state]) => state === 'failed')) host.stdout.write(WHY_FAILED);
  for (const note of [...unknownNotes(list), ...waitingNotes(connected), ...pendingNotes(pendingApprovals ?? null)])
    host.stdout.write(`${wrappedLines(`! ${note}`, style)}\n`);
  return DONE;
}

type Listed = Readonly<Record<string, unknown>>;

/** In the words of `mcp-bridge status`; agents are told whether they are connected. */
function stateOf({ status }: Listed): string {
  return status === 'connected' ? 'ready' : textOf(status);
}

const byName = (a: Listed, b: Listed): number => (textOf(a.name) < textOf(b.name) ? -1 : 1);

const MOST_NAMES = 5;

/** A look at the servers starts none, so of those that nobody has used nothing is known. */
function unknownNotes(list: readonly Listed[]): string[] {
  const names = list
    .filter(({ toolCount, status }) => toolCount === null && status !== 'failed')
    .map(({ name }) => textOf(name));
  if (names.length === 0) return [];
  const more = names.length - MOST_NAMES;
  const who = more > 0 ? `${names.slice(0, MOST_NAMES).join(', ')} and ${more} more` : names.join(', ');
  return [`Tools not known yet, as nobody has used them: ${who}. To have them asked now: mcp-bridge refresh`];
}

const WHY_FAILED = '! Why a server has failed: mcp-bridge status\n';

export const NO_SERVER =
  'The bridge has no server here. What was found, and why it is not used: mcp-bridge discover --all\n';

function toolCount({ toolCount, enabledCount }: Listed): string {
  if (typeof toolCount !== 'number') return '?';
  return toolCount === enabledCount ? `${toolCount}` : `${enabledCount} of ${toolCount}`;
}
