// A copy of a frame with another text in one place. For frames that change before their target is known, or that rarely
// change; the splice changes a frame while it is written.

import type { Frame } from './frame-splitter.ts';
import type { Span } from './json-members.ts';

const NEWLINE = Buffer.from('\n');

/** Replaces b[from, to) by `text`. */
export function changedFrame({ b, start, end }: Frame, { from, to }: Span, text: string | Buffer): Frame {
  const changed = typeof text === 'string' ? Buffer.from(text) : text;
  const bytes = Buffer.concat([b.subarray(start, from), changed, b.subarray(to, end), NEWLINE]);
  return { b: bytes, start: 0, end: bytes.length - 1 };
}
