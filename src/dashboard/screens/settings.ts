// The settings in use, each with its default.

import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { type JsonFields, membersOf, recordsOf, textOf } from '../data.ts';
import { html, type Markup } from '../html.ts';
import { useAsked } from '../parts/asked.ts';
import { Badge, Empty, Facts, Failure, Filter, Panel, Screen, Segments } from '../parts/elements.ts';
import { type Column, clipped, Table } from '../parts/table.ts';
import { status } from '../state.ts';
import { text } from '../untrusted.ts';

const filter = signal('');
const only = signal<'all' | 'config'>('all');
const KINDS = [
  ['all', 'All'],
  ['config', 'Set by the config'],
] as const;

export function Settings(): Markup {
  const { answer, error } = useAsked<unknown>('bridge/settings');
  const { settings } = membersOf(answer);
  const all = recordsOf(settings);
  const shown = useMemo(() => all.filter(fits), [settings, filter.value, only.value]);
  const now = status.value;
  const faults = [...(now?.configFaults ?? []), ...(now?.definitionFaults ?? [])];
  return html`<${Screen} title="Settings" note=${`${all.filter(({ from }) => from === 'config').length} of ${all.length} set by the config`} fills>
    ${faults.length === 0 ? null : html`<div class="notice notice-bad"><b>${faults.length === 1 ? 'One fault' : `${faults.length} faults`}</b><ul>${faults.slice(0, 20).map((fault, i) => html`<li key=${i}>${text(fault, 500)}</li>`)}</ul></div>`}
    ${
      now === undefined
        ? null
        : html`<${Panel} name="places"><${Facts} facts=${[
            [
              'Config',
              now.configFile === null
                ? 'none; all settings have their defaults'
                : html`<code>${text(now.configFile)}</code>`,
            ],
            ['Socket', html`<code>${text(now.socketPath)}</code>`],
            ['HTTP', now.httpOrigin ? html`<code>${text(now.httpOrigin)}</code>` : 'on the socket only'],
            ['Telemetry', telemetryText(now.telemetry)],
            ['Build', html`<code>${now.build}</code>`],
          ]} /></>`
    }
    <div class="toolbar"><${Filter} filter=${filter} hint="Filter settings" label="Filter settings" /><${Segments} kinds=${KINDS} chosen=${only} /></div>
    ${error ? html`<${Failure} error=${error} />` : null}
    <${Table} rows=${shown} columns=${COLUMNS} keyOf=${keyOf} label="Settings" empty=${html`<${Empty} title=${answer === undefined ? 'Asking' : 'No setting fits'} />`} />
  </>`;
}

/** The addresses for traces and metrics. */
function telemetryText(telemetry: Telemetry | null | undefined): string | readonly Markup[] {
  const { traces, metrics, sampling } = telemetry ?? {};
  if (!traces && !metrics) return telemetry === undefined ? 'not known' : 'off';
  return [
    signalLine('traces', traces, sampling && sampledText(sampling)),
    signalLine('metrics', metrics, undefined),
  ].flatMap((line) => line ?? []);
}

type Telemetry = NonNullable<NonNullable<typeof status.value>['telemetry']>;

function signalLine(name: string, signal: Telemetry['traces'] | undefined, sampled: string | undefined): Markup | null {
  if (!signal) return null;
  return html`<div key=${name}>${name} to <code>${text(signal.url)}</code>${sampled === undefined ? null : ` (${sampled})`}${
    signal.failure === null ? null : html` <${Badge} tone="bad">not taken: ${text(signal.failure)}</>`
  }</div>`;
}

function sampledText({ share, followsClients }: Telemetry['sampling']): string {
  const part = share === 1 ? 'all' : share === 0 ? 'none' : `${Number((share * 100).toPrecision(3))} %`;
  return followsClients ? `${part}, or as the client says` : part;
}

const keyOf = ({ name }: JsonFields): string => textOf(name);

function fits({ name, description, from }: JsonFields): boolean {
  if (only.value === 'config' && from !== 'config') return false;
  return `${textOf(name)} ${textOf(description)}`.toLowerCase().includes(filter.value.toLowerCase());
}

function shownValue(value: unknown, unit: unknown): string {
  if (value === null || value === undefined) return '–';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return typeof unit === 'string' && unit !== '' ? `${text} ${unit}` : text;
}

/** Renders the Markdown in descriptions of settings: code, and links as plain words. */
function withCode(markdown: string): unknown[] {
  const words = markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').split('`');
  return words.map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part));
}

const COLUMNS: readonly Column<JsonFields>[] = [
  {
    title: 'Setting',
    width: 'minmax(180px, 1.1fr)',
    sort: ({ name }) => textOf(name),
    cell: ({ name }) => html`<code class="clip">${text(name)}</code>`,
  },
  {
    title: 'Value',
    width: 'minmax(110px, 0.8fr)',
    cell: ({ value, unit, from }) =>
      html`<span class=${from === 'config' ? 'clip live' : 'clip'}>${text(shownValue(value, unit))}</span>`,
  },
  {
    title: 'From',
    isExtra: true,
    width: '84px',
    sort: ({ from }) => textOf(from),
    cell: ({ from }) =>
      from === 'config' ? html`<${Badge} tone="accent">config</>` : html`<span class="faint">default</span>`,
  },
  {
    title: 'Default',
    width: 'minmax(80px, 0.6fr)',
    isExtra: true,
    cell: ({ default: fallback, unit }) => clipped(shownValue(fallback, unit)),
  },
  {
    title: 'About',
    width: 'minmax(160px, 2.2fr)',
    isExtra: true,
    cell: ({ description }) => html`<span class="clip muted">${withCode(textOf(description))}</span>`,
  },
];
