// The table of definitions that were found: usable ones first, then those that wait for something.

import type { DiscoveredServer, ServerState } from '../../discovery/discovered-server.ts';
import { decidedBefore, type Survey } from '../../discovery/survey.ts';
import type { CliHost } from '../host.ts';
import { coloursOf } from './colour.ts';
import { table } from './table.ts';
import { tilde, widthOf, wrappedLines } from './terminal.ts';

const ORDER: readonly ServerState[] = [
  ...(['ready', 'needs-input', 'pending-approval', 'not-configured', 'invalid', 'unsupported'] as const),
  ...(['blocked-by-policy', 'rejected', 'disabled', 'self', 'duplicate', 'shadowed'] as const),
];
const USUAL = new Set<ServerState>(['ready', 'needs-input', 'pending-approval', 'invalid', 'blocked-by-policy']);
const HEAD = ['NAME', 'STATE', 'TRANSPORT', 'FROM', 'WHY'];

/** True for states that are always shown. */
export function isUsual({ state }: DiscoveredServer): boolean {
  return USUAL.has(state);
}

export function byUse(a: DiscoveredServer, b: DiscoveredServer): number {
  return ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || (a.id < b.id ? -1 : 1);
}

/** The number of definitions in each state. */
export function countsOf(servers: readonly DiscoveredServer[]): string {
  return ORDER.map((state) => [state, servers.filter((server) => server.state === state).length] as const)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => (state === 'self' ? ownEntries(count) : `${count} ${state}`))
    .join(', ');
}

function ownEntries(count: number): string {
  return count === 1 ? '1 entry of the bridge itself' : `${count} entries of the bridge itself`;
}

export function discoveryTable(servers: readonly DiscoveredServer[], found: Survey, host: CliHost): string {
  const rows = servers
    .toSorted(byUse)
    .map((server) => [
      server.id,
      found.missing.has(server) ? 'missing' : server.state,
      server.transport === 'unknown' ? '-' : server.transport,
      `${server.client} ${tilde(server.file, host)}`,
      whyOf(server, found, host),
    ]);
  const colours = coloursOf(host);
  const style = { width: widthOf(host), ...(colours && { paint: { column: 1, with: colours.state } }) };
  const width = style.width ?? Number.POSITIVE_INFINITY;
  const fitting = withRoom(rows, width);
  if (widthWith(fitting, HEAD.length) <= width) return table(HEAD, fitting, style);
  const lines = table(HEAD.slice(0, WHY), withRoom(withoutWhy(rows), width), style);
  const whys = rows.filter((row) => row[WHY] !== '').map((row) => `! ${row[0]}: ${row[WHY]}`);
  return lines + whys.map((why) => `${wrappedLines(why, style)}\n`).join('');
}

function whyOf(server: DiscoveredServer, found: Survey, host: CliHost): string {
  const { state, reason, sources, client } = server;
  if (state === 'pending-approval') return sinceWhen(decidedBefore(server, found));
  const lacking = found.missing.get(server);
  if (lacking !== undefined) return tilde(lacking, host);
  if (state !== 'ready') return tilde(reason ?? '', host);
  const others = [...new Set(sources.map((source) => source.client))].filter((other) => other !== client);
  return others.length === 0 ? '' : `also in ${others.join(', ')}`;
}

function sinceWhen(before: ReturnType<typeof decidedBefore>): string {
  if (before === undefined) return 'came with the project, not approved yet';
  return `changed since ${before.words}`;
}

const FROM = 3;
const WHY = 4;
const GAP = 2;
/** The minimum width of a path; its end says most. */
const LEAST_FROM = 24;

const withoutWhy = (rows: readonly (readonly string[])[]): string[][] => rows.map((row) => [...row.slice(0, WHY), '']);

/** The width of the table's first columns. */
function widthWith(rows: readonly (readonly string[])[], columns: number): number {
  const widest = (column: number): number => Math.max(...[HEAD, ...rows].map((row) => row[column]?.length ?? 0));
  return HEAD.slice(0, columns).reduce((sum, _, column) => sum + widest(column) + (column === 0 ? 0 : GAP), 0);
}

/** The rows with paths as short as necessary, but still readable. */
function withRoom(rows: readonly (readonly string[])[], width: number): readonly (readonly string[])[] {
  const others = widthWith(
    rows.map((row) => row.with(FROM, '')),
    rows.every((row) => row[WHY] === '') ? WHY : HEAD.length,
  );
  const most = Math.max(LEAST_FROM, width - others + (HEAD[FROM]?.length ?? 0));
  return rows.map((row) => row.with(FROM, shortened(row[FROM] ?? '', most)));
}

function shortened(from: string, most: number): string {
  if (from.length <= most) return from;
  const [client = ''] = from.split(' ');
  const rest = Math.max(8, most - client.length - 2);
  return `${client} …${from.slice(-rest)}`;
}
