// One server: its instances and why there are several, its answer times, its tools with forms to try them, its stderr.

import { useMemo, useState } from 'preact/hooks';
import { ask } from '../connection.ts';
import { membersOf, recordsOf, textOf, textsOf } from '../data.ts';
import { bytes, count, duration, plural, shortCount } from '../format.ts';
import { hostName, hostOf, whyUnreachable } from '../hosts.ts';
import { html, type Markup } from '../html.ts';
import { quantile } from '../latency.ts';
import { useAsked } from '../parts/asked.ts';
import { Histogram } from '../parts/chart.ts';
import { Action, Command, dot, Empty, Facts, Failure, Panel, Screen, Stat, Tabs } from '../parts/elements.ts';
import { address, go, route } from '../route.ts';
import { type ServerRow, servers, toneOf } from '../servers.ts';
import { memory, status } from '../state.ts';
import { Block, text } from '../untrusted.ts';
import { CallsOf } from './calls.ts';
import { ToolList } from './tool.ts';

const TABS = [
  ['instances', 'Instances'],
  ['tools', 'Tools'],
  ['calls', 'Calls'],
  ['stderr', 'Stderr'],
] as const;

export function Server(): Markup {
  const [name = '', tab = 'instances'] = route.value.rest;
  const row = servers.value.find((one) => one.name === name);
  const back = html`<a class="back" href=${address('servers')}>Servers</a>`;
  if (row === undefined)
    return html`<${Screen} title=${text(name)} back=${back}><${Empty} title="The bridge has no server of this name here" text="It may be defined for another directory." command="mcp-bridge discover --all" /></>`;
  const refresh = html`<${Action} act=${() => ask('bridge/refresh', { servers: [name] })}>Read its lists again</>`;
  return html`<${Screen} title=${html`${dot(row.tone)}${text(name)}`} back=${back} note=${row.state} actions=${refresh}>
    <${OnHost} name=${name} />
    ${row.lastError === null ? null : html`<p class=${row.tone === 'bad' ? 'notice notice-bad' : 'notice'}><b>${row.tone === 'bad' ? 'It has failed' : 'Its last failure'}.</b> ${text(row.lastError, 600)}</p>`}
    <div class="stats stats-server">
      <${Stat} label="Clients" value=${count(row.sessions)} note=${row.running === 0 ? 'no process runs' : plural(row.running, 'process', 'processes')} />
      <${Stat} label="Calls" value=${shortCount(row.calls)} note=${`${row.inFlight} in flight`} />
      <${Stat} label="p50" value=${duration(row.p50)} note=${`p95 ${duration(row.p95)}`} />
      <${Stat} label="Slowest" value=${duration(row.latency?.maxMs)} note=${`${shortCount(row.answers)} answers`} />
      <${Stat} label="Errors" value=${count(row.errors)} note=${row.answers === 0 ? '' : `${((row.errors / Math.max(1, row.answers)) * 100).toFixed(1)} % of answers`} />
      <${Stat} label="Memory" value=${row.residentBytes === 0 ? '–' : bytes(row.residentBytes)} note=${plural(row.restarts, 'restart')} />
    </div>
    <${Tabs} tabs=${TABS} chosen=${tab} label="Parts of the server" onChoose=${(id: string) => go('servers', name, id)} />
    <div role="tabpanel" aria-label=${tab}>
      ${tab === 'tools' ? html`<${ToolList} server=${name} />` : tab === 'stderr' ? html`<${Stderr} server=${name} failure=${row.lastError} />` : tab === 'calls' ? html`<${CallsOf} server=${name} />` : html`<${Instances} row=${row} />`}
    </div>
  </>`;
}

/** Where a server of another host runs, and why it is unreachable. */
function OnHost({ name }: { name: string }): Markup {
  const host = hostOf(name);
  if (host === undefined) return null;
  const why = whyUnreachable(host);
  if (why !== '')
    return html`<p class="notice notice-bad"><b>It cannot be reached.</b> ${text(why, 400)} <${Command} text="mcp-bridge hosts" /></p>`;
  const about = typeof host === 'string' ? '' : `, ${duration(host.latencyMs)} away, version ${host.version}`;
  return html`<p class="notice">It runs on <b>${text(hostName(host))}</b>${text(about)}. Its processes, stderr and memory are that host's.</p>`;
}

function Instances({ row }: { row: ServerRow }): Markup {
  const { answer, error } = useAsked<unknown>('bridge/instances', { server: row.name }, 2000);
  const [server] = recordsOf(membersOf(answer).servers);
  const list = recordsOf(server?.instances);
  return html`<div class="columns columns-wide">
    <${Panel} title="Instances" aside=${server === undefined ? null : html`sharing: <b>${textOf(server.sharing) || 'not needed yet'}</b>`}>
      ${server !== undefined && textOf(server.reason) !== '' ? html`<p class="panel-text">${text(server.reason, 600)}</p>` : null}
      ${error && answer === undefined ? html`<${Failure} error=${error} />` : null}
      ${
        list.length === 0
          ? html`<${Empty} title="Nothing runs" text="The bridge starts it for the first call, and ends it when nobody uses it." />`
          : html`<ul class="cards">${list.map((one) => html`<${InstanceCard} key=${String(one.instance)} one=${one} />`)}</ul>`
      }
    </>
    <${Times} row=${row} />
  </div>`;
}

