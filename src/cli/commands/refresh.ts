// `mcp-bridge refresh`: asks servers for their lists again, and shows what has changed.

import type { ServerRefresh } from '../../client/control-client.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { DONE, FAILED, lineFor } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { Spinner, waitingFor } from '../render/spinner.ts';
import { jsonText, printable, table } from '../render/table.ts';
import { widthOf } from '../render/terminal.ts';
import { type ToolCommandValues, withControl } from '../tool-session.ts';
import { NO_SERVER } from './servers.ts';

export interface RefreshValues extends ToolCommandValues {
  readonly servers?: readonly string[] | undefined;
}

/** The daemon has a limit per server; this covers as many servers as there may be. */
const TIMEOUT_MS = 30 * 60_000;

export async function refresh(values: RefreshValues, host: CliHost): Promise<number> {
  const { servers: wanted = [] } = values;
  const params = { cwd: host.cwd, servers: wanted };
  const { servers } = await withControl(values, host, (client) =>
    new Spinner(host).during(
      () => waitingFor(wanted) || 'Waiting for all servers',
      client.call('bridge/refresh', params, TIMEOUT_MS),
    ),
  );
  const failed = servers.filter(({ error }) => error !== null);
  if (values.json === true) host.stdout.write(jsonText({ servers }));
  else show(servers, host);
  // If all servers are refreshed, some may fail; a named server may not.
  const mostFailed = wanted.length > 0 ? 0 : Math.max(0, servers.length - 1);
  return failed.length > mostFailed ? FAILED : DONE;
}

function show(servers: readonly ServerRefresh[], host: CliHost): void {
  const answered = servers.filter(({ error }) => error === null);
  const rows = answered.map(({ server, tools, prompts, resources, templates }) => [
    server,
    ...[tools, prompts, resources, templates].map((count) => (count === null ? '?' : `${count}`)),
  ]);
  const head = ['SERVER', 'TOOLS', 'PROMPTS', 'RESOURCES', 'TEMPLATES'];
  if (servers.length === 0) host.stdout.write(NO_SERVER);
  if (rows.length > 0) host.stdout.write(table(head, rows, { width: widthOf(host) }));
  for (const line of answered.flatMap(changes)) host.stdout.write(`${printable(line)}\n`);
  for (const { server, error } of servers) {
    if (error === null) continue;
    const { message, hint } = error;
    host.stderr.write(lineFor(new BridgeError('SERVER_START_FAILED', message, { server, ...(hint && { hint }) })));
  }
}

function changes({ server, newTools, goneTools, changedTools }: ServerRefresh): string[] {
  return [
    ...newTools.map((tool) => `+ ${server}: ${tool}`),
    ...changedTools.map((tool) => `~ ${server}: ${tool}`),
    ...goneTools.map((tool) => `- ${server}: ${tool}`),
  ];
}
