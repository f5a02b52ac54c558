// Answers `read_result`: a page of a kept result, its lines that contain a text, or a value from its JSON. It decodes a
// piece at a time and lets other work run in between; each request passes over the result at most once.

import { BridgeError } from '../util/bridge-error.ts';
import type { Span } from '../wire/json-members.ts';
import type { ContentPart } from './content.ts';
import { type DeadEnd, EACH, PathReader, type PathStep, parsedPath } from './json-path.ts';
import { type TextLine, WholeText } from './whole-text.ts';

export interface ReadArguments {
  readonly offset: number;
  readonly limit: number;
  readonly find: string | undefined;
  readonly path: string | undefined;
}

/** Lets other work run; rejects once nobody waits for the answer. */
type Pause = () => Promise<void>;

/** A kept result with its bytes and the positions of its parts. */
export interface ReadableResult {
  readonly bytes: Buffer;
  readonly parts: readonly ContentPart[];
  readonly structured: Span | undefined;
}

/** Reads what was asked for; adds a last line that says how to continue. */
export async function readWhole(result: ReadableResult, args: ReadArguments, pause: Pause): Promise<string> {
  if (args.path !== undefined) return valueAt(result, args.path, args, pause);
  const whole = new WholeText(result.bytes, partsToRead(result));
  return args.find === undefined ? pageOf(whole, args) : linesWith(args.find, whole, args, pause);
}

/** The parts that are text; structured content if there is no text. */
function partsToRead({ parts, structured }: ReadableResult): readonly ContentPart[] {
  const hasText = parts.some(({ read }) => read.to > read.from);
  return hasText || structured === undefined ? parts : [structuredPart(structured)];
}

function structuredPart(at: Span): ContentPart {
  return { item: at, kind: 'item', read: at, label: '' };
}

const noted = (text: string, note: string): string => `${text}${text === '' ? '' : '\n'}[mcp-bridge: ${note}]`;

/** The bytes between two pauses: some tenths of a millisecond. */
const PAUSE_BYTES = 64 * 1024;

// --- pages ---

function pageOf(whole: WholeText, { offset, limit }: ReadArguments): string {
  const { text, from, to } = whole.page(offset, limit);
  const goesOn = to < whole.size ? `goes on at offset ${to}` : 'the end';
  return noted(text, `bytes ${from} to ${to} of ${whole.size}; ${goesOn}`);
}

// --- lines ---

/** The number of characters shown before and after a match in a long line. */
const SHOWN = 200;
/** The cost of a line, in bytes. */
const LINE_COST = 128;

async function linesWith(
  find: string,
  whole: WholeText,
  { offset, limit }: ReadArguments,
  pause: Pause,
): Promise<string> {
  const wanted = find.toLowerCase();
  const places: string[] = [];
  let left = limit;
  let next: number | undefined;
  let work = 0;
  const wants = (text: string): boolean => text.toLowerCase().includes(wanted);
  for (const line of whole.lines(offset, wants)) {
    work += line.to - line.from + LINE_COST;
    if (work > PAUSE_BYTES) {
      work = 0;
      await pause();
    }
    for (const { at, shown } of placesIn(line, wanted)) {
      const from = at === 0 ? line.from : whole.offsetIn(line, at);
      const place = `${from}: ${shown}`;
      const bytes = bytesInJson(place) + LINE_BREAK_BYTES;
      if (bytes > left && places.length > 0) {
        next = from;
        break;
      }
      left -= bytes;
      places.push(place);
    }
    if (next !== undefined) break;
  }
  const many = places.length === 1 ? '1 place has it' : `${places.length} places have it`;
  const goesOn = next === undefined ? 'the end' : `goes on at offset ${next}`;
  return noted(places.join('\n'), `${many}, each with its offset; ${goesOn}`);
}

/**
 * The matches in a line. A short line is one match, at 0. In a longer line, each match has its surroundings, and
 * matches that these show already are skipped.
 */
function* placesIn(
  { text, repeated }: TextLine,
  wanted: string,
): Generator<{ readonly at: number; readonly shown: string }> {
  const lower = text.toLowerCase();
  let at = lower.indexOf(wanted, Math.max(0, repeated - wanted.length + 1));
  if (at >= 0 && text.length <= 2 * SHOWN + wanted.length) return yield { at: 0, shown: text };
  while (at >= 0) {
    const from = characterAt(text, Math.max(0, at - SHOWN));
    const to = characterAt(text, Math.min(text.length, at + wanted.length + SHOWN));
    yield { at, shown: `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}` };
    at = lower.indexOf(wanted, to);
  }
}

/** The beginning of the character that contains this UTF-16 unit. */
function characterAt(text: string, unit: number): number {
  return unit > 0 && (text.codePointAt(unit - 1) ?? 0) > 0xffff ? unit - 1 : unit;
}

const LINE_BREAK_BYTES = 2;

/** The bytes of a text in JSON, without quotes. */
function bytesInJson(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}

// --- values ---

