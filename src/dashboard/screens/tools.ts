// The search bench: what a query finds and why it ranks there, and how to turn a miss into a synonym. Below, all tools.

import { signal } from '@preact/signals';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ask } from '../connection.ts';
import { type JsonFields, membersOf, recordsOf, textOf, textsOf } from '../data.ts';
import { bytes, count, plural, shortCount } from '../format.ts';
import { html, type Markup } from '../html.ts';
import { useAsked } from '../parts/asked.ts';
import { Action, Badge, Bar, Empty, Failure, Panel, Screen, Tabs } from '../parts/elements.ts';
import { type Column, clipped, Table } from '../parts/table.ts';
import { address, go, route } from '../route.ts';
import { text } from '../untrusted.ts';
import { Answers } from './answers.ts';

const query = signal('');
const PAUSE_MS = 180;
/** The list is loaded only once, because it may be megabytes. */
const MOST_SHOWN = 12;

const PARTS = [
  ['all', 'All tools'],
  ['answers', 'Largest answers'],
] as const;

export function Tools(): Markup {
  const [typed, setTyped] = useState(query.value);
  const [part = 'all'] = route.value.rest;
  useEffect(() => {
    const timer = setTimeout(() => {
      query.value = typed;
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const isSearching = query.value.trim() !== '';
  const note = isSearching ? 'what an agent would find, and why' : part === 'answers' ? NOTE_OF_ANSWERS : NOTE;
  return html`<${Screen} title="Tools" note=${note} fills=${!isSearching}>
    <div class="toolbar"><input type="search" class="search search-wide" data-filter placeholder="Ask as an agent would: create an issue, read a file" aria-label="Search tools" value=${typed}
      onInput=${(event: Event) => setTyped((event.target as HTMLInputElement).value)} />
      ${isSearching ? null : html`<${Tabs} tabs=${PARTS} chosen=${part} label="Tools" onChoose=${(id: string) => (id === 'all' ? go('tools') : go('tools', id))} />`}</div>
    ${isSearching ? html`<${Bench} question=${query.value} />` : part === 'answers' ? html`<${Answers} />` : html`<${All} />`}
  </>`;
}

const NOTE = 'all that the bridge offers';
const NOTE_OF_ANSWERS = 'which of them fill the context of models';

function Bench({ question }: { question: string }): Markup {
  const { answer, error, again } = useAsked<unknown>('bridge/search', { query: question, limit: MOST_SHOWN });
  const { hits, words, notSearched } = membersOf(answer);
  const list = recordsOf(hits);
  const asked = recordsOf(words).map(({ word }) => textOf(word));
  const missing = textsOf(notSearched);
  const unknown =
    missing.length === 0 ? null : `not known yet: ${missing.slice(0, 4).join(', ')}${missing.length > 4 ? ' …' : ''}`;
  return html`<div class="columns columns-wide">
    <${Panel} title=${answer === undefined ? 'Searching' : plural(list.length, 'best tool')} aside=${unknown}>
      ${error ? html`<${Failure} error=${error} />` : null}
      ${answer !== undefined && list.length === 0 ? html`<${Empty} title="No tool was found" text="If one should have been, say what a word means, on the right." />` : null}
      <ol class="hits">${list.map((hit, i) => html`<${Hit} key=${`${textOf(hit.server)} ${textOf(hit.tool)}`} hit=${hit} rank=${i + 1} />`)}</ol>
    </>
    <div class="stack">
      <${Panel} title="The words of the question">${
        asked.length === 0
          ? html`<p class="panel-text muted">None of them counts.</p>`
          : html`<ul class="lines">${recordsOf(words).map((one, i) => html`<li key=${i} class="line"><span class="line-main tool">${text(one.word)}</span>${one.findsAny === false ? html`<${Badge} tone="warn">in no tool</>` : html`<span class="line-side">${meansOf(one)}</span>`}</li>`)}</ul>`
      }</>
      <${Synonym} question=${question} done=${again} />
    </div>
  </div>`;
}

/** The stems that a word may mean, besides itself. */
function meansOf(one: JsonFields): unknown {
  const others = textsOf(one.meant).filter((stem) => !textOf(one.word).startsWith(stem));
  return others.length === 0 ? 'finds tools' : html`also ${text(others.slice(0, 4).join(', '))}`;
}

const HOW: Readonly<Record<string, string>> = {
  stem: 'in another form',
  synonym: 'a synonym',
  beginning: 'its beginning',
  typo: 'nearly',
  phrase: 'its words',
};

function Hit({ hit, rank }: { hit: JsonFields; rank: number }): Markup {
  const relevance = Number(hit.relevance ?? 0);
  return html`<li class="hit"><span class="hit-rank">${rank}</span>
    <div class="hit-main"><p class="hit-name"><a href=${address('servers', textOf(hit.server), 'tools', textOf(hit.tool))}>${text(hit.server)} <span class="tool">${text(hit.tool)}</span></a></p>
      <p class="hit-text">${text(textOf(hit.title) || textOf(hit.description), 160)}</p>
      <p class="chips">${recordsOf(hit.matches).map((one, i) => {
        const [word, matched, how] = [textOf(one.word), textOf(one.matched), HOW[textOf(one.how)]];
        const place = one.field === 'server' ? 'of the server' : `in ${textOf(one.field)}`;
        return html`<span key=${i} class="chip why" title=${`${how === undefined ? 'as asked' : how}: the part of the question that this answers`}>${text(word)}${how === undefined || matched === word ? null : html` → ${text(matched)}`} <span class="muted">${place}</span> <b>${Number(one.weight ?? 0).toFixed(2)}</b></span>`;
      })}</p></div>
    <div class="hit-score"><b>${relevance.toFixed(2)}</b><${Bar} share=${relevance} /></div></li>`;
}

function Synonym({ question, done }: { question: string; done: () => void }): Markup {
  const [word, setWord] = useState('');
  const [means, setMeans] = useState('');
  const [made, setMade] = useState<string | undefined>(undefined);
  const words = question.split(/\s+/).filter((one) => one.length > 2);
  const make = async (): Promise<void> => {
    const list = means
      .split(',')
      .map((one) => one.trim())
      .filter(Boolean);
    const { file } = await ask<{ file: string }>('ui/synonym', { word: word.trim(), means: list });
    setMade(file);
    setWord('');
    setMeans('');
    done();
  };
  return html`<${Panel} title="Make a synonym"><div class="form">
    <p class="muted">An agent's word that your tools call something else. It is kept in your config.</p>
    <div class="field"><label for="synonym-word">Word</label><input id="synonym-word" type="text" value=${word} list="synonym-words" autocomplete="off" placeholder=${words.at(-1) ?? 'bug'} onInput=${(event: Event) => setWord((event.target as HTMLInputElement).value)} /><datalist id="synonym-words">${words.map((one) => html`<option key=${one} value=${one} />`)}</datalist></div>
    <div class="field"><label for="synonym-means">Also means</label><input id="synonym-means" type="text" value=${means} autocomplete="off" placeholder="issue, ticket" onInput=${(event: Event) => setMeans((event.target as HTMLInputElement).value)} /></div>
    <p class="form-end"><${Action} act=${make} kind="main" disabled=${word.trim() === '' || means.trim() === ''}>Keep it</>${made === undefined ? null : html`<span class="ok" role="status">Kept in ${text(made)}</span>`}</p></div></>`;
}

interface ToolRow {
  readonly key: string;
  readonly server: string;
  readonly name: string;
  readonly description: string;
  readonly size: number;
  readonly isEnabled: boolean;
  readonly isChanged: boolean;
}

function All(): Markup {
  const { answer, error, isAsking } = useAsked<unknown>('bridge/tools');
  const rows = useMemo(() => rowsIn(answer), [answer]);
  const size = useMemo(() => rows.reduce((sum, row) => sum + row.size, 0), [rows]);
  if (error) return html`<${Failure} error=${error} />`;
  return html`<p class="muted">${rows.length === 0 ? '' : `${plural(rows.length, 'tool')}. Their definitions take about ${shortCount(Math.ceil(size / 4))} tokens where a client is given all of them; the view discover takes 450 at most.`}</p>
    <${Table} rows=${rows} columns=${COLUMNS} keyOf=${keyOf} label="Tools" empty=${html`<${Empty} title=${isAsking ? 'Asking for all tools' : 'No tool is known yet'} text=${isAsking ? undefined : 'A server says what it has when it is first used.'} command=${isAsking ? undefined : 'mcp-bridge refresh'} />`} />`;
}

const keyOf = ({ key }: ToolRow): string => key;

function rowsIn(answer: unknown): readonly ToolRow[] {
  return recordsOf(membersOf(answer).servers).flatMap((server) =>
    recordsOf(server.tools).map((tool) => ({
      key: `${textOf(server.server)} ${textOf(tool.name)}`,
      server: textOf(server.server),
      name: textOf(tool.name),
      description: textOf(tool.description),
      size: Number(tool.bytes ?? 0),
      isEnabled: tool.refusal === null,
      isChanged: tool.isChanged === true,
    })),
  );
}

const COLUMNS: readonly Column<ToolRow>[] = [
  {
    title: 'Tool',
    width: 'minmax(140px, 1.2fr)',
    sort: ({ name }) => name,
    cell: ({ server, name }) =>
      html`<a class="row-link" href=${address('servers', server, 'tools', name)}><span class="clip tool name">${text(name)}</span></a>`,
  },
  {
    title: 'Server',
    width: 'minmax(90px, 0.7fr)',
    sort: ({ server }) => server,
    cell: ({ server }) => html`<span class="clip">${text(server)}</span>`,
  },
  {
    title: 'Description',
    width: 'minmax(140px, 2.4fr)',
    isExtra: true,
    cell: ({ description }) => clipped(description),
  },
  {
    title: 'Note',
    isUntitled: true,
    width: '70px',
    isExtra: true,
    cell: ({ isEnabled, isChanged }) =>
      isChanged ? html`<${Badge} tone="warn">changed</>` : isEnabled ? null : html`<${Badge}>off</>`,
  },
  {
    title: 'Size',
    width: '76px',
    isNumber: true,
    isExtra: true,
    sort: ({ size }) => size,
    cell: ({ size }) => bytes(size),
  },
  {
    title: 'Tokens',
    width: '68px',
    isNumber: true,
    sort: ({ size }) => size,
    cell: ({ size }) => count(Math.ceil(size / 4)),
  },
];
