// Reads calls of `execute_tool` in their bytes, and repairs common mistakes of models. Only two names are decoded. A
// client that runs the same tool repeatedly sends the same bytes up to the tool's arguments, and those are not parsed
// again:
//
//   "params":{"name":"execute_tool","arguments":{"server":"s","tool":"t","arguments":{ … }}}
//            |----------------------- the same as last time -----------------------|       || and nothing else

import type { Cut } from '../core/call.ts';
import { textOf } from '../util/json-value.ts';
import { changedFrame } from '../wire/changed-frame.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import {
  byteAt,
  CLOSE_OBJECT,
  DEEPEST,
  OPEN_OBJECT,
  QUOTE,
  skipSpace,
  skipString,
  skipValue,
} from '../wire/json-grammar.ts';
import { findMembers, type Span } from '../wire/json-members.ts';

export interface Execution {
  readonly server: string;
  readonly tool: string;
  /** Server and tool in the client's bytes: equal bytes mean an equal key. */
  readonly key: string;
  /** The tool's arguments. */
  readonly inner: Span;
  readonly cut: Cut;
}

/** A call that cannot be run unchanged. */
export interface FaultyExecution {
  /** One sentence per fault; empty if only the arguments are missing. */
  readonly faults: readonly string[];
  /** '' if the call names none. */
  readonly server: string;
  readonly tool: string;
}

/** A longer beginning is not cached. */
const LONGEST_BEGINNING = 1024;
const NOTHING = Buffer.alloc(0);

/** Reads the calls of one client. */
export class ExecutionReader {
  /** The bytes of the last call, from `params` to the tool's arguments. */
  #beginning = NOTHING;
  #last: Execution | undefined;
  /** The distance from `params` to the value of `params.arguments`. */
  #outerAt = 0;

  read(frame: Frame, envelope: Envelope): Execution | FaultyExecution {
    const params = envelope.from(Field.params);
    const again = this.#last === undefined ? undefined : this.#again(frame, params, this.#last);
    if (again !== undefined) return again;
    const execution = executionIn(frame, envelope);
    if (!('faults' in execution)) this.#remember(frame, params, execution);
    return execution;
  }

  #again({ b, start, end }: Frame, params: number, { server, tool, key }: Execution): Execution | undefined {
    const from = params + this.#beginning.length;
    if (from >= end || this.#beginning.compare(b, params, from) !== 0) return undefined;
    if (byteAt(b, from) !== OPEN_OBJECT) return undefined;
    const to = skipValue(b, from, 1, DEEPEST);
    const close = to < 0 ? end : skipSpace(b, to);
    // Another member after the arguments may change the meaning.
    if (byteAt(b, close) !== CLOSE_OBJECT || byteAt(b, skipSpace(b, close + 1)) !== CLOSE_OBJECT) return undefined;
    const cut = {
      from: params + this.#outerAt - start,
      innerFrom: from - start,
      innerTo: to - start,
      to: close + 1 - start,
    };
    return { server, tool, key, inner: { from, to }, cut };
  }

  #remember(frame: Frame, params: number, execution: Execution): void {
    const { b, start } = frame;
    const { inner, cut } = execution;
    if (inner.from - params > LONGEST_BEGINNING) return;
    this.#beginning = Buffer.from(b.subarray(params, inner.from));
    this.#outerAt = cut.from + start - params;
    // Server or tool may come after the arguments: such a call is parsed each time.
    this.#last = this.#again(frame, params, execution) === undefined ? undefined : execution;
  }
}

function executionIn({ b, start }: Frame, envelope: Envelope): Execution | FaultyExecution {
  const outer = findMembers(b, envelope.from(Field.params), ['arguments'])?.spans.get('arguments');
  const found = outer && findMembers(b, outer.from, ['server', 'tool', 'arguments']);
  if (outer === undefined || found === undefined)
    return { faults: ['server is missing', 'tool is missing'], server: '', tool: '' };
  const [server, tool, inner] = ['server', 'tool', 'arguments'].map((name) => found.spans.get(name));
  const faults = [
    ...faultOfText('server', b, server),
    ...faultOfText('tool', b, tool),
    ...faultOfObject(b, inner),
    ...found.others.map((name) => `${JSON.stringify(name.slice(0, 64))} is not known`),
  ];
  if (server === undefined || tool === undefined || inner === undefined || faults.length > 0)
    return { faults, server: textAt(b, server), tool: textAt(b, tool) };
  const [serverText, toolText] = [server, tool].map(({ from, to }) => b.latin1Slice(from, to));
  return {
    server: textAt(b, server),
    tool: textAt(b, tool),
    key: `${serverText} ${toolText}`,
    inner,
    cut: {
      from: outer.from - start,
      innerFrom: inner.from - start,
      innerTo: inner.to - start,
      to: outer.to - start,
    },
  };
}

function faultOfText(name: string, b: Buffer, span: Span | undefined): string[] {
  if (span === undefined) return [`${name} is missing`];
  return byteAt(b, span.from) === QUOTE ? [] : [`${name} must be a string`];
}

/** Checks the arguments. Missing ones are fine, because a tool may take none. */
function faultOfObject(b: Buffer, span: Span | undefined): string[] {
  if (span === undefined || byteAt(b, span.from) === OPEN_OBJECT) return [];
  return [
    `arguments must be an object${byteAt(b, span.from) === QUOTE ? '; the text is not the JSON of an object' : ''}`,
  ];
}

/** Decodes a string; '' for anything else. */
function textAt(b: Buffer, span: Span | undefined): string {
  return span === undefined ? '' : textOf(JSON.parse(b.toString('utf8', span.from, span.to)));
}

// --- repairs ---

const [NEWLINE, RETURN, SPACE, LETTER_N] = [0x0a, 0x0d, 0x20, 0x6e];
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Repairs a call whose tool arguments are missing, or are JSON inside a string; models send both. Undefined if there is
 * nothing to repair or the meaning is unclear.
 */
export function repairedExecution(frame: Frame, envelope: Envelope): Frame | undefined {
  const { b } = frame;
  const outer = envelope.has(Field.arguments)
    ? findMembers(b, envelope.from(Field.arguments), ['arguments'])
    : undefined;
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

/** Returns the JSON of exactly one object on one line; line breaks between tokens become spaces. */
function objectIn(text: string): string | undefined {
  if (LONE_SURROGATE.test(text)) return undefined; // it cannot be encoded
  const b = Buffer.from(`${text}\n`);
  const end = b.length - 1;
  if (!joinLines(b, end)) return undefined;
  const from = skipSpace(b, 0);
  if (byteAt(b, from) !== OPEN_OBJECT) return undefined;
  const to = skipValue(b, from, 1, DEEPEST);
  return to < 0 || skipSpace(b, to) !== end ? undefined : b.toString('utf8', from, to);
}

/** Replaces line breaks between tokens. False if a string is not closed on its line. */
function joinLines(b: Buffer, end: number): boolean {
  for (let p = 0; p < end; ) {
    const c = byteAt(b, p);
    if (c === NEWLINE || c === RETURN) b[p] = SPACE;
    p = c === QUOTE ? skipString(b, p + 1) : p + 1;
    if (p < 0) return false;
  }
  return true;
}
