// The screen of `top`: which list is shown, its sorting, its filter, and the visible part. Keys change it; it knows
// neither daemon nor terminal.

import { cut } from './table.ts';
import type { TopColumn, TopList, TopRow } from './top-lists.ts';

const TOP_LISTS = ['servers', 'clients', 'calls'] as const;
export type TopListName = (typeof TOP_LISTS)[number];

interface Sorting {
  readonly column: number;
  readonly isDown: boolean;
}

/** The default sorting puts first what deserves a look: the busiest rows, and the newest call. */
const FIRST_SORTING: Readonly<Record<TopListName, Sorting>> = {
  servers: { column: 4, isDown: true },
  clients: { column: 4, isDown: true },
  calls: { column: 0, isDown: true },
};

export interface TopContent {
  /** The lines above the lists. */
  readonly head: string;
  /** Text after the names of the lists. */
  readonly notes: Readonly<Record<TopListName, string>>;
  readonly lists: Readonly<Record<TopListName, TopList>>;
  /** A message for the user; '' for none. */
  readonly warning: string;
}

export interface TopSize {
  readonly columns: number;
  readonly rows: number;
}

const LONGEST_FILTER = 40;
const GAP = 2;
/** The head, the list names, an empty line, the titles, and the line of keys. */
const OTHER_LINES = 5;
const ESCAPE = '\u001b';
const KEYS = 'Tab list  s/S sort  r reverse  / filter  ↑↓ scroll  q ends';
const KEYS_OF_FILTER = 'Enter keeps the filter, Esc removes it';

export class TopScreen {
  #list: TopListName = 'servers';
  readonly #sortings: Record<TopListName, Sorting> = { ...FIRST_SORTING };
  #filter = '';
  #isTyping = false;
  #from = 0;
  #page = 1;

  /** Takes one key, or its bytes; false if it has no meaning here. */
  press(key: string): boolean {
    return this.#isTyping ? this.#type(key) : this.#command(key);
  }

