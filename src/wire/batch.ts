// A batch: several messages in one array, on one line. It is cut in its bytes, so that each of them is what it would be on
// a line of its own, to the last digit; nothing of it is decoded.

import type { Frame } from './frame-splitter.ts';
import { byteAt, OPEN_ARRAY, OPEN_OBJECT, skipSpace } from './json-grammar.ts';
import { findItems } from './json-items.ts';
import type { Span } from './json-members.ts';
import { copyOf } from './own-frame.ts';

/** About as many as a chunk of a socket (64 KiB) brings on lines of their own: nobody can be paused in the middle of either. */
export const MOST_IN_BATCH = 1000;

export interface Batch {
  /** Where its messages stand: all of them, or the first of too many. */
  readonly messages: readonly Span[];
  /** What else is in it, and is no message because it is no object. */
  readonly others: readonly Span[];
  /** There is more in it than in any that is taken. */
  readonly isTooLong: boolean;
}

/** Takes the batch that begins at b[start] apart, once a scan has said that it is one. */
export function cutBatch(b: Buffer, start: number): Batch {
  const items = findItems(b, skipSpace(b, start), MOST_IN_BATCH + 1) ?? [];
  const isTooLong = items.length > MOST_IN_BATCH;
  const isMessage = ({ from }: Span): boolean => byteAt(b, from) === OPEN_OBJECT;
  const taken = isTooLong ? items.slice(0, MOST_IN_BATCH) : items;
  return { messages: taken.filter(isMessage), others: taken.filter((item) => !isMessage(item)), isTooLong };
}

/** A message of a batch as a frame. No newline stands behind it there, and without a copy one that waits would keep all. */
export function messageIn(b: Buffer, { from, to }: Span): Frame {
  return copyOf({ b, start: from, end: to });
}

/** The messages of a frame, which may be a batch; none of one that is too long. */
export function* messagesOf(frame: Frame): Iterable<Frame> {
  const { b, start } = frame;
  if (byteAt(b, skipSpace(b, start)) !== OPEN_ARRAY) return yield frame;
  const { messages, isTooLong } = cutBatch(b, start);
  if (!isTooLong) for (const message of messages) yield messageIn(b, message);
}

/** A batch of these items of another one. */
export function batchOf(b: Buffer, items: readonly Span[]): Frame {
  const pieces = items.flatMap(({ from, to }, i) => [Buffer.from(i === 0 ? '[' : ','), b.subarray(from, to)]);
  const batch = Buffer.concat([...pieces, Buffer.from(']\n')]);
  return { b: batch, start: 0, end: batch.length - 1 };
}
