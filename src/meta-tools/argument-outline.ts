// Arguments without what stands in their long texts, decoded: most schemas say no more of a text than that it is one, and
// to decode a megabyte for that would cost more than to pass it on.

import { byteAt, COLON, QUOTE, skipSpace, skipString } from '../wire/json-grammar.ts';
import type { Span } from '../wire/json-members.ts';

/** Shorter ones are decoded as they are. */
const LONG_TEXT = 1024;
const PLACEHOLDER = JSON.stringify('x'.repeat(64));

/** What stands between the long texts; more takes longer to decode than anybody should wait for. */
const LONGEST_OUTLINE = 64 * 1024;

/** Of the value at this place, which was found to be JSON before; undefined if it is long without its long texts too. */
export function outlineOf(b: Buffer, { from, to }: Span): unknown {
  const parts: string[] = [];
  let kept = from;
  let left = LONGEST_OUTLINE;
  for (let p = b.indexOf(QUOTE, from); p >= 0 && p < to; ) {
    const end = skipString(b, p + 1);
    const isKey = byteAt(b, skipSpace(b, end)) === COLON;
    if (end - p > LONG_TEXT && !isKey) {
      parts.push(b.toString('utf8', kept, p), PLACEHOLDER);
      left -= p - kept + PLACEHOLDER.length;
      kept = end;
    }
    if (end - kept > left) return undefined;
    p = b.indexOf(QUOTE, end);
  }
  if (to - kept > left) return undefined;
  parts.push(b.toString('utf8', kept, to));
  return JSON.parse(parts.join(''));
}
