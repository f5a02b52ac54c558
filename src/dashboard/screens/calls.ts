// Calls: those under way, with a cancel button; ended ones, with the time that each waited and that its server took.

import { signal } from '@preact/signals';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { SeenCall } from '../call-book.ts';
import { ask, PageRefusal } from '../connection.ts';
import { bytes, clockTime, count, duration, plural } from '../format.ts';
import { html, type Markup } from '../html.ts';
import {
  Action,
  Aside,
  Badge,
  dot,
  Empty,
  Facts,
  Filter,
  Panel,
  Screen,
  Segments,
  type Tone,
} from '../parts/elements.ts';
import { type Column, clipped, outcome, Table } from '../parts/table.ts';
import { address, route } from '../route.ts';
import { calls, callsChanged, callsLeftOut, eventsLost } from '../state.ts';
import { text } from '../untrusted.ts';

const filter = signal('');
const kind = signal<'all' | 'open' | 'waiting' | 'failed' | 'slow'>('all');
const isPaused = signal(false);
const SLOW_MS = 1000;

export function outcomeTone(outcome: string | null): Tone {
  switch (outcome) {
    case 'ok':
      return 'ok';
    case 'asked':
    case 'cancelled':
    case 'client-gone':
      return 'quiet';
    case 'tool-error':
    case 'refused':
      return 'warn';
    default:
      return 'bad';
  }
}

const WORDS: Readonly<Record<string, string>> = {
  ok: 'ok',
  'tool-error': 'tool error',
  asked: 'asked back',
  error: 'error',
  refused: 'refused',
  timeout: 'timed out',
  crashed: 'server crashed',
  cancelled: 'cancelled',
  'client-gone': 'client gone',
};
/** The reasons to wait: for a column, and for a sentence. */
const WAITS: Readonly<Record<string, readonly [string, string]>> = {
  client: ['for its client', 'Its client has enough under way.'],
  server: ['for its server', 'Its server is not ready, or has enough under way.'],
  turn: ['for its turn', 'Others use this server, and it may ask them something.'],
  suspended: [
    'for an answer',
    'Its server asked something. The call waits until its client comes back with the answer.',
  ],
};

function waitOf({ state, waitsFor }: SeenCall): readonly [string, string] | undefined {
  return WAITS[state === 'suspended' ? state : (waitsFor ?? '')];
}

export function openAge(call: SeenCall): string {
  return call.at === null ? 'in flight' : duration(Date.now() - call.at);
}

export function toneOf(call: SeenCall): Tone {
  if (call.state === 'ended') return outcomeTone(call.outcome);
  return call.state === 'sent' ? 'accent' : 'warn';
}

/** The state in one or two words. */
function stateWords(call: SeenCall): string {
  if (call.state === 'ended') return WORDS[call.outcome ?? 'ok'] ?? call.outcome ?? '';
  if (call.state === 'sent') return call.progress > 0 ? `running, ${plural(call.progress, 'step')}` : 'running';
  return ['waits', ...(waitOf(call)?.slice(0, 1) ?? [])].join(' ');
}

export function Calls(): Markup {
  callsChanged.value; // depends on this signal, because the book is none
  const [frozen, setFrozen] = useState<readonly SeenCall[] | undefined>(undefined);
  const all = frozen ?? [...calls.open, ...calls.ended];
  useEffect(() => setFrozen(isPaused.value ? [...calls.open, ...calls.ended] : undefined), [isPaused.value]);
  const shown = useMemo(() => all.filter(matches), [all, filter.value, kind.value]);
  const [id] = route.value.rest;
  const chosen = id === undefined ? undefined : all.find(({ call }) => call === id);
  const longest = useMemo(() => Math.max(1, ...shown.map((call) => call.totalMs ?? 0)), [shown]);
  const columns = useMemo(() => columnsFor(longest), [longest]);
  const actions = html`<button type="button" class="plain" aria-pressed=${isPaused.value} onClick=${() => {
    isPaused.value = !isPaused.value;
  }}>${isPaused.value ? 'Resume' : 'Pause'}</button>`;
  return html`<${Screen} title="Calls" note=${noteOf(calls.open.length)} actions=${actions} fills>
    <div class="toolbar">
      <${Filter} filter=${filter} hint="Filter by client, server or tool" label="Filter calls" />
      <${Segments} kinds=${KINDS} chosen=${kind} />
      <${Left} />
    </div>
    <div class=${chosen === undefined ? 'split' : 'split split-open'}>
      <${Table} rows=${shown} columns=${columns} keyOf=${keyOf} label="Calls" chosen=${id}
        empty=${all.length === 0 ? html`<${Empty} title="No call since this page was opened" text="Use a tool in a client, or here:" command="mcp-bridge call SERVER TOOL" />` : html`<${Empty} title="No call fits this filter" />`} />
      ${chosen === undefined ? null : html`<${Detail} call=${chosen} />`}
    </div>
  </>`;
}

