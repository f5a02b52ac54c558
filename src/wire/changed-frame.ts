// A frame with another text in one place, as a frame of its own: for what has to be changed before it is known where it
// goes, or is changed seldom. What is changed on its way out is the splice's business.

import type { Frame } from './frame-splitter.ts';
import type { Span } from './json-members.ts';

const NEWLINE = Buffer.from('\n');

/** `text` takes the place of b[from, to). */
export function changedFrame({ b, start, end }: Frame, { from, to }: Span, text: string | Buffer): Frame {
  const changed = typeof text === 'string' ? Buffer.from(text) : text;
  const bytes = Buffer.concat([b.subarray(start, from), changed, b.subarray(to, end), NEWLINE]);
  return { b: bytes, start: 0, end: bytes.length - 1 };
}
