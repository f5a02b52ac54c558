// The parts of a frame that a router reads: its kind, and the positions of the few fields that routing needs. It walks
// the whole frame once, so every accepted frame is valid JSON to the last byte; it decodes nothing.
//
// It must never guess. If a key that it reads occurs twice, has escapes, or differs only in case, the peer may
// understand it differently: such frames are marked, and not routed.

import { isAt } from './byte-table.ts';
import {
  BACKSLASH,
  byteAt,
  CLOSE_OBJECT,
  COMMA,
  DEEPEST,
  NOT_JSON,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  skipColon,
  skipSpace,
  skipString,
  skipValue,
  TOO_DEEP,
} from './json-grammar.ts';
import type { Span } from './json-members.ts';
import { type RequestId, readRequestId } from './request-id.ts';

/**
 * The members that are read, each with its place: at the top, in `params`, `params._meta`, `result` or `result._meta`.
 * The key table of an era says which of them it has.
 */
export const Field = {
  jsonrpc: 1,
  id: 2,
  method: 3,
  params: 4,
  result: 5,
  error: 6,
  name: 7,
  uri: 8,
  meta: 9,
  requestId: 10,
  progressToken: 11,
  metaProgressToken: 12,
  task: 13,
  taskId: 14,
  arguments: 15,
  isError: 16,
  protocolVersion: 17,
  clientInfo: 18,
  clientCapabilities: 19,
  logLevel: 20,
  subscriptionId: 21,
  traceparent: 22,
  tracestate: 23,
  baggage: 24,
  bridgeView: 25,
  bridgeClientId: 26,
  bridgeCwd: 27,
  requestState: 28,
  inputResponses: 29,
  resultType: 30,
  inputRequests: 31,
  resultState: 32,
  ttlMs: 33,
  cacheScope: 34,
  resultMeta: 35,
  serverInfo: 36,
  resultSubscriptionId: 37,
  structuredContent: 38,
  content: 39,
} as const;
export type Field = (typeof Field)[keyof typeof Field];
const FIELD_COUNT = 40;
const LAST_AT_TOP = Field.error;

export type FrameKind = 'request' | 'notification' | 'response';

export type FrameFault =
  | 'not-json'
  | 'too-deep'
  | 'batch'
  | 'not-an-object'
  | 'ambiguous-key'
  | 'not-jsonrpc-2.0'
  | 'method-not-a-string'
  | 'request-and-answer'
  | 'no-method';

/** A key that is read. If its value is an object, `inside` has the keys to read there. */
export interface Key {
  readonly text: string;
  readonly field: Field;
  readonly inside?: KeyTable;
}

interface KnownKey {
  readonly field: Field;
  readonly bytes: Uint8Array;
  readonly inside: KeyTable | undefined;
  /** Another key of the same length. */
  readonly next: KnownKey | undefined;
}

/** A key in the spelling used for comparison. As long as the longest key of all tables. */
let folded = new Uint8Array(0);

/** The keys to read in one kind of object. Made once per era. */
export class KeyTable {
  readonly #byLength: (KnownKey | undefined)[] = [];

