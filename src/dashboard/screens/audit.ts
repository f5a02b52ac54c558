// The record of calls, the newest first: each line of the file as it was written.

import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { type JsonFields, membersOf, recordsOf, textOf } from '../data.ts';
import { clockTime, dateTime, duration, plural } from '../format.ts';
import { html, type Markup } from '../html.ts';
import { useAsked } from '../parts/asked.ts';
import { Aside, dot, Empty, Failure, Filter, Screen, type Tone } from '../parts/elements.ts';
import { type Column, outcome, Table } from '../parts/table.ts';
import { address, route } from '../route.ts';
import { status } from '../state.ts';
import { Json, text } from '../untrusted.ts';
import { outcomeTone } from './calls.ts';

const filter = signal('');
const MOST_LINES = 1000;

interface Entry {
  readonly key: string;
  readonly fields: JsonFields;
}

export function Audit(): Markup {
  const { answer, error, again } = useAsked<unknown>('ui/audit', { limit: MOST_LINES });
  const { file, lines } = membersOf(answer);
  const all = useMemo(() => recordsOf(lines).map((fields, i) => ({ key: `${i}`, fields })), [lines]);
  const shown = useMemo(
    () => all.filter(({ fields }) => JSON.stringify(fields).toLowerCase().includes(filter.value.toLowerCase())),
    [all, filter.value],
  );
  const [key] = route.value.rest;
  const chosen = all.find((one) => one.key === key);
  const isOff = answer !== undefined && typeof file !== 'string';
  const { audit } = status.value ?? {};
  return html`<${Screen} title="Audit" note=${audit ? html`${plural(audit.lines, 'line')} since the daemon started${audit.lost > 0 ? `, ${audit.lost} lost` : ''}` : ''} actions=${isOff ? null : html`<button type="button" class="plain" onClick=${again}>Read again</button>`} fills>
    ${error ? html`<${Failure} error=${error} />` : null}
    ${audit?.failure ? html`<p class="notice notice-bad"><b>Nothing can be written.</b> ${text(audit.failure)}</p>` : null}
    ${isOff ? null : html`<div class="toolbar"><${Filter} filter=${filter} hint="Filter by anything in the line" label="Filter the audit log" /><span class="muted">${text(file)}</span></div>`}
    <div class=${chosen === undefined ? 'split' : 'split split-open'}>
      <${Table} rows=${shown} columns=${COLUMNS} keyOf=${keyOf} label="Audit log" chosen=${key} empty=${isOff ? html`<${Empty} title="Calls are not recorded" text=${html`Put <code>"audit": {}</code> into the config to keep a line for each call.`} command="mcp-bridge config path" />` : html`<${Empty} title=${answer === undefined ? 'Reading' : 'No line fits'} />`} />
      ${chosen === undefined ? null : html`<${Aside} label="Line" title=${'Line of the log'} screen="audit"><div class="bare"><${Json} value=${chosen.fields} label="Line of the log" /></div></>`}
    </div>
  </>`;
}

const keyOf = ({ key }: Entry): string => key;

function timeOf(fields: JsonFields): string {
  const at = fields.time;
  if (typeof at !== 'string' && typeof at !== 'number') return '';
  return new Date(at).toDateString() === new Date().toDateString() ? clockTime(at) : dateTime(at);
}

/** A line of what other hosts were refused has no outcome of a call. */
function outcomeOf(fields: JsonFields): string {
  if (fields.refused === undefined) return textOf(fields.outcome);
  return `refused × ${Number(fields.count)}`;
}

const toneOf = ({ refused, outcome: of }: JsonFields): Tone =>
  outcomeTone(refused === undefined ? textOf(of) : 'refused');

function took(fields: JsonFields): number | null {
  const ms = fields.durationMs;
  return typeof ms === 'number' ? ms : null;
}

const COLUMNS: readonly Column<Entry>[] = [
  {
    title: 'Time',
    isExtra: true,
    width: '112px',
    cell: ({ fields }) => html`<span class="faint">${timeOf(fields)}</span>`,
  },
  {
    title: 'Tool',
    width: 'minmax(140px, 1.6fr)',
    sort: ({ fields }) => `${textOf(fields.server)} ${textOf(fields.tool)}`,
    cell: ({ key, fields }) =>
      html`<a class="row-link" href=${address('audit', key)}>${dot(toneOf(fields))}<span class="clip">${text(fields.server ?? '')} <span class="tool">${text(fields.tool ?? fields.why ?? '')}</span></span></a>`,
  },
  {
    title: 'Client',
    width: 'minmax(100px, 1fr)',
    isExtra: true,
    sort: ({ fields }) => textOf(fields.client ?? fields.host),
    cell: ({ fields }) => html`<span class="clip muted">${text(fields.client ?? fields.host ?? '')}</span>`,
  },
  {
    title: 'Outcome',
    width: '108px',
    sort: ({ fields }) => outcomeOf(fields),
    cell: ({ fields }) => outcome(toneOf(fields), outcomeOf(fields)),
  },
  {
    title: 'Took',
    width: '82px',
    isNumber: true,
    isExtra: true,
    sort: ({ fields }) => took(fields) ?? -1,
    cell: ({ fields }) => duration(took(fields)),
  },
];
