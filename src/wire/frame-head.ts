// Reads what a relay needs to know of a frame: if it is a request or an answer, its id and its method. It looks only at
// the first and last bytes, where encoders write these; the payload between is never read.
//
//   {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{ ...... }}      {"result":{ ...... },"jsonrpc":"2.0","id":7}
//   |------------------- FRONT ------------------|                                              |-------- BACK --------|
//
// It never guesses. If a frame is valid JSON with each of these members once, the result is true. If not, nobody acts
// on the result before the whole frame was scanned (envelope.ts). Unclear frames are left to that scan.
//
// It uses patterns, because a `connect` often ends before compiled loops pay off: a loop over the bytes is faster only
// after some ten thousand frames, but a pattern is machine code from its second use.

import type { RequestId } from './request-id.ts';

/** The number of bytes read at each end of a frame. */
const MOST_BYTES = 192;

const VERSION = '"jsonrpc": ?"2\\.0", ?';
const ID_VALUE = '([1-9]\\d{0,14}|0|"[ !#-[\\]-~]{0,64}")';
const ID = `"id": ?${ID_VALUE}, ?`;
/** Any method except those that change a setting: a relay must know more about such requests. */
const METHOD = '"method": ?"(?!initialize"|resources/(?:un)?subscribe"|logging/setLevel")[ !#-[\\]-~]+", ?';
const ANSWER = '"(?:result|(error))":';
/**
 * In JSON the last brace closes the message, so the text before it is a member of the message itself. A quote right
 * after a comma begins a string, because a quote inside a string has a backslash before it.
 */
const ID_BEHIND = `,(?: ?"jsonrpc": ?"2\\.0",)? ?"id": ?${ID_VALUE}(?:, ?"jsonrpc": ?"2\\.0")? ?\\}`;
const REST = '[^\\r\\n]*';

/** The beginning of a request: its id is before or after the method, or at the end. */
const REQUEST_FRONT = `\\{ ?(?:${VERSION})?(?:${ID})?(?:${VERSION})?${METHOD}(?:${VERSION})?(?:${ID})?(?:${VERSION})?"params":`;
const ANSWER_FRONT = `\\{ ?(?:${VERSION})?(?:${ID})?(?:${VERSION})?${ANSWER}`;

const LONG_REQUEST = new RegExp(`^${REQUEST_FRONT}`);
const LONG_ANSWER = new RegExp(`^${ANSWER_FRONT}`);
const LONG_BACK = new RegExp(`${ID_BEHIND}$`);

/** A whole line. The id is the first group, or the second one if it is at the end. */
const REQUEST_LINE = new RegExp(
  `\\{ ?(?:${VERSION})?(?:${ID}(?:${VERSION})?${METHOD}(?:${VERSION})?"params":${REST}|${METHOD}"params":${REST}${ID_BEHIND})\\n`,
  'y',
);
/** A whole line: the id and then `result` or `error`, or the other way round. */
const ANSWER_LINE = new RegExp(
  `\\{ ?(?:${VERSION})?(?:${ID}(?:${VERSION})?${ANSWER}${REST}|${ANSWER}${REST}${ID_BEHIND})\\n`,
  'y',
);

/** The result of the last read. One object serves a whole direction. */
export class FrameHead {
  /** The id in its one allowed spelling. */
  idText = '';
  isError = false;
  /** The position of the next line. */
  next = 0;

  /** True if the line at `at` is a plain request. The text is latin1. */
  isRequestLine(text: string, at: number): boolean {
    REQUEST_LINE.lastIndex = at;
    const found = REQUEST_LINE.exec(text);
    if (found === null) return false;
    this.next = REQUEST_LINE.lastIndex;
    this.idText = found[1] ?? found[2] ?? '';
    return true;
  }

  /** True if the line at `at` is an answer. */
  isAnswerLine(text: string, at: number): boolean {
    ANSWER_LINE.lastIndex = at;
    const found = ANSWER_LINE.exec(text);
    if (found === null) return false;
    this.next = ANSWER_LINE.lastIndex;
    this.idText = found[1] ?? found[4] ?? '';
    this.isError = found[2] !== undefined || found[3] !== undefined;
    return true;
  }

  /** True if a frame in pieces, with its newline, is a plain request. */
  isRequest(pieces: readonly Buffer[]): boolean {
    const found = LONG_REQUEST.exec(frontOf(pieces));
    const idText = found === null ? undefined : (found[1] ?? found[2] ?? idBehind(pieces));
    this.idText = idText ?? '';
    return idText !== undefined;
  }

  /** True if a frame in pieces, with its newline, is an answer. */
  isAnswer(pieces: readonly Buffer[]): boolean {
    const found = LONG_ANSWER.exec(frontOf(pieces));
    const idText = found === null ? undefined : (found[1] ?? idBehind(pieces));
    this.idText = idText ?? '';
    this.isError = found?.[2] !== undefined;
    return idText !== undefined;
  }
}

function frontOf([first]: readonly Buffer[]): string {
  return first?.latin1Slice(0, Math.min(first.length, MOST_BYTES)) ?? '';
}

function idBehind(pieces: readonly Buffer[]): string | undefined {
  let last = pieces.at(-1) ?? Buffer.alloc(0);
  const before = pieces.at(-2);
  if (last.length < MOST_BYTES && before !== undefined) last = Buffer.concat([before.subarray(-MOST_BYTES), last]);
  return LONG_BACK.exec(last.latin1Slice(Math.max(0, last.length - 1 - MOST_BYTES), last.length - 1))?.[1];
}

/** The value of an id that was read from a frame. */
export function idOf(idText: string): RequestId {
  return idText.charCodeAt(0) === QUOTE ? idText.slice(1, -1) : Number(idText);
}

const QUOTE = 0x22;
