// Reads a running server's lists for the bridge itself, page by page, one reading of a kind at a time.

import { membersOf, textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt, OPEN_OBJECT } from '../wire/json-grammar.ts';
import { findMembers } from '../wire/json-members.ts';
import { LISTS, type ListKind } from './era/era-2025.ts';
import type { ListPage, ServerProfile } from './known-server.ts';
import type { OwnAnswer } from './own-requests.ts';
import { METHOD_NOT_FOUND } from './rpc-error.ts';

/** A server that goes on for ever is left after so many. */
const MOST_PAGES = 1000;
/** Readings in a row of a list that changes while it is read. */
const MOST_TIMES = 4;
/** So many times what one message may have. */
const MOST_MESSAGES = 4;

interface Reading {
  readonly pages: ListPage[];
  bytes: number;
  /** The list has changed meanwhile. */
  isStale: boolean;
  /** How often in a row. */
  readonly times: number;
  readonly done: (pages: readonly ListPage[]) => void;
}

export class ListReader {
  readonly #mostBytes: number;
  readonly #ask: (method: string, params: object, onAnswer: OwnAnswer) => void;
  readonly #readings = new Map<ListKind, Reading>();
  readonly #waiting = new Map<ListKind, ((failure: string | undefined) => void)[]>();

  constructor(maxMessageBytes: number, ask: (method: string, params: object, onAnswer: OwnAnswer) => void) {
    this.#mostBytes = maxMessageBytes * MOST_MESSAGES;
    this.#ask = ask;
  }

  /** `done` is not called if the server goes before it has answered. */
  read(kind: ListKind, profile: ServerProfile, done: Reading['done']): void {
    if (!profile.declares(LISTS[kind].capability)) return;
    const current = this.#readings.get(kind);
    if (current !== undefined) current.isStale = true;
    else this.#begin(kind, done);
  }

  /** Resolves when no list of this kind is being read, with the reason if it could not be. */
  whenRead(kind: ListKind): Promise<string | undefined> {
    if (!this.#readings.has(kind)) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#waiting.set(kind, [...(this.#waiting.get(kind) ?? []), resolve]));
  }

  #begin(kind: ListKind, done: Reading['done'], times = 1): void {
    const reading = { pages: [], bytes: 0, isStale: false, times, done };
    this.#readings.set(kind, reading);
    this.#askFor(kind, reading, undefined);
  }

  #askFor(kind: ListKind, reading: Reading, cursor: string | undefined): void {
    this.#ask(LISTS[kind].method, cursor === undefined ? {} : { cursor }, (answer, read) => {
      const failure = answer === undefined ? 'it did not answer' : failureIn(answer.b, read);
      if (answer === undefined || failure !== undefined) return this.#end(kind, failure);
      const next = take(reading, cursor, answer, read);
      if (next !== undefined && reading.pages.length < MOST_PAGES && reading.bytes < this.#mostBytes)
        return this.#askFor(kind, reading, next);
      reading.done(reading.pages);
      // A server that says so at each reading would be read for ever.
      if (reading.isStale && reading.times < MOST_TIMES) return this.#begin(kind, reading.done, reading.times + 1);
      this.#end(kind);
    });
  }

  #end(kind: ListKind, failure?: string): void {
    this.#readings.delete(kind);
    const waiting = this.#waiting.get(kind) ?? [];
    this.#waiting.delete(kind);
    for (const resolve of waiting) resolve(failure);
  }
}

/** Why there is no result. An error says nothing of what there is, but for the one that says that there is no such thing. */
export function failureIn(b: Buffer, read: Envelope): string | undefined {
  if (read.has(Field.result)) return undefined;
  const { code, message } = membersOf(read.decode(b, Field.error));
  return code === METHOD_NOT_FOUND ? undefined : textOf(message) || 'gave an error without a message';
}

/** Keeps a page, and says where the next one begins. A server that refuses, or says what is no list, has none. */
function take(reading: Reading, cursor: string | undefined, { b }: Frame, read: Envelope): string | undefined {
  if (!read.has(Field.result) || byteAt(b, read.from(Field.result)) !== OPEN_OBJECT) return undefined;
  const result = Buffer.concat([b.subarray(read.from(Field.result), read.to(Field.result)), NEWLINE]);
  reading.pages.push({ cursor, result });
  reading.bytes += result.length;
  const span = findMembers(result, 0, ['nextCursor'])?.spans.get('nextCursor');
  const next: unknown = span === undefined ? undefined : JSON.parse(result.toString('utf8', span.from, span.to));
  return typeof next === 'string' ? next : undefined;
}

const NEWLINE = Buffer.from('\n');