  #type(key: string): boolean {
    if (key === '\r' || key === '\n') this.#isTyping = false;
    else if (key === ESCAPE) this.#setFilter('', false);
    else if (key === '\u007f' || key === '\b') this.#setFilter([...this.#filter].slice(0, -1).join(''));
    else if (/^[^\p{C}]+$/u.test(key)) this.#setFilter([...`${this.#filter}${key}`].slice(0, LONGEST_FILTER).join(''));
    else return key.startsWith(ESCAPE);
    return true;
  }

  #setFilter(filter: string, isTyping = true): void {
    this.#filter = filter;
    this.#isTyping = isTyping;
    this.#from = 0;
  }

  #command(key: string): boolean {
    switch (key) {
      case '\t':
        return this.#show(1);
      case `${ESCAPE}[Z`:
        return this.#show(-1);
      case '1':
      case '2':
      case '3':
        return this.#show(Number(key) - 1 - TOP_LISTS.indexOf(this.#list));
      case 's':
        return this.#sort(1);
      case 'S':
        return this.#sort(-1);
      case 'r': {
        const { column, isDown } = this.#sortings[this.#list];
        this.#sortings[this.#list] = { column, isDown: !isDown };
        return true;
      }
      case '/':
        this.#isTyping = true;
        return true;
      case ESCAPE:
        this.#setFilter('', false);
        return true;
      case `${ESCAPE}[A`:
      case 'k':
        return this.#scroll(-1);
      case `${ESCAPE}[B`:
      case 'j':
        return this.#scroll(1);
      case `${ESCAPE}[5~`:
        return this.#scroll(-this.#page);
      case `${ESCAPE}[6~`:
      case ' ':
        return this.#scroll(this.#page);
      case `${ESCAPE}[H`:
      case 'g':
        return this.#scroll(Number.NEGATIVE_INFINITY);
      case `${ESCAPE}[F`:
      case 'G':
        return this.#scroll(Number.MAX_SAFE_INTEGER);
      default:
        return false;
    }
  }

  #show(steps: number): true {
    const next = (TOP_LISTS.indexOf(this.#list) + steps + TOP_LISTS.length) % TOP_LISTS.length;
    this.#list = TOP_LISTS[next] ?? 'servers';
    this.#from = 0;
    return true;
  }

  /** Sorts by the next column: numbers from the largest, names from the first. */
  #sort(steps: number): true {
    const columns = this.#columns.length;
    const column = (this.#sortings[this.#list].column + steps + columns) % columns;
    this.#sortings[this.#list] = { column, isDown: this.#columns[column]?.isNumber === true };
    return true;
  }

  #columns: readonly TopColumn[] = [];

  /** Scrolls; the end is known only when the list is drawn. */
  #scroll(rows: number): true {
    this.#from = Math.max(0, this.#from + rows);
    return true;
  }

  /** The lines of the screen: as many as its rows, none wider than its columns. */
  lines({ head, notes, lists, warning }: TopContent, { columns, rows }: TopSize): string[] {
    const list = lists[this.#list];
    this.#columns = list.columns;
    const all = this.#sorted(list).filter((row) => this.#fits(row));
    const room = Math.max(1, rows - OTHER_LINES - (warning === '' ? 0 : 1));
    this.#page = room;
    this.#from = Math.min(this.#from, Math.max(0, all.length - room));
    const shown = all.slice(this.#from, this.#from + room);
    const widths = widthsIn(list.columns, columns);
    const body = shown.map((row) =>
      line(
        row.map(({ text }) => text),
        list.columns,
        widths,
      ),
    );
    const empty = Array.from({ length: room - body.length }, () => '');
    return [
      head,
      this.#tabs(notes),
      '',
      line(this.#titles(list.columns), list.columns, widths),
      ...(body.length === 0 ? [this.#nothing(), ...empty.slice(1)] : [...body, ...empty]),
      ...(warning === '' ? [] : [warning]),
      this.#footer(all.length, shown.length, columns),
    ]
      .slice(0, rows)
      .map((text) => cut(text, columns));
  }

  #sorted({ rows }: TopList): TopRow[] {
    const { column, isDown } = this.#sortings[this.#list];
    const sign = isDown ? -1 : 1;
    return rows.toSorted((a, b) => sign * compared(a[column]?.by ?? '', b[column]?.by ?? ''));
  }

  #fits(row: TopRow): boolean {
    const wanted = this.#filter.toLowerCase();
    return wanted === '' || row.some(({ text }) => text.toLowerCase().includes(wanted));
  }

  #tabs(notes: TopContent['notes']): string {
    const names = TOP_LISTS.map((name) => {
      const text = notes[name] === '' ? name : `${name} ${notes[name]}`;
      return name === this.#list ? `[${text}]` : ` ${text} `;
    });
    const filter =
      this.#isTyping || this.#filter !== '' ? `   filter: ${this.#filter}${this.#isTyping ? '_' : ''}` : '';
    return `${names.join(' ')}${filter}`;
  }

  #titles(columns: readonly TopColumn[]): string[] {
    const { column, isDown } = this.#sortings[this.#list];
    return columns.map(({ title, width = Number.POSITIVE_INFINITY }, i) =>
      i !== column ? title : `${title.slice(0, width - 1)}${isDown ? '▼' : '▲'}`,
    );
  }

  #nothing(): string {
    if (this.#filter !== '') return `Nothing has "${this.#filter}" in it. Esc removes the filter.`;
    if (this.#list === 'calls') return 'No call since this was opened. The next one appears here.';
    return this.#list === 'clients' ? 'No client is connected.' : 'No server has been needed yet.';
  }

  #footer(all: number, shown: number, columns: number): string {
    const keys = this.#isTyping ? KEYS_OF_FILTER : KEYS;
    const place = shown < all ? `${this.#from + 1}-${this.#from + shown} of ${all}` : '';
    return `${keys}${place.padStart(Math.max(0, columns - keys.length))}`;
  }
}

function compared(a: number | string, b: number | string): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return a === b ? 0 : String(a) < String(b) ? -1 : 1;
}

/** The widths of the columns: one takes what the others leave. */
function widthsIn(columns: readonly TopColumn[], all: number): number[] {
  const fixed = columns.reduce((sum, { width = 0 }) => sum + width + GAP, -GAP);
  return columns.map(({ width }) => width ?? Math.max(4, all - fixed));
}

function line(cells: readonly string[], columns: readonly TopColumn[], widths: readonly number[]): string {
  const fitted = cells.map((cell, i) => {
    const width = widths[i] ?? 0;
    const text = cut(cell, width);
    const space = ' '.repeat(Math.max(0, width - [...text].length));
    return columns[i]?.isNumber === true ? space + text : text + space;
  });
  return fitted.join(' '.repeat(GAP)).trimEnd();
}