  constructor(keys: readonly Key[]) {
    for (const { text, field, inside } of keys.toReversed()) {
      const bytes = Buffer.from(text);
      while (this.#byLength.length <= bytes.length) this.#byLength.push(undefined);
      this.#byLength[bytes.length] = { field, bytes, inside, next: this.#byLength[bytes.length] };
    }
    if (this.#byLength.length > folded.length) folded = new Uint8Array(this.#byLength.length);
  }

  /** The first key of a length. */
  ofLength(length: number): KnownKey | undefined {
    return length >= 0 && length < this.#byLength.length ? this.#byLength[length] : undefined;
  }
}

const NONE: readonly Field[] = [];

/**
 * The result of a scan; each scan overwrites it. One object serves a whole link, so that scanning allocates nothing.
 */
export class Envelope {
  kind: FrameKind = 'notification';
  fault: FrameFault | undefined;
  /** Fields that some reader may take for another, each once. */
  ambiguous: readonly Field[] = NONE;
  /** The keys for the next scan. */
  keys: KeyTable;
  readonly #from = new Int32Array(FIELD_COUNT).fill(-1);
  readonly #to = new Int32Array(FIELD_COUNT);
  /** The fields found by the last scan. */
  readonly #found = new Uint8Array(FIELD_COUNT);
  #foundCount = 0;

  constructor(keys: KeyTable) {
    this.keys = keys;
  }

  /** True if one of the fields is ambiguous. */
  doubts(fields: readonly Field[]): boolean {
    return this.ambiguous !== NONE && fields.some((field) => this.ambiguous.includes(field));
  }

  has(field: Field): boolean {
    return (this.#from[field] as number) >= 0;
  }
  /** The index of the field's value (for a string, of its quote), or -1. */
  from(field: Field): number {
    return this.#from[field] as number;
  }
  to(field: Field): number {
    return this.#to[field] as number;
  }

  /** The position of the field's value. Only valid if the field exists. */
  span(field: Field): Span {
    return { from: this.from(field), to: this.to(field) };
  }

  /** The field's value in its own spelling, in latin1. */
  raw(b: Buffer, field: Field): string {
    return b.latin1Slice(this.from(field), this.to(field));
  }
  /**
   * The spelling of an id that was read already. Most are plain numbers: formatting one costs less than copying its
   * bytes.
   */
  rawId(b: Buffer, field: Field, id: RequestId): string {
    if (typeof id === 'number') {
      const text = String(id);
      if (text.length === this.to(field) - this.from(field) && isSpelled(b, this.from(field), text)) return text;
    }
    return this.raw(b, field);
  }
  /** The field's value, decoded; undefined if missing. Too slow for fields of each message. */
  decode(b: Buffer, field: Field): unknown {
    return this.has(field) ? JSON.parse(b.toString('utf8', this.from(field), this.to(field))) : undefined;
  }
  /** The field's value as an id; undefined if it is missing or no id. */
  id(b: Buffer, field: Field): RequestId | undefined {
    return this.has(field) ? readRequestId(b, this.from(field), this.to(field)) : undefined;
  }

  /** Treats a field as missing. */
  forget(field: Field): void {
    this.#from[field] = -1;
  }

  /**
   * Adjusts all positions to another frame, which begins at `newStart` and in which the value at `span` has another
   * length. No field that was read may lie inside that value.
   */
  move(start: number, span: Span, newStart: number, newLength: number): void {
    const by = newStart - start;
    const grown = newLength - (span.to - span.from);
    for (let i = 0; i < this.#foundCount; i++) {
      const field = this.#found[i] as number;
      const [from, to] = [this.#from[field] as number, this.#to[field] as number];
      if (from < 0) continue;
      this.#from[field] = from + by + (from >= span.to ? grown : 0);
      this.#to[field] = to + by + (to >= span.to ? grown : 0);
    }
  }

  /**
   * Reads the frame in b[start, end). b[end] must be a newline, or the CR before one. Returns true if a router may act
   * on it; if not, `fault` says why.
   */
  scan(b: Buffer, start: number, end: number, maxDepth: number): boolean {
    for (let i = 0; i < this.#foundCount; i++) this.#from[this.#found[i] as number] = -1;
    this.#foundCount = 0;
    this.ambiguous = NONE;
    this.fault = this.#walk(b, start, end, maxDepth) ?? this.#classify(b);
    return this.fault === undefined;
  }

  #walk(b: Buffer, start: number, end: number, maxDepth: number): FrameFault | undefined {
    const first = skipSpace(b, start);
    const opensObject = byteAt(b, first) === OPEN_OBJECT;
    // A batch is no message: the depth limit applies to each message in it, when that is scanned.
    const p = opensObject ? this.#object(b, first, this.keys, 1, maxDepth) : skipValue(b, first, 0, DEEPEST + 1);
    if (p === TOO_DEEP) return 'too-deep';
    if (p < 0 || skipSpace(b, p) < end) return 'not-json';
    if (opensObject) return undefined;
    return byteAt(b, first) === OPEN_ARRAY ? 'batch' : 'not-an-object';
  }

  /** `p` is at the opening brace; `depth` counts this object. */
  #object(b: Buffer, p: number, keys: KeyTable, depth: number, maxDepth: number): number {
    if (depth > maxDepth) return TOO_DEEP;
    p = skipSpace(b, p + 1);
    if (byteAt(b, p) === CLOSE_OBJECT) return p + 1;
    for (;;) {
      if (byteAt(b, p) !== QUOTE) return NOT_JSON;
      const keyFrom = p + 1;
      p = skipString(b, keyFrom);
      if (p < 0) return NOT_JSON;
      const key = this.#keyAt(b, keyFrom, p - 1, keys);
      const valueFrom = skipColon(b, p);
      if (valueFrom < 0) return NOT_JSON;
      const inside = key?.inside;
      p =
        inside !== undefined && byteAt(b, valueFrom) === OPEN_OBJECT
          ? this.#object(b, valueFrom, inside, depth + 1, maxDepth)
          : skipValue(b, valueFrom, depth, maxDepth);
      if (p < 0) return p;
      if (key !== undefined) this.#note(key.field, valueFrom, p);
      p = skipSpace(b, p);
      const after = byteAt(b, p);
      if (after === CLOSE_OBJECT) return p + 1;
      if (after !== COMMA) return NOT_JSON;
      p = skipSpace(b, p + 1);
    }
  }

  #note(field: Field, from: number, to: number): void {
    if ((this.#from[field] as number) >= 0) this.#doubt(field);
    else this.#found[this.#foundCount++] = field;
    this.#from[field] = from;
    this.#to[field] = to;
  }

  #doubt(field: Field): void {
    if (!this.ambiguous.includes(field)) this.ambiguous = [...this.ambiguous, field];
  }

  /** The key that the bytes spell exactly. If they only resemble a key of the table, that key becomes ambiguous. */
  #keyAt(b: Buffer, from: number, to: number, keys: KeyTable): KnownKey | undefined {
    const alike = keys.ofLength(to - from);
    for (let key = alike; key !== undefined; key = key.next) if (isAt(b, from, key.bytes)) return key;
    if (isPlain(b, from, to)) this.#doubtAlike(b, from, alike);
    else return this.#foldedKeyAt(b, from, to, keys);
    return undefined;
  }

  /** The key that the bytes spell with escapes. Some encoders escape slashes; every decoder reads that the same way. */
  #foldedKeyAt(b: Buffer, from: number, to: number, keys: KeyTable): KnownKey | undefined {
    const alike = keys.ofLength(foldKey(b, from, to));
    if (escapesSlashesAlone(b, from, to))
      for (let key = alike; key !== undefined; key = key.next) if (isAt(folded, 0, key.bytes)) return key;
    this.#doubtAlike(folded, 0, alike);
    return undefined;
  }

  /** Marks keys as ambiguous that differ from the bytes only in letter case. */
  #doubtAlike(b: Uint8Array, from: number, keys: KnownKey | undefined): void {
    for (let key = keys; key !== undefined; key = key.next) if (sameLetters(b, from, key.bytes)) this.#doubt(key.field);
  }

