// The content of a tool's result, in its bytes: which parts of it are text that a model reads, and where they stand. Nothing
// is decoded but the types of items. What is not known is not text, so that it is passed on as it came. A result has 8 MiB, and
// is looked at for a millisecond or two: all that is behind this is one part.

import { byteAt, CLOSE_ARRAY, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace } from '../wire/json-grammar.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { TOO_LONG, ValueWalk } from './value-walk.ts';

/** One item of the content, or the rest of all. */
export interface ContentPart {
  /** The whole item. */
  readonly item: Span;
  /**
   * `text`: a text, also one in an embedded resource. `item`: its bytes count, and it cannot be cut, as a link. `data`: an image, a sound,
   * or what is not known; a model does not read its bytes.
   */
  readonly kind: 'text' | 'item' | 'data';
  /** The part that a model reads: of a text what is between its quotes, of an item all of it. Empty for data. */
  readonly read: Span;
  /** Words for data. */
  readonly label: string;
}

export interface ResultContent {
  /** The array, with its brackets. */
  readonly at: Span;
  readonly parts: readonly ContentPart[];
  /** Undefined if there is none. */
  readonly structured: Span | undefined;
}

/** Items behind these are one part. */
const MOST_PARTS = 1000;
/** The bytes outside strings that are looked at: about a millisecond. */
const MOST_STEPS = 250_000;
const LONGEST_TYPE = 64;

/** The content of the result at b[at]; undefined for a result that is none of a tool, or says it twice. */
export function contentOf(b: Buffer, at: number): ResultContent | undefined {
  const members = findMembers(b, at, ['content', 'structuredContent']);
  const content = members?.spans.get('content');
  if (members === undefined || content === undefined || members.isRepeated) return undefined;
  return contentAt(b, content, members.spans.get('structuredContent'));
}

/** The content whose list stands at `at`; undefined if that is no list. */
export function contentAt(b: Buffer, at: Span, structured: Span | undefined): ResultContent | undefined {
  return byteAt(b, at.from) === OPEN_ARRAY ? { at, parts: partsIn(b, at), structured } : undefined;
}

/** The bytes that a model reads of it. */
export function readBytesOf({ parts }: ResultContent): number {
  return parts.reduce((sum, { read }) => sum + read.to - read.from, 0);
}

function partsIn(b: Buffer, content: Span): ContentPart[] {
  const parts: ContentPart[] = [];
  const walk = new ValueWalk(b, MOST_STEPS);
  let from = skipSpace(b, content.from + 1);
  while (byteAt(b, from) !== CLOSE_ARRAY) {
    const found = parts.length === MOST_PARTS ? undefined : partAt(b, from, walk);
    const part = found ?? restAt({ from, to: content.to - 1 });
    parts.push(part);
    from = skipSpace(b, part.item.to);
    if (byteAt(b, from) === COMMA) from = skipSpace(b, from + 1);
  }
  return parts;
}

function restAt(item: Span): ContentPart {
  return { item, kind: 'item', read: item, label: '' };
}

/** The item at b[from]; undefined if the walk may not go on to its end. */
function partAt(b: Buffer, from: number, walk: ValueWalk): ContentPart | undefined {
  const members = walk.members(from, ['type', 'text', 'resource', 'mimeType']);
  const to = members?.to ?? (byteAt(b, from) === OPEN_OBJECT ? TOO_LONG : walk.skip(from));
  if (to === TOO_LONG) return undefined;
  const item = { from, to };
  const spans = members?.spans;
  const type = shortTextAt(b, spans?.get('type'));
  const resource = type === 'resource' ? spans?.get('resource') : undefined;
  const hasResource = resource !== undefined && byteAt(b, resource.from) === OPEN_OBJECT;
  const inResource = hasResource ? walk.members(resource.from, ['text', 'mimeType']) : undefined;
  if (hasResource && inResource === undefined) return undefined;
  const text = type === 'text' ? spans?.get('text') : inResource?.spans.get('text');
  if (text !== undefined && byteAt(b, text.from) === QUOTE)
    return { item, kind: 'text', read: { from: text.from + 1, to: text.to - 1 }, label: '' };
  if (type === 'resource_link') return { item, kind: 'item', read: item, label: '' };
  const mimeType = shortTextAt(b, (inResource?.spans ?? spans)?.get('mimeType'));
  const words = [type, mimeType].filter((word) => word !== '').join(', ');
  return { item, kind: 'data', read: { from: item.from, to: item.from }, label: `[${words || 'unknown content'}]` };
}

/** Decodes a text that is no longer than a type; '' for anything else. */
function shortTextAt(b: Buffer, span: Span | undefined): string {
  if (span === undefined || byteAt(b, span.from) !== QUOTE || span.to - span.from > LONGEST_TYPE) return '';
  return JSON.parse(b.toString('utf8', span.from, span.to)) as string;
}
