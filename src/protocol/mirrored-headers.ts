// The headers in which a request of 2026 repeats parts of its body, for servers and proxies: method, name, and the
// parameters that the tool's schema marks with `x-mcp-header`. A tool with invalid marks is left out of lists, because
// it could not be called.

import { isUtf8 } from 'node:buffer';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { LONGEST_NAME } from '../util/longest-name.ts';
import { changedFrame } from '../wire/changed-frame.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { ERA_2026, REQUEST_MEMBERS } from './era-2026.ts';

const MARK = 'x-mcp-header';

/** A parameter that is repeated in a header. */
interface Mark {
  /** The names on the path from the arguments to the value. */
  readonly path: readonly string[];
  readonly header: string;
}

/** A value that has a header. */
export type MirroredValue = string | number | boolean;

/** The marks of a tool, or the reason why they are invalid. */
type Marks = readonly Mark[] | string;

/** The maximum characters of all marks in a list. Further marks are dropped, and calls go without these headers. */
const MOST_KEPT = 1 << 20;
/** The memory of a mark besides its characters. */
const MARK_ROOM = 64;
/** The maximum reports of omitted tools per period, because a server could invent new ones for each list. */
const MOST_REPORTS = 20;
const REPORT_PERIOD_MS = 600_000;
/** The number of reported tools that are remembered. */
const MOST_BAD = 1_000;

/** Shared: each frame is handled before the next one is scanned. */
const envelope = new Envelope(ERA_2026.keys);

export class MirroredHeaders {
  readonly #marks = new Map<string, readonly Mark[]>();
  #room = MOST_KEPT;
  /** Tools with invalid marks in the current and the previous list. Each was reported. */
  #bad = new Set<string>();
  #badBefore: ReadonlySet<string> = new Set();
  #reports = 0;
  #periodEndMs = Number.NEGATIVE_INFINITY;
  readonly #leftOut: (tool: string, why: string) => void;
  readonly #now: () => number;
  /** True once the last page of the current list has arrived. */
  isListed = false;

  /** `leftOut` is called once per omitted tool, at most a few times per period. */
  constructor(leftOut: (tool: string, why: string) => void, now: () => number) {
    this.#leftOut = leftOut;
    this.#now = now;
  }

  /**
   * Reads an answer with a page of the list of tools; returns it without tools that cannot be called. The first page
   * begins a new list: old marks are dropped.
   */
  sift(frame: Frame, isFirstPage: boolean): Frame {
    const { b } = frame;
    const page = pageIn(frame);
    const list = page?.get('tools');
    const tools = list && findItems(b, list.from);
    if (page === undefined || list === undefined || tools === undefined) return frame;
    if (isFirstPage) this.#begin();
    if (!page.has('nextCursor')) this.isListed = true;
    const kept = tools.filter((tool) => this.#note(b, tool));
    if (kept.length === tools.length) return frame;
    return changedFrame(frame, list, `[${kept.map(({ from, to }) => b.toString('utf8', from, to)).join()}]`);
  }

  #begin(): void {
    this.#marks.clear();
    this.#room = MOST_KEPT;
    this.#badBefore = this.#bad;
    this.#bad = new Set();
    this.isListed = false;
  }

  /** Notes the marks of a tool; false if they are invalid. */
  #note(b: Buffer, { from, to }: Span): boolean {
    const isMarked = b.subarray(from, to).includes(MARK);
    if (!isMarked && this.#marks.size === 0) return true;
    const tool = membersOf(JSON.parse(b.toString('utf8', from, to)));
    const name = textOf(tool.name);
    const marks = isMarked ? marksIn(tool.inputSchema) : [];
    this.#forget(name);
    if (typeof marks === 'string') return this.#leaveOut(name, marks);
    if (marks.length > 0) this.#keep(name, marks);
    return true;
  }

