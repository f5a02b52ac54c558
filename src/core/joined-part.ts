// One server's part of a joined list, made once for each answer of the server. It keeps where the items stand in the
// server's own bytes, and makes an item when somebody asks for it: a list may have tens of thousands, and each would be
// an object and a name or two.

import type { ToolGate } from '../model/tool-gate.ts';
import { LISTS, type ListKind } from '../protocol/era.ts';
import { lastingCopy } from '../util/lasting-bytes.ts';
import { outwardUri, pagesNamedIn } from './app-pages.ts';
import { joinedName, plainJoinedName } from './joined-names.ts';
import type { ListedItem } from './listed-item.ts';
import { itemsIn, keyOf } from './lists.ts';
import type { ListPage } from './server-knowledge.ts';

/** How the names of a part are made. */
export interface PartNaming {
  /** Clients may see one server under different aliases. */
  readonly alias: string;
  /** The longest joined name. */
  readonly longestName: number;
}

export class JoinedPart {
  readonly #listed: ListedItems;
  /** The numbers of the items that are shown; undefined for all of them. */
  readonly #shown: readonly number[] | undefined;

  constructor(listed: ListedItems, shown?: readonly number[]) {
    this.#listed = listed;
    this.#shown = shown;
  }

  /** The number of items that are shown. */
  get size(): number {
    return this.#shown?.length ?? this.#listed.size;
  }

  /** The item at a place below the size. */
  itemAt(place: number): ListedItem {
    return this.#listed.itemAt(this.#shown?.[place] ?? place);
  }

  /** The names or URIs that are shown. */
  *shownKeys(): Iterable<string> {
    for (let place = 0; place < this.size; place++) yield this.#listed.keyAt(this.#shown?.[place] ?? place);
  }

