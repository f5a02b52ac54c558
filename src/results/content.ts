// The content of a tool's result, in its bytes: which parts are text that a model reads, and where they are. Only the
// types of items are decoded. Unknown parts do not count as text, so they are passed on unchanged. A result may have 8
// MiB, and gets one or two milliseconds: everything after that counts as one part.

import { byteAt, CLOSE_ARRAY, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE, skipSpace } from '../wire/json-grammar.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { TOO_LONG, ValueWalk } from './value-walk.ts';

/** One item of the content, or the rest of all items. */
export interface ContentPart {
  /** The whole item. */
  readonly item: Span;
  /**
   * `text`: a text, possibly in an embedded resource. `item`: counts by its bytes but cannot be cut, such as a link.
   * `data`: an image, a sound, or unknown; a model does not read its bytes.
   */
  readonly kind: 'text' | 'item' | 'data';
  /** The part that a model reads: of a text the string without quotes, of an item everything. Empty for data. */
  readonly read: Span;
  /** A description of data. */
  readonly label: string;
}

export interface ResultContent {
  /** The position of the array, with its brackets. */
  readonly at: Span;
  readonly parts: readonly ContentPart[];
  /** Undefined if there is none. */
  readonly structured: Span | undefined;
}

/** Items after this many count as one part. */
const MOST_PARTS = 1000;
/** The number of bytes outside strings that are examined: about a millisecond. */
const MOST_STEPS = 250_000;
const LONGEST_TYPE = 64;

/** The content of the result at b[at]; undefined if it is not a tool's, or has two contents. */
export function contentOf(b: Buffer, at: number): ResultContent | undefined {
  const members = findMembers(b, at, ['content', 'structuredContent']);
  const content = members?.spans.get('content');
  if (members === undefined || content === undefined || members.isRepeated) return undefined;
  return contentAt(b, content, members.spans.get('structuredContent'));
}

/** The content whose list is at `at`; undefined if that is no list. */
export function contentAt(b: Buffer, at: Span, structured: Span | undefined): ResultContent | undefined {
  return byteAt(b, at.from) === OPEN_ARRAY ? { at, parts: partsIn(b, at), structured } : undefined;
}

/** The number of bytes that a model reads. */
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

/** The item at b[from]; undefined if the walk hits its limit before the end. */
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

/** Decodes a text no longer than a type name; '' for anything else. */
function shortTextAt(b: Buffer, span: Span | undefined): string {
  if (span === undefined || byteAt(b, span.from) !== QUOTE || span.to - span.from > LONGEST_TYPE) return '';
  return JSON.parse(b.toString('utf8', span.from, span.to)) as string;
}