  #classify(b: Buffer): FrameFault | undefined {
    if (this.ambiguous !== NONE && this.ambiguous.some((field) => field <= LAST_AT_TOP)) return 'ambiguous-key';
    const hasMethod = this.has(Field.method);
    const isAnswer = this.has(Field.result) || this.has(Field.error);
    if (!hasMethod && !isAnswer) return 'no-method';
    // One reader would see a request, another one an answer.
    if (hasMethod && isAnswer) return 'request-and-answer';
    if (hasMethod && byteAt(b, this.from(Field.method)) !== QUOTE) return 'method-not-a-string';
    if (!hasMethod) this.kind = 'response';
    else this.kind = this.has(Field.id) ? 'request' : 'notification';
    return this.#saysVersion2(b) ? undefined : 'not-jsonrpc-2.0';
  }

  #saysVersion2(b: Buffer): boolean {
    const p = this.from(Field.jsonrpc);
    return (
      this.to(Field.jsonrpc) - p === 5 &&
      byteAt(b, p) === QUOTE &&
      byteAt(b, p + 1) === 0x32 &&
      byteAt(b, p + 2) === 0x2e &&
      byteAt(b, p + 3) === 0x30
    );
  }
}

/** True if the text, in latin1, is at this position. */
function isSpelled(b: Buffer, from: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (b[from + i] !== text.charCodeAt(i)) return false;
  return true;
}

/** True if both are equal except for letter case; both are ASCII. */
function sameLetters(b: Uint8Array, from: number, word: Uint8Array): boolean {
  for (let i = 0; i < word.length; i++) {
    const c = byteAt(b, from + i);
    if (smallLetter(c) !== smallLetter(byteAt(word, i))) return false;
  }
  return true;
}

const smallLetter = (c: number): number => (c >= 0x41 && c <= 0x5a ? c | 0x20 : c);

function isPlain(b: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (byteAt(b, i) >= 0x80 || byteAt(b, i) === BACKSLASH) return false;
  return true;
}

function escapesSlashesAlone(b: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    if (byteAt(b, i) >= 0x80) return false;
    if (byteAt(b, i) === BACKSLASH && byteAt(b, ++i) !== 0x2f) return false;
  }
  return true;
}

/**
 * Writes a key with escapes or non-ASCII letters into `folded`, in the form that case-insensitive decoders see: some of
 * them take ſ (U+017F) for s and the Kelvin sign (U+212A) for k. Returns the length, or -1 if it can be no known key.
 */
function foldKey(b: Buffer, from: number, to: number): number {
  let length = 0;
  for (let p = from; p < to; length++) {
    if (length === folded.length) return -1;
    const c = byteAt(b, p);
    let code = c;
    if (c !== BACKSLASH) p++;
    else if (byteAt(b, p + 1) === 0x75) {
      code = Number.parseInt(b.latin1Slice(p + 2, p + 6), 16);
      p += 6;
    } else {
      code = byteAt(b, p + 1) === 0x2f ? 0x2f : 0; // no known key has any of the others
      p += 2;
    }
    if (c === 0xc5 && byteAt(b, p) === 0xbf) {
      code = LONG_S;
      p++;
    } else if (c === 0xe2 && byteAt(b, p) === 0x84 && byteAt(b, p + 1) === 0xaa) {
      code = KELVIN;
      p += 2;
    }
    if (code === LONG_S) code = 0x73;
    else if (code === KELVIN) code = 0x6b;
    if (code >= 0x80) return -1;
    folded[length] = code;
  }
  return length;
}

const LONG_S = 0x17f;
const KELVIN = 0x212a;