const KINDS = [
  ['all', 'All'],
  ['open', 'In flight'],
  ['waiting', 'Waiting'],
  ['failed', 'Failed'],
  ['slow', 'Over 1 s'],
] as const;

const keyOf = ({ call }: SeenCall): string => call;

function noteOf(open: number): string {
  const waiting = calls.open.filter(({ state }) => state !== 'sent').length;
  return `${count(open)} in flight${waiting === 0 ? '' : `, ${count(waiting)} of them waiting`} · the last ${count(calls.ended.length)} of up to 1,000`;
}

/** Says which calls are missing here. */
function Left(): Markup {
  const [sampled, lost] = [callsLeftOut.value, eventsLost.value];
  if (sampled + lost === 0) return null;
  const words = [
    ...(sampled > 0 ? [`${count(sampled)} calls are not shown one by one: at most 100 a second are`] : []),
    ...(lost > 0 ? [`${plural(lost, 'event')} did not reach this page`] : []),
  ];
  return html`<p class="sampled">${words.join('; ')}</p>`;
}

function matches(call: SeenCall): boolean {
  if (kind.value === 'open' && call.state === 'ended') return false;
  if (kind.value === 'waiting' && call.state !== 'waiting' && call.state !== 'suspended') return false;
  if (kind.value === 'failed' && (call.state !== 'ended' || call.outcome === 'ok' || call.outcome === 'asked'))
    return false;
  if (kind.value === 'slow' && (call.totalMs ?? 0) < SLOW_MS) return false;
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const text =
    `${call.client} ${call.clientName} ${call.server ?? ''} ${call.tool ?? ''} ${call.role} ${call.outcome ?? ''} ${call.code ?? ''}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function columnsFor(longest: number): readonly Column<SeenCall>[] {
  return [
    {
      title: 'Time',
      width: '76px',
      isExtra: true,
      sort: (call) => call.at ?? 0,
      cell: (call) => html`<span class="faint">${call.at === null ? '–' : clockTime(call.at)}</span>`,
    },
    {
      title: 'Tool',
      width: 'minmax(120px, 1.7fr)',
      sort: (call) => `${call.server ?? ''} ${call.tool ?? ''}`,
      cell: (call) => html`<a class="row-link" href=${address('calls', call.call)}>${dot(toneOf(call))}
      <span class="clip">${nameOf(call)}</span></a>`,
    },
    {
      title: 'Client',
      width: 'minmax(90px, 1fr)',
      isExtra: true,
      worth: 2,
      sort: (call) => call.client,
      cell: (call) => clipped(call.client),
    },
    {
      title: 'Outcome',
      isExtra: true,
      worth: 3,
      width: '128px',
      sort: stateWords,
      cell: (call) => outcome(toneOf(call), stateWords(call)),
    },
    {
      title: 'Waiting and server time',
      width: 'minmax(120px, 1.3fr)',
      isExtra: true,
      cell: (call) => html`<${Waterfall} call=${call} longest=${longest} />`,
    },
    {
      title: 'Answer',
      width: '80px',
      isNumber: true,
      isExtra: true,
      sort: (call) => call.answerBytes ?? -1,
      cell: (call) => bytes(call.answerBytes),
    },
    {
      title: 'Took',
      width: '82px',
      isNumber: true,
      sort: (call) => call.totalMs ?? Number.MAX_VALUE,
      cell: (call) =>
        call.state === 'ended' ? duration(call.totalMs) : html`<span class="live">${openAge(call)}</span>`,
    },
    {
      title: 'Action',
      isUntitled: true,
      isExtra: true,
      worth: 1,
      width: '76px',
      cell: (call) => (call.state === 'ended' ? null : html`<${Cancel} call=${call} />`),
    },
  ];
}

function nameOf(call: SeenCall): Markup {
  if (call.tool === null) return html`${text(call.server === null ? call.role : `${call.server} ${call.role}`)}`;
  return html`${text(call.server ?? '')} <span class="tool">${text(call.tool)}</span>`;
}

function Cancel({ call }: { call: SeenCall }): Markup {
  const cancel = async (): Promise<void> => {
    const { cancelled, reason } = await ask<{ cancelled: boolean; reason: string | null }>('bridge/cancel', {
      call: call.call,
    });
    if (!cancelled) throw new PageRefusal(reason ?? 'It has ended already');
  };
  return html`<${Action} act=${cancel} kind="plain" small name=${`Cancel the call of ${call.tool ?? call.role}`}>Cancel</>`;
}

/** The time that a call waited, was at its server, and took besides, as shares of the longest visible call. */
function Waterfall({ call, longest }: { call: SeenCall; longest: number }): Markup {
  if (call.state !== 'ended')
    return html`<span class=${`waterfall waterfall-open waterfall-${call.state}`} aria-hidden="true"><span></span></span>`;
  const share = (ms: number | null): string => `${Math.min(100, ((ms ?? 0) / longest) * 100)}%`;
  const label = `waited ${duration(call.waitedMs)}, server ${duration(call.serverMs)}`;
  return html`<span class="waterfall" title=${label}><span class="hidden">${label}</span>
    <span class="waterfall-wait" style=${{ width: share(call.waitedMs) }}></span><span class="waterfall-server" style=${{ width: share(call.serverMs) }}></span></span>`;
}

function Detail({ call }: { call: SeenCall }): Markup {
  const own = call.totalMs === null ? null : Math.max(0, call.totalMs - (call.waitedMs ?? 0) - (call.serverMs ?? 0));
  const parts: readonly (readonly [string, number | null, string])[] = [
    ['Waiting', call.waitedMs, 'wait'],
    ['Server', call.serverMs, 'server'],
    ['Bridge', own, 'own'],
  ];
  const total = Math.max(1e-6, call.totalMs ?? 0);
  let from = 0;
  return html`<${Aside} label="Call" title=${text(call.tool ?? call.role)} screen="calls">
    <p class="detail-state"><${Badge} tone=${toneOf(call)}>${stateWords(call)}</>
      ${call.state === 'waiting' || call.state === 'suspended' ? html`<span class="muted">${waitOf(call)?.[1]}</span>` : null}
      ${call.state === 'ended' ? null : html`<${Cancel} call=${call} />`}</p>
    ${
      call.state === 'ended'
        ? html`<div class="steps">${parts.map(([name, ms, part]) => {
            const left = (from / total) * 100;
            const width = ((ms ?? 0) / total) * 100;
            from += ms ?? 0;
            return html`<div class="step" key=${name}><span class="step-name">${name}</span><span class="step-room"><span class=${`step-bar step-${part}`} style=${{ left: `${left}%`, width: `${Math.max(0.5, width)}%` }}></span></span><span class="step-time">${duration(ms)}</span></div>`;
          })}</div>`
        : null
    }
    <${Facts} facts=${[
      [
        'Server',
        call.server === null ? null : html`<a href=${address('servers', call.server)}>${text(call.server)}</a>`,
      ],
      ['Kind', call.role],
      [
        'Client',
        html`${text(call.client)}${call.clientName && call.clientName !== call.client ? html` <span class="muted">${text(call.clientName)}</span>` : null}`,
      ],
      ['Began', call.at === null ? 'before this page was opened' : clockTime(call.at)],
      ['Took', call.totalMs === null ? null : duration(call.totalMs)],
      ['Progress', call.progress > 0 ? plural(call.progress, 'message') : null],
      ['Code', call.code === null ? null : html`<code>${call.code}</code>`],
      ['Request', call.requestBytes === null ? null : bytes(call.requestBytes)],
      [
        'Answer',
        call.answerBytes === null
          ? null
          : html`${bytes(call.answerBytes)} <span class="muted">about ${count(Math.ceil(call.answerBytes / 4))} tokens</span>`,
      ],
    ]} />
  </>`;
}

/** The calls of one server, on its page. */
export function CallsOf({ server }: { server: string }): Markup {
  callsChanged.value;
  const own = [...calls.open, ...calls.ended].filter((call) => call.server === server).slice(0, 100);
  const longest = Math.max(1, ...own.map((call) => call.totalMs ?? 0));
  return html`<${Panel} title="Last calls"><${Table} rows=${own} columns=${columnsFor(longest)} keyOf=${keyOf} label=${`Calls of ${server}`} most=${10}
    empty=${html`<${Empty} title="No call since this page was opened" />`} /></>`;
}
