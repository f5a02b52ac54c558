// The table of what was found: what can be used first, then what waits for something.

import type { DiscoveredServer, ServerState } from '../discovery/discovered-server.ts';
import { coloursOf } from './colour.ts';
import type { CliHost } from './host.ts';
import { decidedBefore, type Survey } from './survey.ts';
import { table } from './table.ts';
import { tilde, widthOf } from './terminal.ts';

const ORDER: readonly ServerState[] = [
  ...(['ready', 'needs-input', 'pending-approval', 'not-configured', 'invalid', 'unsupported'] as const),
  ...(['blocked-by-policy', 'rejected', 'disabled', 'self', 'duplicate', 'shadowed'] as const),
];
const USUAL = new Set<ServerState>(['ready', 'needs-input', 'pending-approval', 'invalid', 'blocked-by-policy']);
const HEAD = ['NAME', 'STATE', 'TRANSPORT', 'FROM', 'WHY'];

/** Whether it is shown without being asked for. */
export function isUsual({ state }: DiscoveredServer): boolean {
  return USUAL.has(state);
}

export function byUse(a: DiscoveredServer, b: DiscoveredServer): number {
  return ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || (a.id < b.id ? -1 : 1);
}

/** How many there are in each state. */
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
  const width = widthOf(host);
  const fitting = width === undefined ? rows : withRoom(rows, width);
  return table(HEAD, fitting, { width, ...(colours && { paint: { column: 1, with: colours.state } }) });
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
/** Of a reason so much should be seen, and of a file. */
const LEAST_WHY = 40;
const LEAST_FROM = 24;

/** Where a line is too long for a terminal, paths give way before reasons do: the end of a path says most. */
function withRoom(rows: readonly (readonly string[])[], width: number): readonly (readonly string[])[] {
  const widest = (column: number): number => Math.max(...rows.map((row) => row[column]?.length ?? 0));
  const taken = [0, 1, 2].reduce((sum, column) => sum + Math.max(widest(column), HEAD[column]?.length ?? 0) + GAP, 0);
  const most = Math.max(LEAST_FROM, width - taken - GAP - Math.min(LEAST_WHY, widest(WHY)));
  return rows.map((row) => row.with(FROM, shortened(row[FROM] ?? '', most)));
}

function shortened(from: string, most: number): string {
  if (from.length <= most) return from;
  const [client = ''] = from.split(' ');
  const rest = Math.max(8, most - client.length - 2);
  return `${client} …${from.slice(-rest)}`;
}
