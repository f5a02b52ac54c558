// One snapshot of `status --watch`: the daemon, its servers and its clients.

import type { ClientReport, StatusReport } from '../../client/control-client.ts';
import { answersIn } from '../../model/server-latency.ts';
import { quantile, shownMs, since } from './latency.ts';
import { notesOf, shownState } from './status-view.ts';
import { duration, oneLine, printable, type TableStyle, table } from './table.ts';

export interface Moment {
  readonly atMs: number;
  readonly status: StatusReport;
  readonly clients: readonly ClientReport[];
  /** Bytes by pid of the instances; empty if unknown. */
  readonly memory: ReadonlyMap<number, number>;
}

/** Earlier snapshots: rates use the last one, latencies an older one, because calls are rare. */
export interface Earlier {
  readonly last: Moment | undefined;
  readonly first: Moment | undefined;
}

export interface WatchStyle {
  readonly servers?: TableStyle;
  readonly clients?: TableStyle;
}

export function momentLines(now: Moment, earlier: Earlier, style: WatchStyle = {}): string[] {
  const { pid, version, socketPath, uptimeMs, clients, parked, memory, counters } = now.status;
  const away = parked > 0 ? ` (${parked} of them away)` : '';
  const requests = rate(counters.requests ?? 0, earlier.last?.status.counters.requests, now, earlier.last);
  const lines = [
    printable(`mcp-bridge ${version} at ${socketPath}, pid ${pid}, up ${duration(uptimeMs)}`),
    `clients: ${clients}${away}   requests: ${requests}   memory: ${shownBytes(memory.residentBytes)}`,
    '',
    ...serverLines(now, earlier, style.servers),
  ];
  if (now.clients.length > 0) lines.push('', ...clientLines(now.clients, style.clients));
  return [...lines, ...notesOf(now.status).map((note) => oneLine(`! ${note}`))];
}

function serverLines(now: Moment, { last, first }: Earlier, style: TableStyle | undefined): string[] {
  const { latencies, latencyBoundsMs } = now.status;
  const instances = busiestFirst(now, last);
  const rows = instances.map((instance, i) => {
    // Latencies cover all instances, so only the first one shows them.
    const isFirst = instances.findIndex(({ server }) => server === instance.server) === i;
    const latency = latencies.find(({ server }) => server === instance.server);
    const latest = latency && since(latencyIn(first, instance.server), latency);
    const bytes = now.memory.get(instance.pid ?? -1);
    const answers = latency && rate(answersIn(latency), answersBefore(last, instance.server), now, last);
    const share = (of: number): string => (isFirst && latest ? shownMs(quantile(of, latest, latencyBoundsMs)) : '');
    return [
      instance.server,
      shownState(instance),
      `${instance.pid ?? '-'}`,
      `${instance.sessions}`,
      `${instance.calls}`,
      isFirst ? (answers ?? '-') : '',
      `${instance.inFlight}`,
      share(0.5),
      share(0.99),
      bytes === undefined ? '-' : shownBytes(bytes),
    ];
  });
  const head = ['SERVER', 'STATE', 'PID', 'SESSIONS', 'CALLS', 'RATE', 'IN FLIGHT', 'P50', 'P99', 'MEMORY'];
  return table(head, rows, style).trimEnd().split('\n');
}

/** Sorts by answers since the last look, then by calls under way, then by all calls. */
function busiestFirst({ status }: Moment, last: Moment | undefined): StatusReport['instances'] {
  const work = new Map<string, readonly number[]>();
  for (const { server } of status.instances) {
    const own = status.instances.filter((one) => one.server === server);
    const latency = status.latencies.find((one) => one.server === server);
    const recent = latency === undefined ? 0 : answersIn(latency) - (answersBefore(last, server) ?? answersIn(latency));
    const sumOf = (each: (one: (typeof own)[number]) => number): number => own.reduce((sum, one) => sum + each(one), 0);
    work.set(server, [recent, sumOf(({ inFlight }) => inFlight), sumOf(({ calls }) => calls)]);
  }
  return status.instances.toSorted((a, b) => {
    const [ofA = [], ofB = []] = [work.get(a.server), work.get(b.server)];
    const differing = ofA.findIndex((count, i) => count !== ofB[i]);
    return differing < 0 ? byName(a.server, b.server) : (ofB[differing] ?? 0) - (ofA[differing] ?? 0);
  });
}

const byName = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

const latencyIn = (moment: Moment | undefined, name: string) =>
  moment?.status.latencies.find(({ server }) => server === name);

function answersBefore(moment: Moment | undefined, name: string): number | undefined {
  const latency = latencyIn(moment, name);
  return latency === undefined ? moment && 0 : answersIn(latency);
}

function clientLines(clients: readonly ClientReport[], style: TableStyle | undefined): string[] {
  const busiest = clients.toSorted((a, b) => b.inFlight - a.inFlight || byName(a.clientId, b.clientId));
  const rows = busiest.map((client) => [
    client.clientId,
    `${client.name} ${client.version}`.trim(),
    client.view,
    client.state,
    `${client.inFlight}`,
  ]);
  return table(['CLIENT', 'PROGRAM', 'VIEW', 'STATE', 'IN FLIGHT'], rows, style).trimEnd().split('\n');
}

/** The rate per second since the last look. */
function rate(count: number, before: number | undefined, now: Moment, last: Moment | undefined): string {
  if (before === undefined || last === undefined || now.atMs <= last.atMs) return '-';
  const each = ((count - before) * 1000) / (now.atMs - last.atMs);
  return `${each >= 10 || each === 0 ? Math.round(each) : each.toFixed(1)}/s`;
}

function shownBytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(bytes < 10 * 1024 * 1024 ? 1 : 0)} MB`;
}