  /** All names or URIs. */
  *keys(): Iterable<string> {
    for (let n = 0; n < this.#listed.size; n++) yield this.#listed.keyAt(n);
  }

  has(key: string): boolean {
    return this.#listed.find(key) !== undefined;
  }

  /** The server's own name or URI, as JSON with one byte for each character; undefined for a key that it does not list. */
  ownKeyOf(key: string): string | undefined {
    const n = this.#listed.find(key);
    return n === undefined ? undefined : this.#listed.ownTextAt(n);
  }

  /** The part that a client may see. A forbidden tool still occupies its name, so that no other tool gets it. */
  permittedBy(gate: ToolGate): JoinedPart {
    if (gate.isOpen) return this;
    const known = permitted.get(gate) ?? new WeakMap<JoinedPart, JoinedPart>();
    permitted.set(gate, known);
    const seen = known.get(this) ?? new JoinedPart(this.#listed, this.#listed.allowedBy(gate));
    known.set(this, seen);
    return seen;
  }
}

const permitted = new WeakMap<ToolGate, WeakMap<JoinedPart, JoinedPart>>();

/** The parts of a list, under each alias and length of names that it has. */
const parts = new WeakMap<readonly ListPage[], readonly NamedPart[]>();

interface NamedPart extends PartNaming {
  readonly part: JoinedPart;
}

export function joinedPart(kind: ListKind, pages: readonly ListPage[], naming: PartNaming): JoinedPart {
  const { alias, longestName } = naming;
  const made = parts.get(pages);
  const known = made?.find((one) => one.alias === alias && one.longestName === longestName);
  if (known !== undefined) return known.part;
  const part = new JoinedPart(new ListedItems(kind, pages, naming));
  const named = { alias, longestName, part };
  parts.set(pages, made?.concat(named) ?? [named]);
  return part;
}

/** The numbers that are kept for an item: its beginning and end, and those of its name or URI. */
const [FROM, TO, KEY_FROM, KEY_TO, NUMBERS] = [0, 1, 2, 3, 4];

/** Nearly all names and URIs are spelled as they are. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** The items of a list. */
class ListedItems {
  readonly #kind: ListKind;
  readonly #alias: string;
  /** The bytes in which items stand, in their order: mostly those of one page. */
  #bytes: readonly Buffer[] = [];
  /** The number of the first item in each of them. */
  #firsts: readonly number[] = [];
  /** NUMBERS of each item. */
  #spans: readonly number[] = [];
  /** The joined names that are not made of alias and own name alone, by the numbers of their items. */
  #names: Map<number, string> | undefined;
  /** The numbers of items by their names or URIs, made when one is looked for. */
  #byKey: ReadonlyMap<string, number> | undefined;

  constructor(kind: ListKind, pages: readonly ListPage[], naming: PartNaming) {
    this.#kind = kind;
    this.#alias = naming.alias;
    this.#read(pages, naming);
  }

  #read(pages: readonly ListPage[], { alias, longestName }: PartNaming): void {
    const [bytes, firsts, spans]: [Buffer[], number[], number[]] = [[], [], []];
    const taken = new Set<string>();
    const freeName = nameGiver((own) => joinedName(alias, own, longestName), taken);
    for (const { result } of pages)
      for (const one of itemsOf(this.#kind, result)) {
        const item = this.#kind === 'tools' ? withPages(one, alias) : one;
        const key = this.#hasNames ? freeName(item.key) : item.key;
        if (taken.has(key)) continue; // the server lists one URI twice
        const n = taken.size;
        taken.add(key);
        if (bytes.at(-1) !== item.b) {
          bytes.push(item.b);
          firsts.push(n);
        }
        if (this.#hasNames && key !== plainJoinedName(alias, item.key)) this.#noteName(n, key);
        spans.push(item.from, item.to, item.keyFrom, item.keyTo);
      }
    // Copies have no room behind their elements.
    this.#bytes = bytes.slice();
    this.#firsts = firsts.slice();
    this.#spans = spans.slice();
  }

  #noteName(n: number, name: string): void {
    this.#names ??= new Map();
    this.#names.set(n, name);
  }

  /** True for prompts and tools, which have names. Resources and templates have URIs, see `outward`. */
  get #hasNames(): boolean {
    return LISTS[this.#kind].key === 'name';
  }

  get size(): number {
    return this.#spans.length / NUMBERS;
  }

  itemAt(n: number): ListedItem {
    const b = this.#bytesOf(n);
    const [from, to, keyFrom, keyTo] = [this.#at(n, FROM), this.#at(n, TO), this.#at(n, KEY_FROM), this.#at(n, KEY_TO)];
    return { b, from, to, keyFrom, keyTo, key: this.keyAt(n), isRenamed: this.#hasNames };
  }

  #at(n: number, place: number): number {
    return this.#spans[n * NUMBERS + place] ?? 0;
  }

  /** The bytes in which an item stands. */
  #bytesOf(n: number): Buffer {
    let [low, high] = [0, this.#firsts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#firsts[middle] ?? 0) <= n) low = middle;
      else high = middle - 1;
    }
    return this.#bytes[low] as Buffer;
  }

  /** The name or URI of an item in the joined list. */
  keyAt(n: number): string {
    if (!this.#hasNames) return this.#ownKeyAt(n);
    return this.#names?.get(n) ?? plainJoinedName(this.#alias, this.#ownKeyAt(n));
  }

  /** The server's own name or URI. */
  #ownKeyAt(n: number): string {
    const [b, from, to] = [this.#bytesOf(n), this.#at(n, KEY_FROM), this.#at(n, KEY_TO)];
    const text = b.latin1Slice(from + 1, to - 1);
    return PLAIN.test(text) ? text : (JSON.parse(b.toString('utf8', from, to)) as string);
  }

  /** The same, as JSON with one byte for each character. */
  ownTextAt(n: number): string {
    return this.#bytesOf(n).latin1Slice(this.#at(n, KEY_FROM), this.#at(n, KEY_TO));
  }

  find(key: string): number | undefined {
    this.#byKey ??= new Map(Array.from({ length: this.size }, (_, n) => [this.keyAt(n), n]));
    return this.#byKey.get(key);
  }

  /** The numbers of the tools that may be called. */
  allowedBy(gate: ToolGate): readonly number[] {
    const all = Array.from({ length: this.size }, (_, n) => n);
    return all.filter((n) => gate.refusalOf(this.#ownKeyAt(n)) === undefined);
  }
}

/** The items with a usable key. An item without a key cannot be asked for; an item with too long a key is left out. */
function* itemsOf(kind: ListKind, result: Buffer): Generator<ListedItem> {
  for (const item of itemsIn(kind, result)) {
    const named = keyOf(kind, result, item);
    if (named === undefined) continue;
    const { key, span } = named;
    const { from, to } = item;
    yield { b: result, from, to, keyFrom: span.from, keyTo: span.to, key, isRenamed: false };
  }
}

/** Numbers equal names. Each count continues where the last one ended, because there may be very many. */
function nameGiver(nameOf: (own: string) => string, taken: ReadonlySet<string>): (own: string) => string {
  const numbers = new Map<string, number>();
  return (own) => {
    let name = nameOf(own);
    if (!taken.has(name)) return name;
    let n = numbers.get(own) ?? 1;
    while (taken.has(name)) name = nameOf(`${own}#${++n}`);
    numbers.set(own, n);
    return name;
  };
}

/** The tool with its page URIs as the view shows them. */
function withPages(item: ListedItem, alias: string): ListedItem {
  const { b, from: begin, to: end, keyFrom, keyTo } = item;
  const pages = pagesNamedIn(b.subarray(begin, end));
  if (pages.length === 0) return item;
  let own = b.subarray(begin, end);
  let at = keyFrom - begin;
  for (const { from, to, uri } of pages.toReversed()) {
    const text = Buffer.from(JSON.stringify(outwardUri(alias, uri)));
    own = Buffer.concat([own.subarray(0, from), text, own.subarray(to)]);
    if (from < at) at += text.length - (to - from);
  }
  own = lastingCopy(own);
  return { ...item, b: own, from: 0, to: own.length, keyFrom: at, keyTo: at + keyTo - keyFrom };
}
