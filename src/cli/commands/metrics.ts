// `mcp-bridge metrics`: what the running daemon has counted, as Prometheus reads it. It starts nothing: that no daemon runs
// is a figure too.

import { metricsText } from '../../control/metrics-text.ts';
import { residentBytesOfGroups } from '../../local/process-table.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { locate, type WhereValues } from '../locate.ts';
import { askIfRunning } from '../running-daemon.ts';

export async function metrics(values: WhereValues, host: CliHost): Promise<number> {
  const { path } = await locate(values, host);
  const report = await askIfRunning(path, host, (client) => client.call('bridge/status'));
  const memory = residentBytesOfGroups(new Set(report?.instances.flatMap(({ pid }) => pid ?? [])));
  host.stdout.write(metricsText(report, memory));
  return DONE;
}
