// Finds the id of an answer that cannot be passed on, from its first and last bytes. Encoders write an answer's id near
// its beginning or at its very end; anywhere else, it cannot be found for certain.

/** The number of bytes kept at each end of a dropped frame. */
export const END_BYTES = 512;

export interface FrameEnds {
  readonly head: Buffer;
  readonly tail: Buffer;
}

export function endsOf(b: Buffer, start: number, end: number): FrameEnds {
  const head = b.subarray(start, Math.min(end, start + END_BYTES));
  return { head, tail: b.subarray(Math.max(start, end - END_BYTES), end) };
}

const VERSION = String.raw`"jsonrpc"\s*:\s*"2\.0"\s*`;
const OUTCOME = String.raw`"(?:result|error)"\s*:`;
const ID = String.raw`"id"\s*:\s*(\d{1,15})\s*`;

const ID_FIRST = new RegExp(String.raw`^\s*\{\s*(?:${VERSION},\s*)?${ID},\s*(?:${VERSION},\s*)?${OUTCOME}`);
const OUTCOME_FIRST = new RegExp(String.raw`^\s*\{\s*(?:${VERSION},\s*)?${OUTCOME}`);
// In JSON the last brace closes the message, so the member before it belongs to the message itself.
const ID_LAST = new RegExp(String.raw`,\s*${ID}(?:,\s*${VERSION})?\}\s*$`);

/** The id of the answer, if both ends leave no doubt. */
export function answeredId({ head, tail }: FrameEnds): number | undefined {
  const beginning = head.toString('latin1');
  const first = ID_FIRST.exec(beginning)?.[1];
  if (first !== undefined) return Number(first);
  const last = OUTCOME_FIRST.test(beginning) ? ID_LAST.exec(tail.toString('latin1'))?.[1] : undefined;
  return last === undefined ? undefined : Number(last);
}
