// All servers in one table.

import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { bytes, count, duration, plural, rate, shortCount } from '../format.ts';
import { html, type Markup } from '../html.ts';
import { Empty, Screen, Segments } from '../parts/elements.ts';
import { type Column, outcome, rowLink, Table } from '../parts/table.ts';
import { address } from '../route.ts';
import { type ServerRow, servers } from '../servers.ts';

const filter = signal('');
const only = signal<'all' | 'running' | 'trouble'>('all');

const KINDS = [
  ['all', 'All'],
  ['running', 'Running'],
  ['trouble', 'In trouble'],
] as const;

export function Servers(): Markup {
  const all = servers.value;
  const running = all.filter((row) => row.running > 0).length;
  const shown = useMemo(() => all.filter(matches).toSorted(byActivity), [all, filter.value, only.value]);
  return html`<${Screen} title="Servers" note=${`${plural(all.length, 'server')} · ${count(running)} running`} fills>
    <div class="toolbar">
      <input type="search" class="search" data-filter placeholder="Filter by name" aria-label="Filter servers" value=${filter.value} onInput=${(
        event: Event,
      ) => {
        filter.value = (event.target as HTMLInputElement).value;
      }} />
      <${Segments} kinds=${KINDS} chosen=${only} />
    </div>
    <${Table} rows=${shown} columns=${COLUMNS} keyOf=${keyOf} label="Servers"
      empty=${all.length === 0 ? html`<${Empty} title="The bridge has no server here" text="Servers of your clients are found by themselves. To add one for all clients:" command="mcp-bridge add NAME -- COMMAND" />` : html`<${Empty} title="No server fits this filter" />`} />
  </>`;
}

const keyOf = ({ name }: ServerRow): string => name;

function matches(row: ServerRow): boolean {
  if (only.value === 'running' && row.running === 0) return false;
  if (only.value === 'trouble' && row.tone !== 'bad') return false;
  return row.name.toLowerCase().includes(filter.value.trim().toLowerCase());
}

/** Steady: what is called most does not jump about with each second. */
function byActivity(a: ServerRow, b: ServerRow): number {
  return Number(b.running > 0) - Number(a.running > 0) || (a.name < b.name ? -1 : 1);
}

const COLUMNS: readonly Column<ServerRow>[] = [
  {
    title: 'Server',
    width: 'minmax(140px, 1.6fr)',
    sort: ({ name }) => name,
    cell: ({ name, tone }) => rowLink(address('servers', name), tone, name),
  },
  {
    title: 'State',
    width: '72px',
    sort: ({ state }) => state,
    cell: ({ state, tone }) => outcome(tone, state),
  },
  {
    title: 'Instances',
    width: '82px',
    isNumber: true,
    isExtra: true,
    sort: ({ running }) => running,
    cell: ({ running }) => (running === 0 ? zero() : count(running)),
  },
  {
    title: 'Clients',
    width: '64px',
    isNumber: true,
    sort: ({ sessions }) => sessions,
    cell: ({ sessions }) => (sessions === 0 ? zero() : count(sessions)),
  },
  {
    title: 'Calls',
    isExtra: true,
    width: '64px',
    isNumber: true,
    sort: ({ calls }) => calls,
    cell: ({ calls }) => (calls === 0 ? zero() : shortCount(calls)),
  },
  {
    title: 'A second',
    width: '72px',
    isNumber: true,
    isExtra: true,
    sort: ({ perSecond }) => perSecond,
    cell: ({ perSecond }) => (perSecond === 0 ? zero() : rate(perSecond)),
  },
  {
    title: 'In flight',
    width: '68px',
    isNumber: true,
    isExtra: true,
    sort: ({ inFlight }) => inFlight,
    cell: ({ inFlight }) => (inFlight === 0 ? zero() : count(inFlight)),
  },
  {
    title: 'p50',
    width: '70px',
    isNumber: true,
    isExtra: true,
    sort: ({ p50 }) => p50 ?? -1,
    cell: ({ p50 }) => duration(p50),
  },
  {
    title: 'p95',
    width: '70px',
    isNumber: true,
    isExtra: true,
    sort: ({ p95 }) => p95 ?? -1,
    cell: ({ p95 }) => duration(p95),
  },
  {
    title: 'Errors',
    width: '60px',
    isNumber: true,
    isExtra: true,
    sort: ({ errors }) => errors,
    cell: ({ errors }) => (errors === 0 ? zero() : html`<span class="bad">${shortCount(errors)}</span>`),
  },
  {
    title: 'Restarts',
    width: '72px',
    isNumber: true,
    isExtra: true,
    sort: ({ restarts }) => restarts,
    cell: ({ restarts }) => (restarts === 0 ? zero() : count(restarts)),
  },
  {
    title: 'Memory',
    width: '76px',
    isNumber: true,
    isExtra: true,
    sort: ({ residentBytes }) => residentBytes,
    cell: ({ residentBytes }) => (residentBytes === 0 ? zero() : bytes(residentBytes)),
  },
];

function zero(): Markup {
  return html`<span class="zero">–</span>`;
}
