// All servers in one table.

import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { bytes, count, duration, plural, rate, shortCount, span } from '../format.ts';
import { hostName, hostOf, hosts, whyUnreachable } from '../hosts.ts';
import { html, type Markup } from '../html.ts';
import { dot, Empty, Filter, Panel, Screen, Segments } from '../parts/elements.ts';
import { type Column, outcome, rowLink, Table } from '../parts/table.ts';
import { address } from '../route.ts';
import { type ServerRow, servers } from '../servers.ts';
import { text } from '../untrusted.ts';

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
      <${Filter} filter=${filter} hint="Filter by name" label="Filter servers" />
      <${Segments} kinds=${KINDS} chosen=${only} />
    </div>
    ${hosts.value === undefined ? null : html`<${OtherHosts} />`}
    <${Table} rows=${shown} columns=${hosts.value === undefined ? COLUMNS : WITH_HOSTS} keyOf=${keyOf} label="Servers"
      empty=${all.length === 0 ? html`<${Empty} title="The bridge has no server here" text="Servers of your clients are found by themselves. To add one for all clients:" command="mcp-bridge add NAME -- COMMAND" />` : html`<${Empty} title="No server fits this filter" />`} />
  </>`;
}

/** The other hosts: how far away each is, and what it offers. */
function OtherHosts(): Markup {
  const now = hosts.value;
  if (now === undefined) return null;
  const where = now.nats === null ? 'NATS is away' : html`NATS ${text(now.nats.version)} at ${text(now.nats.address)}`;
  return html`<${Panel} title="Other hosts" aside=${html`<span>this host is <b>${text(now.host)}</b>, ${where}</span>`}>
    ${now.faults.map((fault, i) => html`<p key=${i} class="panel-text bad">${text(fault, 400)}</p>`)}
    ${
      now.hosts.length === 0
        ? html`<p class="panel-text">No other host is there. On another one: the same section <code>federation</code>, and a name of its own.</p>`
        : html`<ul class="lines scroll hosts">${now.hosts.map((one) => {
            const unused = one.servers.length - one.used.length;
            return html`<li key=${one.host} class="line">${dot(one.latencyMs === null ? 'bad' : 'ok')}<b class="host-name">${text(one.host)}</b>
            <span class="line-main muted">offers ${text(one.used.join(', ') || 'nothing')}${unused > 0 ? `, and ${unused} not used here` : ''}</span>
            <span class="line-side">${one.latencyMs === null ? `no answer, seen ${span(one.seenMs)} ago` : duration(one.latencyMs)}</span></li>`;
          })}</ul>`
    }
  </>`;
}

const keyOf = ({ name }: ServerRow): string => name;

function matches(row: ServerRow): boolean {
  if (only.value === 'running' && row.running === 0) return false;
  if (only.value === 'trouble' && row.tone !== 'bad') return false;
  return row.name.toLowerCase().includes(filter.value.trim().toLowerCase());
}

/** Sorts by calls in a stable way, so that rows do not jump every second. */
function byActivity(a: ServerRow, b: ServerRow): number {
  return Number(b.running > 0) - Number(a.running > 0) || (a.name < b.name ? -1 : 1);
}

const COLUMNS: readonly Column<ServerRow>[] = [
  {
    title: 'Server',
    width: 'minmax(140px, 1.6fr)',
    sort: ({ name }) => name,
    cell: ({ name, tone, alsoAs }) =>
      html`${rowLink(address('servers', name), tone, name)}${alsoAs === undefined ? null : html` <span class="muted">also as ${text(alsoAs)}</span>`}`,
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
    title: 'Memory',
    width: '76px',
    isNumber: true,
    isExtra: true,
    sort: ({ residentBytes }) => residentBytes,
    cell: ({ residentBytes }) => (residentBytes === 0 ? zero() : bytes(residentBytes)),
  },
  {
    title: 'Restarts',
    width: '72px',
    isNumber: true,
    isExtra: true,
    sort: ({ restarts }) => restarts,
    cell: ({ restarts }) => (restarts === 0 ? zero() : count(restarts)),
  },
];

/** The columns with the host, if there are other hosts. */
const WITH_HOSTS: readonly Column<ServerRow>[] = COLUMNS.toSpliced(1, 0, {
  title: 'Runs on',
  width: 'minmax(70px, 0.8fr)',
  isExtra: true,
  sort: ({ name }) => hostName(hostOf(name)),
  cell: ({ name }) => {
    const host = hostOf(name);
    if (host === undefined) return html`<span class="faint">this host</span>`;
    const why = whyUnreachable(host);
    return html`<span class=${why === '' ? 'clip' : 'clip bad'} title=${why}>${text(hostName(host))}</span>`;
  },
});

function zero(): Markup {
  return html`<span class="zero">–</span>`;
}
