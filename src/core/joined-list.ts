// One server's lists as they stand in a joined one: its items with their joined names, cut out of the bytes of its own
// answers. Made once for each answer, however many clients ask.

import { LISTS, type ListKind } from './era/era-2025.ts';
import { joinedName } from './joined-names.ts';
import type { ListPage } from './known-server.ts';
import { itemsIn, keyOf } from './listed-keys.ts';
import type { ToolGate } from './tool-gate.ts';

export interface JoinedItem {
  readonly bytes: Buffer;
  /** Where in them the name or URI stands, and what it is. */
  readonly keyFrom: number;
  readonly keyTo: number;
  readonly key: string;
}

export interface JoinedPart {
  readonly items: readonly JoinedItem[];
  /** By what the client says, what the server calls it, as JSON of which each character is one byte. */
  readonly ownKeys: ReadonlyMap<string, string>;
}

/** By alias, since several clients may see one server under different ones. */
const parts = new WeakMap<readonly ListPage[], Map<string, JoinedPart>>();

export function joinedPart(kind: ListKind, pages: readonly ListPage[], alias: string): JoinedPart {
  const made = parts.get(pages) ?? new Map<string, JoinedPart>();
  parts.set(pages, made);
  const part = made.get(alias) ?? makePart(kind, pages, alias);
  made.set(alias, part);
  return part;
}

const permitted = new WeakMap<ToolGate, WeakMap<JoinedPart, JoinedPart>>();

/** What of it a client may see. What it may not call keeps its name, so that nobody else gets that. */
export function permittedPart(part: JoinedPart, gate: ToolGate): JoinedPart {
  if (gate.isOpen) return part;
  const known = permitted.get(gate) ?? new WeakMap<JoinedPart, JoinedPart>();
  permitted.set(gate, known);
  const mayCall = ({ key }: JoinedItem): boolean => gate.refusalOf(decoded(part.ownKeys.get(key))) === undefined;
  const seen = known.get(part) ?? { ...part, items: part.items.filter(mayCall) };
  known.set(part, seen);
  return seen;
}

function decoded(ownKey = '""'): string {
  return JSON.parse(Buffer.from(ownKey, 'latin1').toString()) as string;
}

function makePart(kind: ListKind, pages: readonly ListPage[], alias: string): JoinedPart {
  const items: JoinedItem[] = [];
  const ownKeys = new Map<string, string>();
  const freeName = nameGiver(alias, ownKeys);
  for (const { result } of pages)
    for (const item of itemsOf(kind, result)) {
      const own = item.bytes.latin1Slice(item.keyFrom, item.keyTo);
      const joined = hasNames(kind) ? renamed(item, freeName(item.key)) : item;
      if (ownKeys.has(joined.key)) continue; // the same URI twice
      ownKeys.set(joined.key, own);
      items.push(joined);
    }
  return { items, ownKeys };
}

/** Prompts and tools go by names, resources and templates by URIs, which are nobody's to change. */
function hasNames(kind: ListKind): boolean {
  return LISTS[kind].key === 'name';
}

/** Items that have no name, or are no objects, cannot be asked for; those with too long a name are left out. */
function* itemsOf(kind: ListKind, result: Buffer): Generator<JoinedItem> {
  for (const item of itemsIn(kind, result)) {
    const named = keyOf(kind, result, item);
    if (named === undefined) continue;
    const { key, span } = named;
    const { from, to } = item;
    yield { bytes: result.subarray(from, to), keyFrom: span.from - from, keyTo: span.to - from, key };
  }
}

/** Numbers namesakes, each from where the one before it has ended: there may be any number of them. */
function nameGiver(alias: string, taken: ReadonlyMap<string, string>): (own: string) => string {
  const numbers = new Map<string, number>();
  return (own) => {
    let name = joinedName(alias, own);
    if (!taken.has(name)) return name;
    let n = numbers.get(own) ?? 1;
    while (taken.has(name)) name = joinedName(alias, `${own}#${++n}`);
    numbers.set(own, n);
    return name;
  };
}

/** The item under another name or URI. */
export function renamed({ bytes, keyFrom, keyTo }: JoinedItem, key: string): JoinedItem {
  const text = Buffer.from(JSON.stringify(key));
  return {
    bytes: Buffer.concat([bytes.subarray(0, keyFrom), text, bytes.subarray(keyTo)]),
    keyFrom,
    keyTo: keyFrom + text.length,
    key,
  };
}
