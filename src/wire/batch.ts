// A batch: several messages in one array, on one line. It is cut in its bytes, so that each message stays exactly as it
// would be on its own line; nothing is decoded.

import type { Frame } from './frame-splitter.ts';
import { byteAt, OPEN_ARRAY, OPEN_OBJECT, skipSpace } from './json-grammar.ts';
import { findItems } from './json-items.ts';
import type { Span } from './json-members.ts';
import { copyOf } from './own-frame.ts';

/** About the number of messages in one 64 KiB chunk of a socket: reading cannot pause inside a chunk either. */
export const MOST_IN_BATCH = 1000;

export interface Batch {
  /** The positions of the messages; if there are too many, only of the first ones. */
  readonly messages: readonly Span[];
  /** The positions of items that are no objects, and so no messages. */
  readonly others: readonly Span[];
  /** True if the batch has more messages than are accepted. */
  readonly isTooLong: boolean;
}

/** Cuts the batch at b[start], which a scan has recognized. */
export function cutBatch(b: Buffer, start: number): Batch {
  const items = findItems(b, skipSpace(b, start), MOST_IN_BATCH + 1) ?? [];
  const isTooLong = items.length > MOST_IN_BATCH;
  const isMessage = ({ from }: Span): boolean => byteAt(b, from) === OPEN_OBJECT;
  const taken = isTooLong ? items.slice(0, MOST_IN_BATCH) : items;
  return { messages: taken.filter(isMessage), others: taken.filter((item) => !isMessage(item)), isTooLong };
}

/**
 * Copies one message of a batch to a frame with a newline behind it, so that a waiting message does not keep the whole
 * batch in memory.
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

/** Makes a batch of some items of another batch. */
export function batchOf(b: Buffer, items: readonly Span[]): Frame {
  const pieces = items.flatMap(({ from, to }, i) => [Buffer.from(i === 0 ? '[' : ','), b.subarray(from, to)]);
  const batch = Buffer.concat([...pieces, Buffer.from(']\n')]);
  return { b: batch, start: 0, end: batch.length - 1 };
}
