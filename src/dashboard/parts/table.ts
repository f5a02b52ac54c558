// A table of any length: only visible rows are in the page. All rows have the same height.

import { useMemo, useState } from 'preact/hooks';
import { html, type Markup } from '../html.ts';
import { text } from '../untrusted.ts';
import { dot, type Tone } from './elements.ts';
import { useInSight } from './in-sight.ts';

const ROW_HEIGHT = 36;
/** As in the style sheet: between two cells, and at both sides of a row. */
const GAP = 14;
const SIDES = 24;

export interface Column<Row> {
  readonly title: string;
  /** True if the title is only for screen readers. */
  readonly isUntitled?: boolean;
  /** As in `grid-template-columns`. */
  readonly width: string;
  readonly cell: (row: Row) => unknown;
  /** Makes the column sortable. */
  readonly sort?: (row: Row) => number | string;
  readonly isNumber?: boolean;
  /** True if it may be left out to save room. */
  readonly isExtra?: boolean;
  /** Columns with less worth are left out first; 0 if undefined. */
  readonly worth?: number;
}

interface TableProps<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly label: string;
  readonly empty: Markup;
  /** The maximum number of visible rows; without it, the table fills the available height. */
  readonly most?: number;
  readonly chosen?: string | undefined;
}

export function Table<Row>(props: TableProps<Row>): Markup {
  const { rows, columns: all, keyOf, label, empty, most, chosen } = props;
  const [order, setOrder] = useState<{ readonly title: string; readonly by: 1 | -1 } | undefined>(undefined);
  const sorted = useMemo(() => inOrder(rows, all, order), [rows, order]);
  const { ref, from, to, width } = useInSight(rows.length, ROW_HEIGHT);
  const columns = useMemo(() => fitting(all, width), [all, width]);
  if (rows.length === 0) return html`<div class="table-empty">${empty}</div>`;
  const template = { gridTemplateColumns: columns.map(({ width }) => width).join(' ') };
  const height = most === undefined ? {} : { maxHeight: `${most * ROW_HEIGHT}px` };
  return html`<div class=${most === undefined ? 'table table-fills' : 'table'} role="table" aria-label=${label} aria-rowcount=${sorted.length + 1}>
    <div class="table-head" role="rowgroup"><div class="row" role="row" aria-rowindex="1" style=${template}>${columns.map(
      (column) =>
        html`<div key=${column.title} role="columnheader" class=${classOf(column)} aria-sort=${sortOf(column, order)}>${heading(column, order, setOrder)}</div>`,
    )}</div></div>
    <div class="table-body" role="rowgroup" ref=${ref} tabindex="0" aria-label=${label} style=${height}>
      <div class="table-length" role="presentation" style=${{ height: `${sorted.length * ROW_HEIGHT}px` }}>${sorted
        .slice(from, to)
        .map((row, i) => {
          const key = keyOf(row);
          return html`<div key=${key} class=${key === chosen ? 'row row-chosen' : 'row'} role="row" aria-rowindex=${from + i + 2}
          style=${{ ...template, top: `${(from + i) * ROW_HEIGHT}px` }}>${columns.map(
            (column) => html`<div key=${column.title} role="cell" class=${classOf(column)}>${column.cell(row)}</div>`,
          )}</div>`;
        })}</div>
    </div>
  </div>`;
}

type Order = { readonly title: string; readonly by: 1 | -1 } | undefined;

function heading<Row>(column: Column<Row>, order: Order, setOrder: (order: Order) => void): unknown {
  if (column.sort === undefined)
    return column.isUntitled ? html`<span class="hidden">${column.title}</span>` : column.title;
  const by = order?.title === column.title ? order.by : undefined;
  const next = by === undefined ? (column.isNumber ? -1 : 1) : by === 1 ? -1 : 1;
  return html`<button type="button" class="sorter" onClick=${() => setOrder({ title: column.title, by: next })}>${column.title}<span class="sort-sign" aria-hidden="true">${
    by === undefined ? '' : by === 1 ? '↑' : '↓'
  }</span></button>`;
}

function sortOf<Row>({ title, sort }: Column<Row>, order: Order): string | undefined {
  if (sort === undefined) return undefined;
  if (order?.title !== title) return 'none';
  return order.by === 1 ? 'ascending' : 'descending';
}

function classOf<Row>({ isNumber }: Column<Row>): string {
  return isNumber ? 'cell cell-number' : 'cell';
}

function inOrder<Row>(rows: readonly Row[], columns: readonly Column<Row>[], order: Order): readonly Row[] {
  const sort = columns.find(({ title }) => title === order?.title)?.sort;
  if (sort === undefined || order === undefined) return rows;
  return rows.toSorted((a, b) => {
    const [x, y] = [sort(a), sort(b)];
    return x === y ? 0 : (x < y ? -1 : 1) * order.by;
  });
}

/** The columns that fit. Optional columns are dropped by worth, lowest first, and from the right. */
function fitting<Row>(columns: readonly Column<Row>[], width: number): readonly Column<Row>[] {
  const kept = [...columns];
  const least = columns
    .filter(({ isExtra }) => isExtra)
    .toReversed()
    .toSorted((a, b) => (a.worth ?? 0) - (b.worth ?? 0));
  for (const column of least) {
    if (neededFor(kept) <= width) break;
    kept.splice(kept.indexOf(column), 1);
  }
  return kept;
}

function neededFor<Row>(columns: readonly Column<Row>[]): number {
  return columns.reduce((sum, { width }) => sum + Number(/\d+(?=px)/.exec(width)?.[0] ?? 0) + GAP, SIDES - GAP);
}

// --- cells that many tables use ---

export function clipped(value: unknown): Markup {
  return html`<span class="clip muted">${text(value)}</span>`;
}

export function outcome(tone: Tone, words: unknown): Markup {
  return html`<span class=${`outcome outcome-${tone}`}>${words}</span>`;
}

/** The link of a row; the whole row leads to it. */
export function rowLink(href: string, tone: Tone, name: unknown): Markup {
  return html`<a class="row-link" href=${href}>${dot(tone)}<span class="clip strong">${text(name)}</span></a>`;
}