async function valueAt(result: ReadableResult, path: string, args: ReadArguments, pause: Pause): Promise<string> {
  const steps = parsedPath(path);
  if (steps === undefined) throw badPath(path, 'A path is such as items[3].name, items[*].id or ["a.b"]');
  const failed: string[] = [];
  for (const { name, pieces } of jsonsIn(result)) {
    const found = await pageOfValue(pieces, steps, args, pause);
    if (found.page !== undefined) return found.page;
    failed.push(`${name}${found.why}`);
  }
  throw badPath(path, failed.join('. '));
}

/** The places where JSON may be: the structured content, else the text. Several texts count as a list. */
function jsonsIn({
  bytes,
  parts,
  structured,
}: ReadableResult): { name: string; pieces: Iterable<string | undefined> }[] {
  const texts = parts.filter(({ kind }) => kind === 'text');
  const inText = { name: 'The text', pieces: jsonOfTexts(bytes, texts) };
  if (structured === undefined) return [inText];
  const whole = { name: 'The structured content', pieces: piecesOf(bytes, [structuredPart(structured)]) };
  return texts.length === 0 ? [whole] : [whole, inText];
}

interface FoundValue {
  readonly page?: string;
  readonly why?: string;
}

/** Extracts a page of the value at a path. Offsets count characters, the limit counts bytes. */
async function pageOfValue(
  pieces: Iterable<string | undefined>,
  steps: readonly PathStep[],
  { offset, limit }: ReadArguments,
  pause: Pause,
): Promise<FoundValue> {
  const reader = new PathReader(steps);
  let at = 0;
  let page = '';
  let room = limit;
  let goesOn = false;
  const take = (text: string): void => {
    const wanted = text.slice(Math.max(0, offset - at));
    at += text.length;
    if (goesOn || wanted === '') return;
    const fits = unitsThatFit(wanted, page === '' ? Math.max(room, WIDEST_CHARACTER) : room);
    page += wanted.slice(0, fits.units);
    room -= fits.bytes;
    goesOn = fits.units < wanted.length;
  };
  for (const text of pieces) {
    if (text === undefined) return { why: ' is no JSON: find searches it' };
    take(reader.read(text));
    if (reader.isDone || goesOn) break;
    await pause();
  }
  if (reader.found === 0) return { why: `: ${leadsTo(steps, reader.deadEnd)}` };
  if (steps.includes(EACH) && !goesOn) take(']');
  return { page: noted(page, goesOn ? `goes on at offset ${offset + page.length}` : 'the end of the value') };
}

/** Two escapes, for a character with two surrogates. */
const WIDEST_CHARACTER = 12;

/** The beginning of a text with at most this many bytes in JSON, without half a character. */
function unitsThatFit(text: string, room: number): { readonly units: number; readonly bytes: number } {
  let bytes = 0;
  let units = 0;
  while (units < text.length) {
    const code = text.codePointAt(units) ?? 0;
    const width = widthInJson(code);
    if (bytes + width > room) break;
    bytes += width;
    units += code > 0xffff ? 2 : 1;
  }
  return { units, bytes };
}

function widthInJson(code: number): number {
  if (code < 0x20) return SHORT_ESCAPES.has(code) ? 2 : 6;
  if (code < 0x80) return code === 0x22 || code === 0x5c ? 2 : 1;
  if (code < 0x800) return 2;
  if (code > 0xffff) return 4;
  return code >= 0xd800 && code < 0xe000 ? 6 : 3;
}
const SHORT_ESCAPES: ReadonlySet<number> = new Set([8, 9, 10, 12, 13]);

/** Yields undefined for a text that is no JSON. */
function* jsonOfTexts(bytes: Buffer, texts: readonly ContentPart[]): Generator<string | undefined> {
  if (texts.length !== 1) yield '[';
  for (const [i, part] of texts.entries()) {
    if (i > 0) yield ',';
    let isFirst = true;
    for (const text of piecesOf(bytes, [part])) {
      yield isFirst && !/^\s*[[{]/.test(text) ? undefined : text;
      isFirst = false;
    }
  }
  if (texts.length !== 1) yield ']';
}

function* piecesOf(bytes: Buffer, parts: readonly ContentPart[]): Generator<string> {
  for (const { text } of new WholeText(bytes, parts).pieces(0)) yield text;
}

function badPath(path: string, why: string): BridgeError {
  return new BridgeError('TOOL_ARGUMENTS_INVALID', `read_result: path ${JSON.stringify(path.slice(0, 128))}: ${why}`);
}

/** Describes how far a path led, and what is there. */
function leadsTo(steps: readonly PathStep[], { steps: count, names, length }: DeadEnd): string {
  const way = steps
    .slice(0, count)
    .map((step) => (step === EACH ? '[*]' : typeof step === 'number' ? `[${step}]` : `.${step}`));
  const place = way.length === 0 ? 'The value' : `$${way.join('').slice(0, 128)}`;
  if (length !== undefined) return `${place} is a list of ${length}`;
  return names.length === 0 ? `${place} has no members` : `${place} has the members ${names.join(', ')}`;
}
