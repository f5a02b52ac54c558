// `hosts`: lists the other hosts, their offers, their distance, and faults. It asks only the daemon.

import type { FederationReport, HostReport, LeaseReport } from '../../model/federation-report.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';

import { counted, duration, printable, printJson, table } from '../render/table.ts';
import { tableStyle } from '../render/terminal.ts';
import { ask, type ListingValues } from './daemon-commands.ts';

const NONE = '-';
const NO_HOSTS = 'This daemon meets no other hosts: its config has no section federation (docs/federation.md)\n';

interface HostsValues extends ListingValues {
  readonly 'make-buckets'?: boolean | undefined;
}
const FAULTY = 'This daemon meets no other hosts: the section federation of its config has a fault';

export async function hosts(values: HostsValues, host: CliHost): Promise<number> {
  if (values['make-buckets'] === true) return (await import('./make-buckets.ts')).makeBuckets(values, host);
  const report = await ask(values, host, 'bridge/hosts');
  if (values.json === true) return printJson(report, host);
  host.stdout.write(report === null ? NO_HOSTS : hostsText(report, host));
  return DONE;
}

function hostsText(report: FederationReport, host: CliHost): string {
  const { nats, faults, hosts: others, leases } = report;
  if (report.host === '') return `${[FAULTY, ...faults.map((fault) => `! ${printable(fault)}`)].join('\n')}\n`;
  const where = nats === null ? 'NATS is away' : `NATS ${nats.version} at ${nats.address}`;
  const own = `${report.host} (${report.user} of ${report.tenant}), ${where}; offers ${listed(report.offered)}`;
  const lines = [printable(own), ...faults.map((fault) => `! ${printable(fault)}`), ...leases.map(leaseLine)];
  if (others.length === 0) return `${[...lines, 'No other host is there'].join('\n')}\n`;
  const rows = others.toSorted((a, b) => (a.host < b.host ? -1 : 1)).map(rowOf);
  const head = ['HOST', 'VERSION', 'LATENCY', 'SEEN', 'CALLS', 'SERVERS'];
  const told = others.flatMap(({ host: name, unreachable }) =>
    unreachable === null || nats === null ? [] : `! ${printable(`${name} cannot be reached: ${unreachable}`)}`,
  );
  const before = [...lines, ...told].join('\n');
  return `${before}\n${counted(others.length, 'other host')}\n\n${table(head, rows, tableStyle(host, 0))}`;
}

function leaseLine({ server, host }: LeaseReport): string {
  if (host !== null) return printable(`${server} remembers: by its name alone it is served by ${host}`);
  return printable(
    `! ${server} remembers, and nobody serves it: one of the hosts that offer it takes over within 30 s`,
  );
}

function rowOf({ host, version, latencyMs, seenMs, calls, servers, used, unreachable }: HostReport): string[] {
  const unused = unreachable === null ? servers.filter((name) => !used.includes(name)) : [];
  const notUsed = unused.length === 0 ? '' : ` (not used here: ${unused.join(', ')})`;
  const latency = latencyMs === null ? 'no answer' : `${latencyMs} ms`;
  return [host, version || NONE, latency, `${duration(seenMs)} ago`, `${calls}`, `${listed(used)}${notUsed}`];
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.join(', ');
}
