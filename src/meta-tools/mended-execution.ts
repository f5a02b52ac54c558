// Calls of `execute_tool` that say what is meant in another way than its schema has it: without the tool's arguments, or
// with them as JSON in a text, as models put them. Such a call is put as it should be, and goes the way of all others.

import { changedFrame } from '../wire/changed-frame.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt, DEEPEST, OPEN_OBJECT, QUOTE, skipSpace, skipString, skipValue } from '../wire/json-grammar.ts';
import { findMembers, type Span } from '../wire/json-members.ts';

const [NEWLINE, RETURN, SPACE, LETTER_N] = [0x0a, 0x0d, 0x20, 0x6e];
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Undefined if nothing can be made of it, or there is nothing to be mended. */
export function mendedExecution(frame: Frame, read: Envelope): Frame | undefined {
  const { b } = frame;
  const outer = read.has(Field.arguments) ? findMembers(b, read.from(Field.arguments), ['arguments']) : undefined;
  if (outer === undefined) return undefined;
  const inner = outer.spans.get('arguments');
  if (inner !== undefined) {
    const object = objectMeant(b, inner);
    return object === undefined ? undefined : changedFrame(frame, inner, object);
  }
  const end = { from: outer.close, to: outer.close };
  return outer.isEmpty ? undefined : changedFrame(frame, end, ',"arguments":{}');
}

function objectMeant(b: Buffer, { from, to }: Span): string | undefined {
  if (byteAt(b, from) === LETTER_N) return '{}'; // null
  return byteAt(b, from) === QUOTE ? objectIn(JSON.parse(b.toString('utf8', from, to)) as string) : undefined;
}

/** The JSON of exactly one object, on one line: what is not in its texts may be broken over several. */
function objectIn(text: string): string | undefined {
  if (LONE_SURROGATE.test(text)) return undefined; // no bytes stand for it
  const b = Buffer.from(`${text}\n`);
  const end = b.length - 1;
  if (!joinLines(b, end)) return undefined;
  const from = skipSpace(b, 0);
  if (byteAt(b, from) !== OPEN_OBJECT) return undefined;
  const to = skipValue(b, from, 1, DEEPEST);
  return to < 0 || skipSpace(b, to) !== end ? undefined : b.toString('utf8', from, to);
}

/** False if a text in it has no end on its line. */
function joinLines(b: Buffer, end: number): boolean {
  for (let p = 0; p < end; ) {
    const c = byteAt(b, p);
    if (c === NEWLINE || c === RETURN) b[p] = SPACE;
    p = c === QUOTE ? skipString(b, p + 1) : p + 1;
    if (p < 0) return false;
  }
  return true;
}
