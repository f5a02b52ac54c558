// `hosts`: lists the other hosts, their offers, their distance, and faults. It asks only the daemon.

import type { FederationReport, HostReport, LeaseReport } from '../../model/federation-report.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { counted, duration, printable, printJson, type TableStyle, table } from '../render/table.ts';
import { tableStyle, wrappedLines } from '../render/terminal.ts';
import { ask, type ListingValues } from './daemon-commands.ts';
import { capital } from './doctor-hosts.ts';

const NONE = '-';
/** The values of a config that says nothing of user and tenant. */
const NO_USER = '_';
const NO_TENANT = 'default';
const WIDEST = 'This host'.length;
/** More notes of one kind are counted. */
const MOST_NOTES = 5;
const NO_OTHER =
  'No other host is there. Give a daemon there a section federation with the same tenant: docs/federation.md';
const NONE_KNOWN = 'No other host is known';
const NO_HOSTS = 'This daemon meets no other hosts: its config has no section federation (docs/federation.md)\n';

interface HostsValues extends ListingValues {
  readonly 'make-buckets'?: boolean | undefined;
}
const FAULTY = 'This daemon meets no other hosts: the section federation of its config has a fault';

export async function hosts(values: HostsValues, host: CliHost): Promise<number> {
  if (values['make-buckets'] === true) return (await import('./make-buckets.ts')).makeBuckets(values, host);
  const report = await ask(values, host, 'bridge/hosts');
  if (values.json === true) return printJson(report, host);
  host.stdout.write(report === null ? NO_HOSTS : hostsText(report, tableStyle(host, 0)));
  return DONE;
}

/** The report in the words and lines that people get. */
export function hostsText(report: FederationReport, style: TableStyle): string {
  const { faults, hosts: others, leases } = report;
  const noted = (lines: readonly string[]): string =>
    lines.map((line) => `${wrappedLines(`! ${line}`, style)}\n`).join('');
  if (report.host === '') return `${FAULTY}\n${noted(faults)}`; // each begins with the name of a setting
  const notes = noted([...faults.map(capital), ...someOf(unreachableIn(report)), ...someOf(unservedIn(leases))]);
  const none = faults.length === 0 ? NO_OTHER : NONE_KNOWN;
  if (others.length === 0) return `${ownText(report)}${notes}\n${wrappedLines(none, { ...style, indent: '' })}\n`;
  const rows = others.toSorted((a, b) => (a.host < b.host ? -1 : 1)).map(rowOf);
  const head = ['HOST', 'LATENCY', 'SEEN', 'CALLS', 'VERSION', 'SERVERS'];
  return `${ownText(report)}${notes}\n${table(head, rows, style)}${servedText(leases, style)}`;
}

/** Describes this host, in aligned lines. */
function ownText({ host, tenant, user, nats, offered, callsOfOthers }: FederationReport): string {
  const who = [...(user === NO_USER ? [] : [`user ${user}`]), ...(tenant === NO_TENANT ? [] : [`tenant ${tenant}`])];
  const lines = [
    ['This host', `${host}${who.length === 0 ? '' : ` (${who.join(', ')})`}`],
    ['NATS', nats === null ? 'away' : `${nats.address}, version ${nats.version}`],
    ['Offers', listed(offered)],
    ...(callsOfOthers === 0 ? [] : [['Works on', `${counted(callsOfOthers, 'call')} of other hosts`]]),
  ];
  return lines.map(([name = '', text = '']) => `${name.padEnd(WIDEST)}  ${printable(text)}\n`).join('');
}

/** Hosts that cannot be reached, where NATS can. */
function unreachableIn({ hosts: others, nats }: FederationReport): string[] {
  if (nats === null) return [];
  return others.flatMap(({ host, unreachable }) =>
    unreachable === null ? [] : `${host} cannot be reached: ${unreachable}`,
  );
}

function unservedIn(leases: readonly LeaseReport[]): string[] {
  return leases.flatMap(({ server, host }) =>
    host === null
      ? `${server} remembers, and nobody serves it: one of the hosts that offer it takes over within 30 s`
      : [],
  );
}

/** The first lines of many, and the number of the others. */
function someOf(lines: readonly string[]): string[] {
  if (lines.length <= MOST_NOTES) return [...lines];
  return [
    ...lines.slice(0, MOST_NOTES),
    `the same holds for ${lines.length - MOST_NOTES} more: mcp-bridge hosts --json`,
  ];
}

/** The hosts that serve what remembers something. */
function servedText(leases: readonly LeaseReport[], style: TableStyle): string {
  const rows = leases.flatMap(({ server, host }) => (host === null ? [] : [[server, host]]));
  return rows.length === 0 ? '' : `\n${table(['REMEMBERS', 'BY ITS NAME ALONE SERVED BY'], rows, style)}`;
}

function rowOf({ host, version, latencyMs, seenMs, calls, servers, used, unreachable }: HostReport): string[] {
  const unused = unreachable === null ? servers.filter((name) => !used.includes(name)) : [];
  const notUsed = unused.length === 0 ? '' : ` (not used here: ${unused.join(', ')})`;
  const latency = latencyMs === null ? 'no answer' : `${latencyMs} ms`;
  return [host, latency, `${duration(seenMs)} ago`, `${calls}`, version || NONE, `${listed(used)}${notUsed}`];
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.join(', ');
}
