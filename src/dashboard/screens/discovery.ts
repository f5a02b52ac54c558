// The source of each definition, what became of it, and which of several with one name is used.

import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { shellWord } from '../../util/shell-words.ts';
import { type JsonFields, membersOf, recordsOf, textOf, textsOf } from '../data.ts';
import { plural } from '../format.ts';
import { html, type Markup } from '../html.ts';
import { useAsked } from '../parts/asked.ts';
import { Aside, Badge, dot, Empty, Facts, Failure, Filter, Screen, Segments, type Tone } from '../parts/elements.ts';
import { type Column, clipped, outcome, rowLink, Table } from '../parts/table.ts';
import { address, route } from '../route.ts';
import { text } from '../untrusted.ts';

const filter = signal('');
const only = signal<'all' | 'used' | 'not' | 'shadowed'>('all');
const KINDS = [
  ['all', 'All'],
  ['used', 'Used'],
  ['not', 'Not used'],
  ['shadowed', 'Same name'],
] as const;

interface Definition {
  readonly key: string;
  readonly fields: JsonFields;
  readonly name: string;
  readonly state: string;
  /** Other definitions with the same name, or of the same server. */
  readonly others: number;
}

export function Discovery(): Markup {
  const { answer, error, isAsking, again } = useAsked<unknown>('ui/discovery');
  const { cwd, isEnabled, diagnostics } = membersOf(answer);
  const all = useMemo(() => definitionsIn(answer), [answer]);
  const shown = useMemo(() => all.filter(fits), [all, filter.value, only.value]);
  const [key] = route.value.rest;
  const chosen = all.find((one) => one.key === key);
  const told = recordsOf(diagnostics).filter(({ level }) => level !== 'info');
  const used = all.filter(({ state }) => state === 'ready').length;
  return html`<${Screen} title="Discovery" note=${answer === undefined ? (isAsking ? 'Reading the files of all clients' : '') : html`${plural(all.length, 'definition')}, ${used} used, as seen from <code>${text(cwd)}</code>`}
    actions=${html`<button type="button" class="plain" onClick=${again}>Look again</button>`} fills>
    <div class="toolbar">
      <${Filter} filter=${filter} hint="Filter by name, client or file" label="Filter definitions" />
      <${Segments} kinds=${KINDS} chosen=${only} />
    </div>
    ${error ? html`<${Failure} error=${error} />` : null}
    ${isEnabled === false ? html`<p class="notice">Only the bridge's own config is used: <code>discovery.enabled</code> is false.</p>` : null}
    ${told.length > 0 ? html`<details class="notice"><summary>${plural(told.length, 'remark')} on the files</summary><ul>${told.slice(0, 50).map((one, i) => html`<li key=${i}>${text(one.message, 500)}</li>`)}</ul></details>` : null}
    <div class=${chosen === undefined ? 'split' : 'split split-open'}>
      <${Table} rows=${shown} columns=${COLUMNS} keyOf=${keyOf} label="Definitions" chosen=${key}
        empty=${html`<${Empty} title=${answer === undefined ? 'Looking' : all.length === 0 ? 'No client has a server in its files' : 'No definition fits this filter'} command=${answer !== undefined && all.length === 0 ? 'mcp-bridge add NAME -- COMMAND' : undefined} />`} />
      ${chosen === undefined ? null : html`<${Detail} definition=${chosen} all=${all} />`}
    </div>
  </>`;
}

const keyOf = ({ key }: Definition): string => key;

function definitionsIn(answer: unknown): readonly Definition[] {
  const list = recordsOf(membersOf(answer).servers);
  const names = new Map<string, number>();
  for (const { name } of list) names.set(textOf(name), (names.get(textOf(name)) ?? 0) + 1);
  return list.map((fields, i) => {
    const name = textOf(fields.name);
    return { key: `${i}`, fields, name, state: textOf(fields.state), others: (names.get(name) ?? 1) - 1 };
  });
}

function fits({ fields, name, state, others }: Definition): boolean {
  if (only.value === 'used' && state !== 'ready') return false;
  if (only.value === 'not' && state === 'ready') return false;
  if (only.value === 'shadowed' && others === 0) return false;
  const text = `${name} ${textOf(fields.client)} ${textOf(fields.file)} ${state}`.toLowerCase();
  return filter.value
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function toneOfState(state: string): Tone {
  switch (state) {
    case 'ready':
      return 'ok';
    case 'pending-approval':
    case 'missing-input':
      return 'warn';
    case 'blocked':
    case 'invalid':
    case 'rejected':
      return 'bad';
    default:
      return 'quiet';
  }
}

const COLUMNS: readonly Column<Definition>[] = [
  {
    title: 'Server',
    width: 'minmax(130px, 1.2fr)',
    sort: ({ name }) => name,
    cell: ({ key, name, state }) => rowLink(address('discovery', key), toneOfState(state), name),
  },
  {
    title: 'State',
    width: '132px',
    sort: ({ state }) => state,
    cell: ({ state }) => outcome(toneOfState(state), state.replaceAll('-', ' ')),
  },
  {
    title: 'Client',
    width: 'minmax(80px, 0.8fr)',
    sort: ({ fields }) => textOf(fields.client),
    cell: ({ fields }) => clipped(fields.client),
  },
  {
    title: 'Scope',
    width: '78px',
    isExtra: true,
    sort: ({ fields }) => textOf(fields.scope),
    cell: ({ fields }) => html`<span class="muted">${textOf(fields.scope)}</span>`,
  },
  {
    title: 'File',
    width: 'minmax(140px, 2.2fr)',
    isExtra: true,
    sort: ({ fields }) => textOf(fields.file),
    cell: ({ fields }) => html`<span class="clip faint from-end">${text(fields.file)}</span>`,
  },
  {
    title: 'Same name',
    width: '86px',
    isNumber: true,
    isExtra: true,
    sort: ({ others }) => others,
    cell: ({ others }) => (others === 0 ? html`<span class="zero">–</span>` : `${others} more`),
  },
];

function Detail({ definition, all }: { definition: Definition; all: readonly Definition[] }): Markup {
  const { fields, name, state } = definition;
  const namesakes = all.filter((one) => one.name === name && one !== definition);
  const differences = recordsOf(fields.differences);
  return html`<${Aside} label="Definition" title=${text(name)} screen="discovery">
    <p class="detail-state"><${Badge} tone=${toneOfState(state)}>${state.replaceAll('-', ' ')}</><span class="muted">${text(fields.reason ?? '', 400)}</span></p>
    <${Facts} facts=${[
      ['File', text(fields.file, 400)],
      ['Place in it', textOf(fields.pointer) === '' ? null : html`<code>${text(fields.pointer)}</code>`],
      ['Client', html`${text(`${textOf(fields.client)}, ${textOf(fields.scope)}`)}`],
      ['Known as', textOf(fields.alias) === '' ? null : text(fields.alias)],
      ['Runs', html`<${Launch} launch=${fields} />`],
      ['In', fields.cwd === null ? null : text(fields.cwd)],
      ['Variables', textsOf(fields.variables).length === 0 ? null : text(textsOf(fields.variables).join(', '))],
      ['Needs', textsOf(fields.inputs).length === 0 ? null : text(textsOf(fields.inputs).join(', '))],
      ['Rule', textOf(membersOf(fields.policy).reason) === '' ? null : text(membersOf(fields.policy).reason)],
      [
        'Changed since',
        differences.length === 0 ? null : `${plural(differences.length, 'part')} since it was decided about`,
      ],
    ]} />
    ${namesakes.length === 0 ? null : html`<div><h3 class="detail-title">Others of this name</h3><ul>${namesakes.map((one) => html`<li key=${one.key}><a class="line" href=${address('discovery', one.key)}>${dot(toneOfState(one.state))}<span class="line-main">${text(one.fields.client)}</span><span class="line-side">${one.state.replaceAll('-', ' ')}</span></a></li>`)}</ul></div>`}
    ${state === 'pending-approval' ? html`<a class="button" href=${address('inbox')}>Decide in the inbox</a>` : null}
  </>`;
}

/** The whole command, or the address. */
function Launch({ launch }: { launch: JsonFields }): Markup {
  const words = [textOf(launch.command), ...textsOf(launch.args)].filter((word) => word !== '');
  const line = textOf(launch.url) === '' ? words.map(shellWord).join(' ') : textOf(launch.url);
  return html`<code class="launch">${text(line, 20_000)}</code>`;
}
