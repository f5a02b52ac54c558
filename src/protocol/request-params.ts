// The parameters of a request as values. Only for requests that the bridge answers; all others pass as bytes.

import { membersOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';

export function paramsOf({ b }: Frame, envelope: Envelope): Readonly<Record<string, unknown>> {
  return membersOf(envelope.decode(b, Field.params));
}

/** Reads the cursor. An empty text counts as one. */
export function cursorIn(frame: Frame, envelope: Envelope): unknown {
  return paramsOf(frame, envelope).cursor;
}
