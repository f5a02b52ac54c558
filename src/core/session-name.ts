// Tells a server whose request it gets, where the server has asked for that (`x-mux.sharing: "session-aware"`): a text in
// `params._meta.muxSessionId`, the same for all requests of one client. What a client says there itself does not count.

import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { skipSpace } from '../wire/json-grammar.ts';
import { findMembers } from '../wire/json-members.ts';
import type { Splice } from '../wire/splice.ts';

const KEY = 'muxSessionId';

/** Adds its cuts to those of a request that is about to be sent. */
export function nameSession(splice: Splice, { b, start }: Frame, read: Envelope, id: string): void {
  const member = `"${KEY}":"${id}"`;
  const place = read.has(Field.meta) ? read.from(Field.meta) : -1;
  const meta = place < 0 ? undefined : findMembers(b, place, [KEY]);
  const before = meta?.spans.get(KEY);
  if (meta !== undefined) {
    if (before !== undefined) splice.replace(before.from, before.to, `"${id}"`);
    // Behind all others: there are readers for whom the last one counts, also of keys in another case.
    if (before === undefined || meta.isRepeated || meta.others.some(isAlike))
      splice.replace(meta.close, meta.close, meta.isEmpty ? member : `,${member}`);
    return;
  }
  const inMeta = `"_meta":{${member}}`;
  // A `_meta` or `params` that is no object is the server's to refuse.
  if (place >= 0) return;
  if (!read.has(Field.params)) return open(splice, skipSpace(b, start), false, `"params":{${inMeta}}`);
  const params = findMembers(b, read.from(Field.params), []);
  if (params !== undefined) open(splice, read.from(Field.params), params.isEmpty, inMeta);
}

function isAlike(key: string): boolean {
  return key.toLowerCase() === KEY.toLowerCase();
}

/** Makes it the first member of the object that opens at `at`. */
function open(splice: Splice, at: number, isEmpty: boolean, member: string): void {
  splice.replace(at + 1, at + 1, isEmpty ? member : `${member},`);
}