function InstanceCard({ one }: { one: Readonly<Record<string, unknown>> }): Markup {
  const pid = typeof one.pid === 'number' ? one.pid : null;
  const resident = pid === null ? undefined : memory.value[pid];
  const users = textsOf(one.clients);
  const number = Number(one.clientCount ?? users.length);
  const state = textOf(one.state);
  return html`<li class="card">
    <p class="card-head">${dot(toneOf(state))}<b>${state}</b>${pid === null ? null : html`<span class="muted">pid ${pid}</span>`}
      ${typeof one.protocolVersion === 'string' ? html`<span class="muted">MCP ${text(one.protocolVersion)}</span>` : null}</p>
    <p class="card-text">${text(one.for, 400)}</p>
    <${Facts} facts=${[
      [
        'Used by',
        users.length === 0
          ? 'nobody now'
          : html`<span class="chips">${users.slice(0, 12).map((user) => html`<a key=${user} class="chip" href=${address('clients', user)}>${text(user)}</a>`)}${number > 12 ? html`<span class="muted">and ${number - 12} more</span>` : null}</span>`,
      ],
      [
        'Calls',
        typeof one.calls === 'number' ? `${count(one.calls)}, ${count(Number(one.inFlight ?? 0))} in flight` : null,
      ],
      ['Restarts', typeof one.restarts === 'number' && one.restarts > 0 ? count(one.restarts) : null],
      ['Memory', resident === undefined ? null : bytes(resident)],
      ['Last error', textOf(one.lastError) === '' ? null : text(one.lastError, 400)],
    ]} />
  </li>`;
}

function Times({ row }: { row: ServerRow }): Markup {
  const bounds = status.value?.latencyBoundsMs ?? [];
  const { latency } = row;
  const bars = useMemo(() => barsOf(latency?.buckets ?? [], bounds), [latency, bounds]);
  const p99 = latency === undefined ? null : quantile(0.99, latency, bounds);
  return html`<${Panel} title="Answer times" aside=${latency === undefined ? null : html`p99 <b>${duration(p99)}</b>`}>
    ${
      latency === undefined || row.answers === 0
        ? html`<${Empty} title="Nothing was measured yet" text="Each answer of the server is counted here by the time it took." />`
        : html`<${Histogram} label=${`Answers by time: half within ${duration(row.p50)}, 95 % within ${duration(row.p95)}`} bars=${bars} />`
    }
  </>`;
}

/** The buckets without the empty ends. */
function barsOf(buckets: readonly number[], bounds: readonly number[]): { name: string; value: number }[] {
  const bars = buckets.map((value, i) => ({
    name: bounds[i] === undefined ? `> ${shortTime(bounds.at(-1) ?? 0)}` : shortTime(bounds[i]),
    value,
  }));
  const first = bars.findIndex(({ value }) => value > 0);
  const last = bars.findLastIndex(({ value }) => value > 0);
  return first < 0 ? [] : bars.slice(Math.max(0, first - 1), last + 2);
}

function shortTime(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`;
}

function Stderr({ server, failure }: { server: string; failure: string | null }): Markup {
  const { answer, error } = useAsked<unknown>('bridge/logs', { server }, 2000);
  const processes = recordsOf(membersOf(answer).processes);
  const [at, setAt] = useState(0);
  const process = processes[Math.min(at, processes.length - 1)];
  const names = processes.map(
    (one, i) => [`${i}`, `pid ${one.pid ?? '–'}${one.running === true ? '' : ', ended'}`] as const,
  );
  const written = textOf(process?.text);
  const isProcess = membersOf(answer).transport === 'stdio';
  return html`<${Panel} title="The end of its stderr" aside=${processes.length > 1 ? html`<${Tabs} tabs=${names} chosen=${`${at}`} label="Processes" onChoose=${(id: string) => setAt(Number(id))} />` : process === undefined ? null : names[0]?.[1]}>
    ${error && answer === undefined ? html`<${Failure} error=${error} />` : null}
    ${
      process === undefined
        ? html`<${Empty} title=${isProcess ? (failure === null ? 'It has not run yet' : 'It could not be started, so it has written nothing') : 'There is no stderr to see'} text=${isProcess ? (failure === null ? 'What it writes appears here once it was started.' : text(failure, 600)) : 'Only servers that are processes of the bridge have one.'} />`
        : written.trim() === ''
          ? html`<${Empty} title="It has written nothing" />`
          : html`<${Block} text=${written} label=${`Stderr of ${server}`} />`
    }
  </>`;
}
