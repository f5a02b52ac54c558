// Copies a frame that has to wait. Most frames are a position in their chunk, so a waiting frame of a hundred bytes
// would keep the whole chunk in memory, and nobody would be charged for it.

import type { Frame } from './frame-splitter.ts';

/** A copy of the frame, unless it already takes most of its buffer. */
export function ownFrame(frame: Frame): Frame {
  return 2 * (frame.end - frame.start) >= frame.b.length ? frame : copyOf(frame);
}

/** The frame's bytes in a buffer that holds only them and a newline. */
export function copyOf({ b, start, end }: Frame): Frame {
  const length = end - start;
  const own = Buffer.allocUnsafeSlow(length + 1);
  b.copy(own, 0, start, end);
  own[length] = 0x0a;
  return { b: own, start: 0, end: length };
}
