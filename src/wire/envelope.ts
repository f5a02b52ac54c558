// The parts of a frame that a router reads: its kind, and where the few fields that routing needs stand in the bytes.
// It walks the whole frame once, so that what it accepts is JSON to the last byte; it decodes nothing.
//
// It must never guess. A key that it reads and that is there twice, that is spelled with escapes, or that differs
// only in case may mean one thing here and another at the peer: such frames are marked, and their routing refused.

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
 * The members that are read, each with its place: at the top, in `params`, `params._meta`, `result` or `result._meta`. An era
 * says by its table of keys which of them it has.
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

/** A key that is read, and the keys that are read in its value where that is an object. */
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

/** A key in the spelling in which it is compared. As long as the longest key of all tables. */
let folded = new Uint8Array(0);

/** The keys that are read in one kind of object. Made once for each era. */
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

/** Overwritten by each scan. One object serves a whole link, so that scanning allocates nothing. */
export class Envelope {
  kind: FrameKind = 'notification';
  fault: FrameFault | undefined;
  /** Fields that some reader may take for another, each once. */
  ambiguous: readonly Field[] = NONE;
  /** The keys that the next scan reads. */
  keys: KeyTable;
  readonly #from = new Int32Array(FIELD_COUNT).fill(-1);
  readonly #to = new Int32Array(FIELD_COUNT);
  /** The fields that the last scan has found. */
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
  /** The start of the field's value (of a string, its quote), or -1. */
  from(field: Field): number {
    return this.#from[field] as number;
  }
  to(field: Field): number {
    return this.#to[field] as number;
  }

  /** The place of the field's value. Only valid if the field is there. */
  span(field: Field): Span {
    return { from: this.from(field), to: this.to(field) };
  }

  /** The field's value in its own spelling; each character is one byte. */
  raw(b: Buffer, field: Field): string {
    return b.latin1Slice(this.from(field), this.to(field));
  }
  /** The spelling of an id that was read already. Most are plain numbers: to write one costs less than to copy its bytes. */
  rawId(b: Buffer, field: Field, id: RequestId): string {
    if (typeof id === 'number') {
      const text = String(id);
      if (text.length === this.to(field) - this.from(field) && isSpelled(b, this.from(field), text)) return text;
    }
    return this.raw(b, field);
  }
  /** Its value, decoded; undefined without it. For what is read seldom. */
  decode(b: Buffer, field: Field): unknown {
    return this.has(field) ? JSON.parse(b.toString('utf8', this.from(field), this.to(field))) : undefined;
  }
  /** The field's value as an id; undefined if it is missing or no id. */
  id(b: Buffer, field: Field): RequestId | undefined {
    return this.has(field) ? readRequestId(b, this.from(field), this.to(field)) : undefined;
  }

  /** Takes a field for one that is not there. */
  forget(field: Field): void {
    this.#from[field] = -1;
  }

  /**
   * Moves what was read to where it stands in another frame: the one from `start` on, in which the value at `span` has another
   * length. Nothing that is read may stand inside of that value.
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
   * Reads the frame in b[start, end). b[end] must be a newline, or the CR before one.
   * Returns whether a router may act on it; if not, `fault` says why.
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
    // A batch is no message: how deep each of those in it may be is asked when it is scanned by itself.
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

  /** The key that the bytes spell exactly; a key that could be taken for one of the table makes that ambiguous. */
  #keyAt(b: Buffer, from: number, to: number, keys: KeyTable): KnownKey | undefined {
    const alike = keys.ofLength(to - from);
    for (let key = alike; key !== undefined; key = key.next) if (isAt(b, from, key.bytes)) return key;
    if (isPlain(b, from, to)) this.#doubtAlike(b, from, alike);
    else return this.#foldedKeyAt(b, from, to, keys);
    return undefined;
  }

  /** Some encoders write a slash with a backslash before it: no decoder takes that for anything else. */
  #foldedKeyAt(b: Buffer, from: number, to: number, keys: KeyTable): KnownKey | undefined {
    const alike = keys.ofLength(foldKey(b, from, to));
    if (escapesSlashesAlone(b, from, to))
      for (let key = alike; key !== undefined; key = key.next) if (isAt(folded, 0, key.bytes)) return key;
    this.#doubtAlike(folded, 0, alike);
    return undefined;
  }

  /** Doubts the keys that differ from the bytes only in the case of letters. */
  #doubtAlike(b: Uint8Array, from: number, keys: KnownKey | undefined): void {
    for (let key = keys; key !== undefined; key = key.next) if (sameLetters(b, from, key.bytes)) this.#doubt(key.field);
  }

  #classify(b: Buffer): FrameFault | undefined {
    if (this.ambiguous !== NONE && this.ambiguous.some((field) => field <= LAST_AT_TOP)) return 'ambiguous-key';
    const hasMethod = this.has(Field.method);
    const isAnswer = this.has(Field.result) || this.has(Field.error);
    if (!hasMethod && !isAnswer) return 'no-method';
    // To one reader it would be a request, and to the next one the answer to another.
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

/** True if the text stands there; each of its characters is one byte. */
function isSpelled(b: Buffer, from: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (b[from + i] !== text.charCodeAt(i)) return false;
  return true;
}

/** Equal but for the case of ASCII letters; both are plain ASCII. */
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
 * Writes a key with escapes or other letters than ASCII into `folded`, as decoders that ignore case see it: they also
 * take ſ (U+017F) for s and the Kelvin sign (U+212A) for k. Returns its length, or -1 if it cannot be any key that is read.
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
      code = byteAt(b, p + 1) === 0x2f ? 0x2f : 0; // no key that is read has any of the others
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