  #forget(name: string): void {
    this.#room += roomOf(name, this.#marks.get(name) ?? []);
    this.#marks.delete(name);
  }

  #keep(name: string, marks: readonly Mark[]): void {
    const room = roomOf(name, marks);
    if (room > this.#room) return;
    this.#room -= room;
    this.#marks.set(name, marks);
  }

  #leaveOut(name: string, why: string): false {
    const known = Buffer.from(name.slice(0, LONGEST_NAME)).toString(); // a slice would keep the whole name in memory
    const isReported = this.#bad.has(known) || this.#badBefore.has(known);
    if (this.#bad.size >= MOST_BAD || !(isReported || this.#mayReport())) return false;
    this.#bad.add(known);
    if (!isReported) this.#leftOut(name, why);
    return false;
  }

  #mayReport(): boolean {
    const now = this.#now();
    if (now >= this.#periodEndMs) {
      this.#periodEndMs = now + REPORT_PERIOD_MS;
      this.#reports = 0;
    }
    return this.#reports++ < MOST_REPORTS;
  }

  /** The headers for a message, given as a frame without its newline. */
  headersOf(body: Uint8Array<ArrayBuffer>): Readonly<Record<string, string>> {
    const b = bufferOf(body);
    if (!envelope.scan(b, 0, b.length, DEEPEST) || !envelope.has(Field.method)) return {};
    const { role, name: field } = ERA_2026.methods.of(b, envelope);
    const method = { 'mcp-method': encoded(textOf(envelope.decode(b, Field.method))) };
    const name = field !== undefined && envelope.has(field) ? envelope.decode(b, field) : undefined;
    if (typeof name !== 'string') return method;
    const values = role === 'call' ? this.valuesIn(b, envelope, name) : [];
    const parameters = values.map(([header, value]) => [header, encoded(`${value}`)] as const);
    return { ...method, 'mcp-name': encoded(name), ...Object.fromEntries(parameters) };
  }

  /** True if no tool of the list has a mark. */
  get isEmpty(): boolean {
    return this.#marks.size === 0;
  }

  /** The values in a call of this tool that have headers, with the header names. The call was scanned. */
  valuesIn(b: Buffer, call: Envelope, tool: string): (readonly [header: string, value: MirroredValue])[] {
    const marks = call.has(Field.arguments) ? this.#marks.get(tool) : undefined;
    return (marks ?? []).flatMap(({ path, header }) => {
      const value = valueAt(b, call.from(Field.arguments), path);
      return isMirrored(value) ? [[`mcp-param-${header}`, value] as const] : [];
    });
  }
}

/** A member of `_meta` of a call. */
interface MetaMember {
  readonly key: string;
  readonly field: Field;
}

/**
 * A request for a page of the list of tools, for the client of a call, because lists may differ between clients. It
 * gets `more` members of the call's `_meta`.
 */
export function listRequestFor(
  call: Uint8Array<ArrayBuffer>,
  id: string,
  cursor: string | undefined,
  more: readonly MetaMember[] = [],
): Buffer {
  const b = bufferOf(call);
  const isSound = envelope.scan(b, 0, b.length, DEEPEST);
  const members = [...REQUEST_MEMBERS, ...more].flatMap(({ key, field }) => {
    if (!isSound || !envelope.has(field)) return [];
    const { from, to } = envelope.span(field);
    return [`${JSON.stringify(key)}:${b.toString('utf8', from, to)}`];
  });
  const position = cursor === undefined ? '' : `,"cursor":${cursor}`;
  const params = `{"_meta":{${members.join()}}${position}}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":${params}}`);
}

/** The cursor of the next page in an answer, as JSON; undefined if there is none. */
export function nextCursorIn(frame: Frame): string | undefined {
  const cursor = pageIn(frame)?.get('nextCursor');
  return cursor && frame.b.toString('utf8', cursor.from, cursor.to);
}

/** True for a request that begins a list, which has no cursor. */
export function isForFirstPage(request: Uint8Array<ArrayBuffer>): boolean {
  const b = bufferOf(request);
  const params = findMembers(b, 0, ['params'])?.spans.get('params');
  return params === undefined || findMembers(b, params.from, ['cursor'])?.spans.has('cursor') !== true;
}

/** True for the answer to the request with this id, which is given in its bytes. */
export function isAnswerTo({ b, start, end }: Frame, id: string): boolean {
  if (!envelope.scan(b, start, end, DEEPEST) || envelope.kind !== 'response') return false;
  return envelope.has(Field.id) && envelope.raw(b, Field.id) === id;
}

