// The tools with the most expensive answers, and the limit that would cut them.

import { useMemo } from 'preact/hooks';
import { membersOf, recordsOf, textOf } from '../data.ts';
import { bytes, count, plural, shortCount } from '../format.ts';
import { html, type Markup } from '../html.ts';
import { useAsked } from '../parts/asked.ts';
import { Bar, Empty, Failure } from '../parts/elements.ts';
import { type Column, Table } from '../parts/table.ts';
import { address } from '../route.ts';
import { text } from '../untrusted.ts';

const LOOK_MS = 3000;
const MOST_SHOWN = 5000;
/** The top rows that the headline sums up. */
const FEW = 3;

interface AnswersRow {
  readonly key: string;
  readonly server: string;
  readonly tool: string;
  readonly answers: number;
  readonly bytes: number;
  readonly largest: number;
  readonly tokens: number;
  readonly cut: number;
  /** The tokens as a share of the most expensive tool's. */
  readonly share: number;
}

export function Answers(): Markup {
  const { answer, error } = useAsked<unknown>('bridge/answers', { limit: MOST_SHOWN }, LOOK_MS);
  const rows = useMemo(() => rowsIn(answer), [answer]);
  if (error && answer === undefined) return html`<${Failure} error=${error} />`;
  return html`${rows.length === 0 ? null : html`<p class="muted">${headline(rows)} To cut longer answers for every client, set <code>results.maxBytes</code> in the config; what is cut stays readable with <code>read_result</code>.</p>`}
    <${Table} rows=${rows} columns=${COLUMNS} keyOf=${keyOf} label="Answers" empty=${html`<${Empty} title=${answer === undefined ? 'Asking' : 'No tool has answered yet'} text="Each answer is counted here: its bytes, and about how many tokens a model reads of it." command="mcp-bridge call SERVER TOOL" />`} />`;
}

const keyOf = ({ key }: AnswersRow): string => key;

function headline(rows: readonly AnswersRow[]): string {
  const sum = (of: readonly AnswersRow[]): number => of.reduce((total, { tokens }) => total + tokens, 0);
  const all = sum(rows);
  const tokens = `Models got about ${shortCount(all)} tokens from ${plural(rows.length, 'tool')} since the daemon started`;
  if (all === 0 || rows.length <= FEW) return `${tokens}.`;
  return `${tokens}, ${Math.round((sum(rows.slice(0, FEW)) / all) * 100)} % of them from the first ${FEW}.`;
}

function rowsIn(answer: unknown): readonly AnswersRow[] {
  const list = recordsOf(membersOf(answer).tools);
  const most = Math.max(1, ...list.map(({ tokens }) => Number(tokens ?? 0)));
  return list.map((one) => ({
    key: `${textOf(one.server)} ${textOf(one.tool)}`,
    server: textOf(one.server),
    tool: textOf(one.tool),
    answers: Number(one.answers ?? 0),
    bytes: Number(one.bytes ?? 0),
    largest: Number(one.largestBytes ?? 0),
    tokens: Number(one.tokens ?? 0),
    cut: Number(one.cut ?? 0),
    share: Number(one.tokens ?? 0) / most,
  }));
}

const COLUMNS: readonly Column<AnswersRow>[] = [
  {
    title: 'Tool',
    width: 'minmax(140px, 1.4fr)',
    sort: ({ tool }) => tool,
    cell: ({ server, tool }) =>
      tool === ''
        ? html`<span class="muted">all others</span>`
        : html`<a class="row-link" href=${address('servers', server, 'tools', tool)}><span class="clip tool name">${text(tool)}</span></a>`,
  },
  {
    title: 'Server',
    width: 'minmax(80px, 1fr)',
    isExtra: true,
    sort: ({ server }) => server,
    cell: ({ server }) => html`<span class="clip">${text(server)}</span>`,
  },
  {
    title: 'Share of tokens',
    width: 'minmax(90px, 1fr)',
    isExtra: true,
    cell: ({ share }) => html`<${Bar} share=${share} />`,
  },
  {
    title: 'Tokens',
    width: '84px',
    isNumber: true,
    sort: ({ tokens }) => tokens,
    cell: ({ tokens }) => shortCount(tokens),
  },
  {
    title: 'An answer',
    width: '84px',
    isNumber: true,
    isExtra: true,
    sort: ({ tokens, answers }) => tokens / answers,
    cell: ({ tokens, answers }) => shortCount(tokens / Math.max(1, answers)),
  },
  {
    title: 'Largest',
    width: '84px',
    isNumber: true,
    sort: ({ largest }) => largest,
    cell: ({ largest }) => bytes(largest),
  },
  {
    title: 'Bytes',
    width: '84px',
    isNumber: true,
    isExtra: true,
    sort: ({ bytes: all }) => all,
    cell: ({ bytes: all }) => bytes(all),
  },
  {
    title: 'Answers',
    width: '76px',
    isNumber: true,
    isExtra: true,
    sort: ({ answers }) => answers,
    cell: ({ answers }) => count(answers),
  },
  {
    title: 'Cut',
    width: '60px',
    isNumber: true,
    isExtra: true,
    sort: ({ cut }) => cut,
    cell: ({ cut }) => (cut === 0 ? html`<span class="zero">–</span>` : count(cut)),
  },
];
