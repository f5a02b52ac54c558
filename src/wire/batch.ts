// A batch: several messages in one array, on one line. It is cut in its bytes, so that each of them is what it would be on
// a line of its own, to the last digit; nothing of it is decoded.

import type { Frame } from './frame-splitter.ts';
import { byteAt, OPEN_ARRAY, OPEN_OBJECT, skipSpace } from './json-grammar.ts';
import { findItems } from './json-items.ts';
import type { Span } from './json-members.ts';
import { copyOf } from './own-frame.ts';

/** About the number of messages in one chunk of a socket (64 KiB): a reader cannot be paused inside either. */
export const MOST_IN_BATCH = 1000;

export interface Batch {
  /** The places of the messages: all, or the first of too many. */
  readonly messages: readonly Span[];
  /** The places of items that are no objects, and so no messages. */
  readonly others: readonly Span[];
  /** True if the batch has more messages than are accepted. */
  readonly isTooLong: boolean;
}

/** Cuts the batch at b[start], which a scan has recognised. */
export function cutBatch(b: Buffer, start: number): Batch {
  const items = findItems(b, skipSpace(b, start), MOST_IN_BATCH + 1) ?? [];
  const isTooLong = items.length > MOST_IN_BATCH;
  const isMessage = ({ from }: Span): boolean => byteAt(b, from) === OPEN_OBJECT;
  const taken = isTooLong ? items.slice(0, MOST_IN_BATCH) : items;
  return { messages: taken.filter(isMessage), others: taken.filter((item) => !isMessage(item)), isTooLong };
}

/**
 * One message of a batch as a frame: a copy with a newline behind it, so that a waiting one does not keep the whole
 * batch.
 */
export function messageIn(b: Buffer, { from, to }: Span): Frame {
  return copyOf({ b, start: from, end: to });
}

/** The messages of a frame, which may be a batch; none if it is too long. */
export function* messagesOf(frame: Frame): Iterable<Frame> {
  const { b, start } = frame;
  if (byteAt(b, skipSpace(b, start)) !== OPEN_ARRAY) return yield frame;
  const { messages, isTooLong } = cutBatch(b, start);
  if (!isTooLong) for (const message of messages) yield messageIn(b, message);
}

/** A batch of these items of another batch. */
export function batchOf(b: Buffer, items: readonly Span[]): Frame {
  const pieces = items.flatMap(({ from, to }, i) => [Buffer.from(i === 0 ? '[' : ','), b.subarray(from, to)]);
  const batch = Buffer.concat([...pieces, Buffer.from(']\n')]);
  return { b: batch, start: 0, end: batch.length - 1 };
}
