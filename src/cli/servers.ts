// `mcp-bridge servers`: the servers that the bridge offers here, and how many tools they have.

import { textOf } from '../util/json-value.ts';
import { dialledIn } from './dialled-in.ts';
import { DONE } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { printJson } from './json-output.ts';
import { pendingNotes, waitingNotes } from './status-view.ts';
import { printableLines, table } from './table.ts';
import { widthOf } from './terminal.ts';
import { ask, recordsIn, type ToolVerbValues, withTools } from './tool-session.ts';

export interface ServersValues extends ToolVerbValues {
  readonly running?: boolean | undefined;
}

export async function servers(values: ServersValues, host: CliHost): Promise<number> {
  if (values.running === true) return (await import('./running-servers.ts')).listRunning(values, host);
  const answer = await withTools(values, host, (client) => ask(client, 'list_mcp_servers'));
  const { dialledIn: connected, pendingApprovals = null } = await dialledIn(values, host);
  if (values.json === true) return printJson({ ...answer, pendingApprovals }, host);
  const list = recordsIn(answer.servers);
  const rows = list.map((server) => [
    textOf(server.name),
    textOf(server.status),
    toolCount(server),
    textOf(server.description),
  ]);
  const text = table(['SERVER', 'STATUS', 'TOOLS', 'DESCRIPTION'], rows, { width: widthOf(host) });
  host.stdout.write(list.length === 0 ? NO_SERVER : text);
  if (list.some(({ status }) => status === 'failed')) host.stdout.write(WHY_FAILED);
  for (const note of [...waitingNotes(connected), ...pendingNotes(pendingApprovals)])
    host.stdout.write(`! ${printableLines(note)}\n`);
  return DONE;
}

const WHY_FAILED = '! Why a server has failed: mcp-bridge status\n';

export const NO_SERVER =
  'The bridge has no server here. What was found, and why it is not used: mcp-bridge discover --all\n';

function toolCount({ toolCount, enabledCount }: Readonly<Record<string, unknown>>): string {
  if (typeof toolCount !== 'number') return '?';
  return toolCount === enabledCount ? `${toolCount}` : `${enabledCount} of ${toolCount}`;
}
