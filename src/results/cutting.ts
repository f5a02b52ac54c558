// Cuts the text of a tool's result to a length, in its bytes. Images, sounds and structured content stay whole; what does
// not fit is left out from its end, at a line or an item, and what was left out is for whoever keeps the whole to say.

import type { Frame } from '../wire/frame-splitter.ts';
import type { Span } from '../wire/json-members.ts';
import { type ContentPart, type ResultContent, readBytesOf } from './content.ts';
import { lineEndIn } from './json-text.ts';

const NEWLINE = Buffer.from('\n');

export interface Cutting {
  /** The bytes of text in all, and those that are left. */
  readonly allBytes: number;
  readonly leftBytes: number;
  /** The place in the whole text (reading.ts) at which it was cut first. */
  readonly nextOffset: number;
  /** The items that are left, in pieces of the frame; no piece is empty. */
  readonly items: readonly (readonly Span[])[];
}

/** A newline stands between the texts of two parts. */
export const BETWEEN = 1;

/** The text of a part has so many bytes in the whole text. */
export function widthOf({ kind, read, label }: ContentPart): number {
  return kind === 'data' ? label.length : read.to - read.from;
}

/** Decides what is left of a content with `most` bytes of text; undefined if all of it fits. */
export function cuttingOf(b: Buffer, content: ResultContent, most: number): Cutting | undefined {
  const allBytes = readBytesOf(content);
  if (allBytes <= most) return undefined;
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
  return { allBytes, leftBytes, nextOffset: nextOffset ?? 0, items };
}

/** The frame with what is left of its content, and `more` items of ours behind it, in JSON with one byte for each character. */
export function cutFrame(
  { b, start, end }: Frame,
  { at }: ResultContent,
  { items }: Cutting,
  more: readonly string[],
): Frame {
  const pieces: Buffer[] = [b.subarray(start, at.from + 1)];
  const comma = (): void => {
    if (pieces.length > 1) pieces.push(COMMA);
  };
  for (const spans of items) {
    comma();
    for (const { from, to } of spans) pieces.push(b.subarray(from, to));
  }
  for (const text of more) {
    comma();
    pieces.push(Buffer.from(text, 'latin1'));
  }
  const bytes = Buffer.concat([...pieces, b.subarray(at.to - 1, end), NEWLINE]);
  return { b: bytes, start: 0, end: bytes.length - 1 };
}

const COMMA = Buffer.from(',');
