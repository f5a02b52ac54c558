// Cuts the text of a tool's result to a length, in its bytes. Images and sounds stay whole. Text is cut from its end,
// at a line or an item. Structured content is removed as a whole if nobody validates it against a schema. The caller
// reports what was left out.

import type { Frame } from '../wire/frame-splitter.ts';
import { BACKSLASH, byteAt, QUOTE } from '../wire/json-grammar.ts';
import type { Span } from '../wire/json-members.ts';
import { wholeMember } from '../wire/member-cuts.ts';
import { type ContentPart, type ResultContent, readBytesOf } from './content.ts';
import { characterIn, lineEndIn } from './json-text.ts';

const NEWLINE = Buffer.from('\n');

export interface Cutting {
  /** The bytes of text in total, and the bytes that remain. */
  readonly allBytes: number;
  readonly leftBytes: number;
  /** The position in the whole text (reading.ts) of the first cut. */
  readonly nextOffset: number;
  /** The remaining items, in pieces of the frame; no piece is empty. */
  readonly items: readonly (readonly Span[])[];
  /** The structured content, if it is removed. */
  readonly structured: Span | undefined;
  /** The part of it that is shown as text, unless another text says the same; then empty. */
  readonly shown: Span;
}

/** Structured content stays if it is at most this fraction of everything. */
const STRUCTURED_PART = 0.1;

/** The length of the newline between the texts of two parts. */
export const BETWEEN = 1;

/** The length of a part in the whole text, in bytes. */
export function widthOf({ kind, read, label }: ContentPart): number {
  return kind === 'data' ? label.length : read.to - read.from;
}

/**
 * Decides what remains of a content with at most `most` bytes of text; undefined if all of it fits. `isLoose`:
 * structured content counts too, and may be removed.
 */
export function cuttingOf(b: Buffer, content: ResultContent, limit: number, isLoose: boolean): Cutting | undefined {
  const allBytes = readBytesOf(content);
  const structured = isLoose ? content.structured : undefined;
  const structuredBytes = structured === undefined ? 0 : structured.to - structured.from;
  if (allBytes + structuredBytes <= limit) return undefined;
  const isSmall = structuredBytes <= limit * STRUCTURED_PART;
  const most = isSmall ? limit - structuredBytes : limit;
  const items: (readonly Span[])[] = [];
  let leftBytes = 0;
  let offset = 0;
  let nextOffset: number | undefined;
  for (const part of content.parts) {
    const { item, read, kind } = part;
    const size = read.to - read.from;
    if (kind === 'data' || (nextOffset === undefined && leftBytes + size <= most)) {
      items.push([item]);
      leftBytes += size;
    } else if (nextOffset === undefined) {
      const to = kind === 'text' ? lineEndIn(b, read.from, read.from + most - leftBytes) : read.from;
      nextOffset = offset + to - read.from;
      leftBytes += to - read.from;
      if (to > read.from)
        items.push([
          { from: item.from, to },
          { from: read.to, to: item.to },
        ]);
    }
    offset += widthOf(part) + BETWEEN;
  }
  const cut = { allBytes, leftBytes, nextOffset: nextOffset ?? Math.max(0, offset - BETWEEN), items };
  if (isSmall || structured === undefined) return { ...cut, structured: undefined, shown: NOTHING };
  const isSaid = allBytes >= structuredBytes / 2 || leftBytes < allBytes;
  return { ...cut, structured, shown: isSaid ? NOTHING : beginningOf(b, structured, most - leftBytes) };
}

const NOTHING: Span = { from: 0, to: 0 };

/**
 * The beginning of structured content with at most this many bytes when written as a JSON string; ends at an item if
 * one is near.
 */
function beginningOf(b: Buffer, { from, to }: Span, most: number): Span {
  let p = from;
  let room = most;
  while (p < to && room >= WIDEST) room -= isEscapedInText(byteAt(b, p++)) ? WIDEST : 1;
  if (p === to) return { from, to };
  const last = characterIn(b, from, p);
  const comma = b.lastIndexOf(COMMA, last - 1);
  return { from, to: comma > Math.max(from, last - GAP_BYTES) ? comma + 1 : last };
}

/** The distance in which the end of an item is looked for. */
const GAP_BYTES = 256;
const WIDEST = 2;
const isEscapedInText = (c: number): boolean => c === QUOTE || c === BACKSLASH || c < 0x20;

/** The frame with the remaining content, followed by our items in `more`, which is JSON in latin1. */
export function cutFrame(
  { b, start, end }: Frame,
  { at }: ResultContent,
  { items, structured }: Cutting,
  more: readonly string[],
): Frame {
  const gone = structured === undefined ? NOTHING : wholeMember(b, structured);
  const pieces: Buffer[] = without(gone, b, start, at.from + 1);
  let isFirst = true;
  const comma = (): void => {
    if (!isFirst) pieces.push(COMMA);
    isFirst = false;
  };
  for (const spans of items) {
    comma();
    for (const { from, to } of spans) pieces.push(b.subarray(from, to));
  }
  for (const text of more) {
    comma();
    pieces.push(Buffer.from(text, 'latin1'));
  }
  const bytes = Buffer.concat([...pieces, ...without(gone, b, at.to - 1, end), NEWLINE]);
  return { b: bytes, start: 0, end: bytes.length - 1 };
}

/** The bytes b[from, to) without the part `gone`. */
function without(gone: Span, b: Buffer, from: number, to: number): Buffer[] {
  if (gone.from < from || gone.from >= to) return [b.subarray(from, to)];
  return [b.subarray(from, gone.from), b.subarray(gone.to, to)];
}

const COMMA = Buffer.from(',');
