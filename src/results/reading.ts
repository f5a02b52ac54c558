// Carries out `read_result`: a page of a kept result, its lines with a text, or a value out of its JSON. It decodes a piece
// at a time and lets others go on between two; each request costs at most one pass over the result.

import { BridgeError } from '../util/bridge-error.ts';
import type { ContentPart } from './content.ts';
import { type DeadEnd, EACH, PathReader, type PathStep, parsedPath } from './json-path.ts';
import type { WholeResult } from './kept-results.ts';
import { WholeText } from './whole-text.ts';

export interface ReadArguments {
  readonly offset: number;
  readonly limit: number;
  readonly find: string | undefined;
  readonly path: string | undefined;
}

/** Lets others go on; rejects once nobody waits for the answer. */
type Pause = () => Promise<void>;

/** Reads what is asked for; returns it with a last line that says where it goes on. */
export async function readWhole(result: WholeResult, args: ReadArguments, pause: Pause): Promise<string> {
  if (args.path !== undefined) return valueAt(result, args.path, args, pause);
  const whole = new WholeText(result.bytes, result.parts);
  return args.find === undefined ? pageOf(whole, args) : linesWith(args.find, whole, args, pause);
}

const noted = (text: string, note: string): string => `${text}${text === '' ? '' : '\n'}[mcp-bridge: ${note}]`;

/** The work between two pauses, in bytes: some tenths of a millisecond. */
const PAUSE_BYTES = 64 * 1024;

// --- pages ---

function pageOf(whole: WholeText, { offset, limit }: ReadArguments): string {
  const { text, from, to } = whole.page(offset, limit);
  const goesOn = to < whole.size ? `goes on at offset ${to}` : 'the end';
  return noted(text, `bytes ${from} to ${to} of ${whole.size}; ${goesOn}`);
}

// --- lines ---

/** The characters that are shown of a line before and behind what was found. */
const SHOWN = 200;
/** A line costs as much as so many bytes. */
const LINE_COST = 128;

async function linesWith(
  find: string,
  whole: WholeText,
  { offset, limit }: ReadArguments,
  pause: Pause,
): Promise<string> {
  const wanted = find.toLowerCase();
  const lines: string[] = [];
  let left = limit;
  let next: number | undefined;
  let work = 0;
  const wants = (text: string): boolean => text.toLowerCase().includes(wanted);
  for (const { text, from, to, repeated } of whole.lines(offset, wants)) {
    work += to - from + LINE_COST;
    if (work > PAUSE_BYTES) {
      work = 0;
      await pause();
    }
    const at = text.toLowerCase().indexOf(wanted, Math.max(0, repeated - wanted.length + 1));
    if (at < 0) continue;
    const line = `${from}: ${around(text, at, wanted.length)}`;
    if (line.length > left && lines.length > 0) {
      next = from;
      break;
    }
    left -= line.length + 1;
    lines.push(line);
  }
  const many = lines.length === 1 ? '1 line has it' : `${lines.length} lines have it`;
  const goesOn = next === undefined ? 'the end' : `goes on at offset ${next}`;
  return noted(lines.join('\n'), `${many}, each with its offset; ${goesOn}`);
}

/** The part of a line around what was found. */
function around(line: string, at: number, length: number): string {
  const from = Math.max(0, at - SHOWN);
  const to = Math.min(line.length, at + length + SHOWN);
  return `${from > 0 ? '…' : ''}${line.slice(from, to)}${to < line.length ? '…' : ''}`;
}

// --- values ---

/** The first half of a character that takes two. */
const HALF_PAIR = /[\ud800-\udbff]$/;

async function valueAt(result: WholeResult, path: string, args: ReadArguments, pause: Pause): Promise<string> {
  const steps = parsedPath(path);
  if (steps === undefined) throw badPath(path, 'A path is such as items[3].name, items[*].id or ["a.b"]');
  const reader = new PathReader(steps);
  const { offset, limit } = args;
  let at = 0;
  let page = '';
  let goesOn = false;
  const take = (text: string): void => {
    const [from, to] = [Math.max(0, offset - at), Math.max(0, offset + limit - at)];
    page += text.slice(from, to);
    at += text.length;
    goesOn ||= at > offset + limit;
  };
  for (const text of jsonOf(result)) {
    if (text === undefined) throw badPath(path, 'The result is no JSON: find searches its text');
    take(reader.read(text));
    if (reader.isDone || goesOn) break;
    await pause();
  }
  if (reader.found === 0) throw badPath(path, leadsTo(steps, reader.deadEnd));
  if (steps.includes(EACH) && !goesOn) take(']');
  if (goesOn && HALF_PAIR.test(page)) page = page.slice(0, -1);
  const end = offset + page.length;
  return noted(page, goesOn ? `goes on at offset ${end}` : 'the end of the value');
}

/**
 * The JSON of a result, in pieces: its structured content, else its text. Several texts are the items of a list. Undefined for
 * a text that is no JSON at all.
 */
function* jsonOf({ bytes, parts, structured }: WholeResult): Generator<string | undefined> {
  if (structured !== undefined)
    return yield* piecesOf(bytes, [{ item: structured, kind: 'item', read: structured, label: '' }]);
  const texts = parts.filter(({ kind }) => kind === 'text');
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

/** Says how far a path has led, and what was there. */
function leadsTo(steps: readonly PathStep[], { steps: count, names, length }: DeadEnd): string {
  const way = steps
    .slice(0, count)
    .map((step) => (step === EACH ? '[*]' : typeof step === 'number' ? `[${step}]` : `.${step}`));
  const place = way.length === 0 ? 'The value' : `$${way.join('').slice(0, 128)}`;
  if (length !== undefined) return `${place} is a list of ${length}`;
  return names.length === 0 ? `${place} has no members` : `${place} has the members ${names.join(', ')}`;
}
