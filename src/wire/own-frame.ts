// A frame that waits. Most frames are a place in the chunk that they came in, and one of a hundred bytes that waits would
// keep all of its chunk in memory, which is charged to nobody.

import type { Frame } from './frame-splitter.ts';

/** A frame with bytes of its own, unless it has most of those in which it stands. */
export function ownFrame(frame: Frame): Frame {
  return 2 * (frame.end - frame.start) >= frame.b.length ? frame : copyOf(frame);
}

/** The frame's bytes in a buffer that has nothing else but the newline behind them. */
export function copyOf({ b, start, end }: Frame): Frame {
  const length = end - start;
  const own = Buffer.allocUnsafeSlow(length + 1);
  b.copy(own, 0, start, end);
  own[length] = 0x0a;
  return { b: own, start: 0, end: length };
}