function roomOf(name: string, marks: readonly Mark[]): number {
  if (marks.length === 0) return 0;
  const lengths = marks.map(({ path, header }) => MARK_ROOM + header.length + path.join().length);
  return lengths.reduce((sum, length) => sum + length, name.length);
}

function pageIn({ b, start, end }: Frame): ReadonlyMap<string, Span> | undefined {
  if (!envelope.scan(b, start, end, DEEPEST) || !envelope.has(Field.result)) return undefined;
  return findMembers(b, envelope.from(Field.result), ['tools', 'nextCursor'])?.spans;
}

function bufferOf(body: Uint8Array<ArrayBuffer>): Buffer {
  return Buffer.from(body.buffer, body.byteOffset, body.length);
}

/** Decodes only the value at the end of the path; undefined if it is missing. */
function valueAt(b: Buffer, from: number, path: readonly string[]): unknown {
  let to = from;
  for (const name of path) {
    const span = findMembers(b, from, [name])?.spans.get(name);
    if (span === undefined) return undefined;
    ({ from, to } = span);
  }
  return JSON.parse(b.toString('utf8', from, to));
}

/** False for values without a header: null, objects, and integers that JavaScript cannot represent. */
function isMirrored(value: unknown): value is MirroredValue {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value);
  return typeof value === 'string' || typeof value === 'boolean';
}

/** Texts that arrive unchanged: no outer spaces, only ASCII, nothing that looks encoded. */
const PLAIN = /^(?!=\?base64\?.*\?=$)[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

function encoded(text: string): string {
  return PLAIN.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The text of a header, decoded from Base64 if needed; undefined if invalid. */
export function decodedHeader(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  const [, base64] = /^=\?base64\?(.*)\?=$/.exec(header) ?? [];
  if (base64 === undefined) return header;
  const bytes = BASE64.test(base64) ? Buffer.from(base64, 'base64') : undefined;
  return bytes !== undefined && isUtf8(bytes) ? bytes.toString() : undefined;
}

// --- marks in a schema ---

/** Parts of a schema that are schemas, but not on a path from the arguments to a value. */
const ASIDE: readonly string[] = [
  ...['items', 'prefixItems', 'contains', 'additionalProperties', 'unevaluatedProperties', 'unevaluatedItems'],
  ...['propertyNames', 'oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else'],
];
/** Parts whose members are such schemas. */
const ASIDE_BY_NAME: readonly string[] = ['patternProperties', 'dependentSchemas', '$defs', 'definitions'];

const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
/** The name of a header: a token by RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

function marksIn(inputSchema: unknown): Marks {
  const marks: Mark[] = [];
  const problem = collect(inputSchema, [], marks);
  if (problem !== undefined) return problem;
  const names = new Set(marks.map(({ header }) => header.toLowerCase()));
  return names.size === marks.length ? marks : 'the same header is named twice';
}

/** Collects the marks of a schema and its properties. Returns the reason if one is invalid. */
function collect(schema: unknown, path: readonly string[], marks: Mark[]): string | undefined {
  if (!isRecord(schema)) return undefined;
  if (Object.hasOwn(schema, MARK)) {
    const header = schema[MARK];
    if (path.length === 0) return NOT_A_PROPERTY;
    if (typeof header !== 'string' || !TOKEN.test(header)) return 'the name of a header is not allowed';
    if (!TYPES.has(schema.type)) return 'a header is for a string, an integer or a boolean';
    marks.push({ path, header });
  }
  for (const part of asideOf(schema)) if (isMarkedWithin(part)) return NOT_A_PROPERTY;
  for (const [name, property] of Object.entries(membersOf(schema.properties))) {
    const problem = collect(property, [...path, name], marks);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

const NOT_A_PROPERTY = 'a header is for a property that every call may have';

function asideOf(schema: Readonly<Record<string, unknown>>): readonly unknown[] {
  const parts = ASIDE.flatMap((name) => schema[name] ?? []);
  return [...parts, ...ASIDE_BY_NAME.flatMap((name) => Object.values(membersOf(schema[name])))];
}

/** True if the schema, or a schema inside it, has a mark. */
function isMarkedWithin(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  if (Object.hasOwn(schema, MARK)) return true;
  return [...asideOf(schema), ...Object.values(membersOf(schema.properties))].some(isMarkedWithin);
}
