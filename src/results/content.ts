// The content of a tool's result, in its bytes: which parts of it are text that a model reads, and where they stand. Nothing
// is decoded but the types of items. What is not known is not text, so that it is passed on as it came.

import {
  byteAt,
  CLOSE_ARRAY,
  COMMA,
  DEEPEST,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipSpace,
  skipValue,
} from '../wire/json-grammar.ts';
import { findMembers, type Span } from '../wire/json-members.ts';

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

/** Items behind these are one part: results have one to a few, and each costs some microseconds to look at. */
const MOST_PARTS = 1000;
const LONGEST_TYPE = 64;

/** The content of the result at b[at]; undefined for a result that is none of a tool, or says it twice. */
export function contentOf(b: Buffer, at: number): ResultContent | undefined {
  const members = findMembers(b, at, ['content', 'structuredContent']);
  const content = members?.spans.get('content');
  if (members === undefined || content === undefined || members.isRepeated) return undefined;
  if (byteAt(b, content.from) !== OPEN_ARRAY) return undefined;
  return { at: content, parts: partsIn(b, content), structured: members.spans.get('structuredContent') };
}

/** The bytes that a model reads of it. */
export function readBytesOf({ parts }: ResultContent): number {
  return parts.reduce((sum, { read }) => sum + read.to - read.from, 0);
}

function partsIn(b: Buffer, content: Span): ContentPart[] {
  const parts: ContentPart[] = [];
  let from = skipSpace(b, content.from + 1);
  while (byteAt(b, from) !== CLOSE_ARRAY) {
    const part = parts.length === MOST_PARTS ? restAt({ from, to: content.to - 1 }) : partAt(b, from);
    parts.push(part);
    from = skipSpace(b, part.item.to);
    if (byteAt(b, from) === COMMA) from = skipSpace(b, from + 1);
  }
  return parts;
}

function restAt(item: Span): ContentPart {
  return { item, kind: 'item', read: item, label: '' };
}

function partAt(b: Buffer, from: number): ContentPart {
  const members = findMembers(b, from, ['type', 'text', 'resource', 'mimeType']);
  // A long item is walked over once.
  const item = { from, to: members === undefined ? skipValue(b, from, 1, DEEPEST) : members.close + 1 };
  const spans = members?.spans;
  const type = shortTextAt(b, spans?.get('type'));
  const resource = type === 'resource' ? spans?.get('resource') : undefined;
  const inResource =
    resource !== undefined && byteAt(b, resource.from) === OPEN_OBJECT
      ? findMembers(b, resource.from, ['text', 'mimeType'])?.spans
      : undefined;
  const text = type === 'text' ? spans?.get('text') : inResource?.get('text');
  if (text !== undefined && byteAt(b, text.from) === QUOTE)
    return { item, kind: 'text', read: { from: text.from + 1, to: text.to - 1 }, label: '' };
  if (type === 'resource_link') return { item, kind: 'item', read: item, label: '' };
  const mimeType = shortTextAt(b, (inResource ?? spans)?.get('mimeType'));
  const words = [type, mimeType].filter((word) => word !== '').join(', ');
  return { item, kind: 'data', read: { from: item.from, to: item.from }, label: `[${words || 'unknown content'}]` };
}

/** Decodes a text that is no longer than a type; '' for anything else. */
function shortTextAt(b: Buffer, span: Span | undefined): string {
  if (span === undefined || byteAt(b, span.from) !== QUOTE || span.to - span.from > LONGEST_TYPE) return '';
  return JSON.parse(b.toString('utf8', span.from, span.to)) as string;
}
