// The names and URIs under which servers list what they have. They may be of any length; what is kept, compared and
// shown of them here is bounded, so an item with a longer one is left out of whatever the bridge makes of lists. A
// server's own view has it nevertheless.

import { LONGEST_NAME } from '../util/longest-name.ts';
import { byteAt, QUOTE } from '../wire/json-grammar.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { LISTS, type ListKind } from './era/era-2025.ts';
import type { ListPage } from './known-server.ts';

/** In characters, as names are: a template may stand here for a whole `data:` URI, but not for a file. */
const LONGEST_URI = 64 * 1024;
/** A character may be written as an escape of six bytes. */
const BYTES_PER_CHARACTER = 6;
const QUOTES = 2;

export interface ListedKey {
  readonly key: string;
  /** Where it stands, with its quotes. */
  readonly span: Span;
}

/** The name or URI of an item; undefined where there is none, or a longer one than may be. */
export function keyOf(kind: ListKind, b: Buffer, item: Span): ListedKey | undefined {
  const span = findMembers(b, item.from, [LISTS[kind].key])?.spans.get(LISTS[kind].key);
  if (span === undefined || isTooWide(kind, span)) return undefined;
  const key: unknown = JSON.parse(b.toString('utf8', span.from, span.to));
  return typeof key === 'string' && key.length <= longestOf(kind) ? { key, span } : undefined;
}

/** The items of a page. */
export function itemsIn(kind: ListKind, result: Buffer): readonly Span[] {
  const { member } = LISTS[kind];
  const list = findMembers(result, 0, [member])?.spans.get(member);
  return (list && findItems(result, list.from)) ?? [];
}

export interface LongKeys {
  readonly count: number;
  /** How the first of them begins, as it is written. */
  readonly first: string;
}

const SHOWN = 64;

/** The items that are left out because of their keys. */
export function longKeysIn(kind: ListKind, pages: readonly ListPage[]): LongKeys {
  let count = 0;
  let first = '';
  for (const { result } of pages) {
    if (result.length <= longestOf(kind)) continue;
    for (const item of itemsIn(kind, result)) {
      const span = findMembers(result, item.from, [LISTS[kind].key])?.spans.get(LISTS[kind].key);
      if (span === undefined || span.to - span.from - QUOTES <= longestOf(kind)) continue;
      if (byteAt(result, span.from) !== QUOTE || keyOf(kind, result, item) !== undefined) continue;
      if (count++ === 0) first = result.latin1Slice(span.from + 1, span.from + 1 + SHOWN);
    }
  }
  return { count, first };
}

function longestOf(kind: ListKind): number {
  return LISTS[kind].key === 'name' ? LONGEST_NAME : LONGEST_URI;
}

/** Too long however its characters are written: it need not be decoded. */
function isTooWide(kind: ListKind, { from, to }: Span): boolean {
  return to - from > QUOTES + BYTES_PER_CHARACTER * longestOf(kind);
}
