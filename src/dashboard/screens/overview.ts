// The first screen: what runs, what it saves, what needs a person, and what happens right now.

import { type Attention, attention } from '../attention.ts';
import { bytes, count, duration, plural, rate, shortCount, span } from '../format.ts';
import { html, type Markup } from '../html.ts';
import { History, Spark } from '../parts/chart.ts';
import { Bar, dot, Empty, Panel, Screen, Stat } from '../parts/elements.ts';
import { address } from '../route.ts';
import { type ServerRow, saved, servers } from '../servers.ts';
import { calls, callsChanged, clients, history, status, toolBytes } from '../state.ts';
import { text } from '../untrusted.ts';
import { openAge, toneOf } from './calls.ts';

const SPAN_SECONDS = 300;
const MOST_ROWS = 6;
const BYTES_IN_TOKEN = 4;
const TOKENS_OF_DISCOVER = 450;

export function Overview(): Markup {
  const now = status.value;
  return html`<${Screen} title="Overview" note=${now === undefined ? null : html`Up ${span(now.uptimeMs)} <span class="sep">·</span> pid ${now.pid}`}>
    <${Numbers} />
    <div class="columns columns-wide">
      <${Traffic} />
      <${NeedsYou} />
    </div>
    <div class="columns columns-wide">
      <${Busiest} />
      <${Latest} />
    </div>
  </>`;
}

function Numbers(): Markup {
  const rows = servers.value;
  const running = rows.reduce((sum, one) => sum + one.running, 0);
  const serving = rows.filter((one) => one.running > 0).length;
  const seconds = history.value;
  const { processes, bytes: spared } = saved.value;
  const inFlight = rows.reduce((sum, one) => sum + one.inFlight, 0);
  const total = rows.reduce((sum, one) => sum + one.calls, 0);
  return html`<div class="stats">
    <${Stat} label="Clients" value=${count(clients.value.length)} note=${clientsNote()} />
    <${Stat} label="Servers running" value=${count(serving)} unit=${`of ${rows.length}`} note=${plural(running, 'process', 'processes')} />
    <${Stat} label="Calls a second" value=${rate(seconds.at(-1)?.callsPerSecond ?? 0)} note=${`${shortCount(total)} in all · ${inFlight} in flight`}>
      <${Spark} values=${seconds.slice(-60).map(({ callsPerSecond }) => callsPerSecond)} most=${60} />
    </>
    <${Stat} label="Processes saved" value=${count(processes)} note="by sharing servers" />
    <${Stat} label="Memory saved" value=${spared === 0 ? '0 MiB' : bytes(Math.round(spared))} note="what those would take" />
    <${Tokens} />
  </div>`;
}

function clientsNote(): string {
  const away = clients.value.filter(({ state }) => state === 'parked').length;
  const busy = clients.value.filter(({ inFlight }) => inFlight > 0).length;
  return away > 0 ? `${away} away, may come back` : `${busy} with calls in flight`;
}

/** The tokens of definitions that clients of `discover` did not get: about four bytes each. */
function Tokens(): Markup {
  const few = clients.value.filter(({ view }) => view === 'discover').length;
  const each = Math.max(0, toolBytes.value / BYTES_IN_TOKEN - TOKENS_OF_DISCOVER);
  const note = few === 0 ? 'no client uses discover' : `for ${plural(few, 'client')}`;
  return html`<${Stat} label="Tokens saved" value=${shortCount(few * each)} note=${note} />`;
}

function Traffic(): Markup {
  const seconds = history.value;
  const times = seconds.map(({ at }) => at);
  const now = seconds.at(-1);
  const aside = html`<span class="key key-accent">calls</span><span class="key key-bad">errors</span>`;
  return html`<${Panel} title="Calls a second" aside=${aside} name="traffic">
    <${History} label=${`Calls a second over the last minutes; now ${rate(now?.callsPerSecond ?? 0)}`} times=${times} spanSeconds=${SPAN_SECONDS}
      format=${rate} series=${[
        { label: 'calls', values: seconds.map((one) => one.callsPerSecond), tone: 'accent' },
        { label: 'errors', values: seconds.map((one) => one.errorsPerSecond), tone: 'bad' },
      ]} />
  </>`;
}

function NeedsYou(): Markup {
  const items = attention.value;
  const shown = items.slice(0, MOST_ROWS);
  return html`<${Panel} title="Needs you" aside=${items.length > 0 ? html`<a href=${address('inbox')}>Open the inbox</a>` : null} name="needs">
    ${
      items.length === 0
        ? html`<${Empty} title="Nothing waits for you" text="Approvals, changed tools, sign-ins and questions of servers appear here." />`
        : html`<ul class="lines">${shown.map(
            (item: Attention) => html`<li key=${item.key}><a class="line" href=${item.href}>
            ${dot(item.tone)}<span class="line-main">${text(item.title)}</span><span class="line-side">${item.kind === item.title ? '' : item.kind}</span></a></li>`,
          )}</ul>`
    }
    ${items.length > MOST_ROWS ? html`<p class="more">and ${items.length - MOST_ROWS} more</p>` : null}
  </>`;
}

function Busiest(): Markup {
  const rows = servers.value
    .filter(({ calls: called }) => called > 0)
    .toSorted((a, b) => b.perSecond - a.perSecond || b.calls - a.calls);
  const shown = rows.slice(0, MOST_ROWS);
  const most = Math.max(1, ...shown.map(({ calls: called }) => called));
  return html`<${Panel} title="Busiest servers" aside=${html`<a href=${address('servers')}>All servers</a>`} name="busiest">
    ${
      shown.length === 0
        ? html`<${Empty} title="No server was called yet" text="Give the bridge to a client, or call a tool yourself." command="mcp-bridge install" />`
        : html`<table class="plain"><thead><tr><th scope="col">Server</th><th scope="col" class="wide"><span class="hidden">Share</span></th><th scope="col" class="number">Calls</th><th scope="col" class="number">a second</th><th scope="col" class="number">p50</th><th scope="col" class="number">p95</th></tr></thead>
          <tbody>${shown.map(
            (row: ServerRow) => html`<tr key=${row.name}>
            <td><a class="strong" href=${address('servers', row.name)}>${dot(row.tone)}${text(row.name)}</a></td>
            <td class="wide"><${Bar} share=${row.calls / most} /></td>
            <td class="number">${shortCount(row.calls)}</td><td class="number">${rate(row.perSecond)}</td>
            <td class="number">${duration(row.p50)}</td><td class="number">${duration(row.p95)}</td></tr>`,
          )}</tbody></table>`
    }
  </>`;
}

function Latest(): Markup {
  callsChanged.value; // depends on this signal, because the book is none
  const open = calls.open.slice(0, MOST_ROWS);
  const ended = calls.ended.slice(0, MOST_ROWS - open.length);
  return html`<${Panel} title="Right now" aside=${html`<a href=${address('calls')}>All calls</a>`} name="latest">
    ${
      open.length + ended.length === 0
        ? html`<${Empty} title="No call since this page was opened" text="Calls appear here while they are under way." command="mcp-bridge call SERVER TOOL" />`
        : html`<ul class="lines">${[...open, ...ended].map(
            (call) => html`<li key=${call.call}><a class="line" href=${address('calls', call.call)}>
            ${dot(toneOf(call))}
            <span class="line-main">${text(call.server ?? call.role)}${call.tool === null ? null : html` <span class="tool">${text(call.tool)}</span>`}</span>
            <span class="line-side">${call.state === 'ended' ? duration(call.totalMs) : openAge(call)}</span></a></li>`,
          )}</ul>`
    }
  </>`;
}
