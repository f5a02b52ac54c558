// The three lists of `top` as rows of cells: servers, clients and calls. Each cell has its text and its sort key. All
// texts come from outside.

import type { ClientReport } from '../../client/control-client.ts';
import { answersIn } from '../../model/server-latency.ts';
import type { ShownCall } from '../followed-calls.ts';
import { quantile, shownMs, since } from './latency.ts';
import { shownState } from './status-view.ts';
import { printable } from './table.ts';
import type { Earlier, Moment } from './watch-view.ts';

export interface TopColumn {
  readonly title: string;
  /** Undefined for the one column that takes the remaining width. */
  readonly width?: number;
  /** True for numbers, which are aligned right. */
  readonly isNumber?: boolean;
}

interface TopCell {
  readonly text: string;
  readonly by: number | string;
}

export type TopRow = readonly TopCell[];

export interface TopList {
  readonly columns: readonly TopColumn[];
  readonly rows: readonly TopRow[];
}

const text = (shown: string): TopCell => ({ text: printable(shown), by: shown.toLowerCase() });
const number = (value: number | undefined, shown: (value: number) => string): TopCell =>
  value === undefined ? { text: '-', by: -1 } : { text: shown(value), by: value };
const count = (value: number): TopCell => number(value, String);

const SERVERS: readonly TopColumn[] = [
  { title: 'SERVER' },
  { title: 'STATE', width: 8 },
  { title: 'CLI', width: 3, isNumber: true },
  { title: 'CALLS', width: 7, isNumber: true },
  { title: 'RATE', width: 6, isNumber: true },
  { title: 'OPEN', width: 4, isNumber: true },
  { title: 'P50', width: 7, isNumber: true },
  { title: 'P99', width: 7, isNumber: true },
  { title: 'MEMORY', width: 6, isNumber: true },
];

/** The servers; rates and times cover all instances of a server. */
export function serverList(now: Moment, { last, first }: Earlier): TopList {
  const { instances, latencies, latencyBoundsMs } = now.status;
  const rows = instances.map((instance) => {
    const of = (moment: Moment | undefined) =>
      moment?.status.latencies.find(({ server }) => server === instance.server);
    const latency = latencies.find(({ server }) => server === instance.server);
    const recent = latency && since(of(first), latency);
    const before = last === undefined ? undefined : (answeredOf(of(last)) ?? 0);
    const rate = latency && before !== undefined ? perSecond(answersIn(latency) - before, now, last) : undefined;
    const share = (part: number): TopCell => {
      const ms = recent === undefined ? undefined : quantile(part, recent, latencyBoundsMs);
      return ms === undefined ? number(undefined, String) : { text: shownMs(ms), by: ms };
    };
    return [
      text(instance.server),
      text(shownState(instance)),
      count(instance.sessions),
      count(instance.calls),
      number(rate, shownRate),
      count(instance.inFlight),
      share(0.5),
      share(0.99),
      number(now.memory.get(instance.pid ?? -1), shownMemory),
    ];
  });
  return { columns: SERVERS, rows };
}

const answeredOf = (latency: Moment['status']['latencies'][number] | undefined): number | undefined =>
  latency === undefined ? undefined : answersIn(latency);

/** The rate per second since the last look. */
export function perSecond(times: number, now: Moment, last: Moment | undefined): number | undefined {
  if (last === undefined || now.atMs <= last.atMs) return undefined;
  return (times * 1000) / (now.atMs - last.atMs);
}

export function shownRate(rate: number): string {
  if (rate >= 10_000) return `${Math.round(rate / 1000)}k/s`;
  return `${rate >= 10 || rate === 0 ? Math.round(rate) : rate.toFixed(1)}/s`;
}

export function shownMemory(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MB`;
}

const CLIENTS: readonly TopColumn[] = [
  { title: 'CLIENT', width: 20 },
  { title: 'PROGRAM' },
  { title: 'VIEW', width: 17 },
  { title: 'STATE', width: 8 },
  { title: 'OPEN', width: 5, isNumber: true },
];

export function clientList(clients: readonly ClientReport[]): TopList {
  const rows = clients.map(({ clientId, name, version, view, state, inFlight }) => [
    ...[text(clientId), text(`${name} ${version}`.trim()), text(view), text(state), count(inFlight)],
  ]);
  return { columns: CLIENTS, rows };
}

const CALLS: readonly TopColumn[] = [
  { title: 'BEGUN', width: 8 },
  { title: 'CLIENT', width: 12 },
  { title: 'SERVER', width: 11 },
  { title: 'TOOL' },
  { title: 'STATE', width: 10 },
  { title: 'TIME', width: 7, isNumber: true },
  { title: 'WAITED', width: 7, isNumber: true },
];

export function callList(calls: readonly ShownCall[], dateMs: number): TopList {
  const rows = calls.map(({ begunAt, client, server, tool, state, totalMs, waitedMs }) => {
    const tookMs = totalMs ?? Math.max(0, dateMs - begunAt);
    return [
      { text: new Date(begunAt).toTimeString().slice(0, 8), by: begunAt },
      text(client),
      text(server ?? '-'),
      text(tool ?? '-'),
      text(state),
      number(tookMs, shownTime),
      number(waitedMs, shownTime),
    ];
  });
  return { columns: CALLS, rows };
}

/** A time in at most seven characters. */
export function shownTime(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 100_000) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 6_000_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}
