// `mcp-bridge metrics`: prints the running daemon's counters for Prometheus. It starts nothing: a missing daemon is a
// metric too.

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
