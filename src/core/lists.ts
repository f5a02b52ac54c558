// What one instance lists itself, since it runs: read when it opens, and whenever it says that a list has changed. What is
// learnt of the server from it, for all of its instances and later ones, is KnownServer's business.

import type { Limits } from '../model/limits.ts';
import { LIST_KINDS, LISTS, type ListKind } from '../protocol/era-2025.ts';
import { METHOD_NOT_FOUND } from '../protocol/rpc-error.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import type { Logger } from '../util/logger.ts';
import { LONGEST_NAME } from '../util/longest-name.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt, OPEN_OBJECT, QUOTE } from '../wire/json-grammar.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import type { OwnAnswer } from './call-table.ts';
import type { Counters } from './counters.ts';
import type { InstanceKey } from './instance.ts';
import { type KnownServer, type ListPage, type ServerProfile, samePages } from './server-knowledge.ts';

interface InstanceListsPorts {
  readonly server: string;
  readonly known: KnownServer;
  readonly key: InstanceKey;
  readonly logger: Logger;
  readonly limits: Limits;
  readonly counters: Counters;
  readonly ask: (method: string, params: object, onAnswer: OwnAnswer) => void;
  /** A list is another one than it was, and has been read. */
  readonly learnt: (kind: ListKind) => void;
}

export class InstanceLists {
  readonly #ports: InstanceListsPorts;
  readonly #reader: ListReader;
  readonly #pages = new Map<ListKind, readonly ListPage[]>();
  /** How the server shows itself while the instance runs. */
  #profile: ServerProfile | undefined;

  constructor(ports: InstanceListsPorts) {
    this.#ports = ports;
    this.#reader = new ListReader(ports.limits.maxMessageBytes, ports.ask);
  }

  opened(profile: ServerProfile): void {
    this.#profile = profile;
    this.read(LIST_KINDS);
  }

  pagesOf(kind: ListKind): readonly ListPage[] | undefined {
    return this.#pages.get(kind);
  }

  read(kinds: readonly ListKind[]): void {
    if (this.#profile !== undefined) for (const kind of kinds) this.#read(kind, this.#profile);
  }

  #read(kind: ListKind, profile: ServerProfile): void {
    const { server, known, key, logger, learnt } = this.#ports;
    this.#reader.read(kind, profile, (pages) => {
      if (this.#profile !== profile) return;
      logger.debug('list read', { server, kind });
      const before = this.#pages.get(kind);
      this.#pages.set(kind, pages);
      const isNew = known.learnList(profile, kind, pages, key);
      if (isNew || before === undefined) this.#noteLongKeys(kind, pages);
      if (isNew || (before !== undefined && !samePages(before, pages))) learnt(kind);
    });
  }

  /** What is left out of joined lists because of it, so that somebody who misses it finds out why. */
  #noteLongKeys(kind: ListKind, pages: readonly ListPage[]): void {
    const { server, known, logger, counters } = this.#ports;
    const { count, first } = longKeysIn(kind, pages);
    if (!known.noteLongKeys(kind, count)) return; // another instance has said so
    counters.namesTooLong += count;
    logger.warn('names or URIs too long: left out of the views all and discover', { server, kind, count, first });
  }

  /** Asks for a list that the instance could not give before; resolves when that is read, or it has gone. */
  async readMissing(kind: ListKind): Promise<void> {
    if (!this.#pages.has(kind)) this.read([kind]);
    await this.#reader.whenRead(kind);
  }

  /** Has everything listed once more; resolves when it is, or the instance has gone. */
  readAllAgain(): Promise<ReadonlyMap<ListKind, string>> {
    this.read(LIST_KINDS);
    return this.whenListed();
  }

  /** Resolves when none of them is being read, with why those could not be that could not. */
  async whenListed(): Promise<ReadonlyMap<ListKind, string>> {
    const failures = new Map<ListKind, string>();
    const look = async (kind: ListKind): Promise<void> => {
      const failure = await this.#reader.whenRead(kind);
      if (failure !== undefined) failures.set(kind, failure);
    };
    await Promise.all(LIST_KINDS.map(look));
    return failures;
  }

  closed(): void {
    this.#profile = undefined;
    this.#pages.clear();
  }
}

// Reads a running server's lists for the bridge itself, page by page, one reading of a kind at a time.

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

class ListReader {
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
    this.#ask(LISTS[kind].method, cursor === undefined ? {} : { cursor }, (answer, envelope) => {
      const failure = answer === undefined ? 'it did not answer' : failureIn(answer.b, envelope);
      if (answer === undefined || failure !== undefined) return this.#end(kind, failure);
      const next = take(reading, cursor, answer, envelope);
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
export function failureIn(b: Buffer, envelope: Envelope): string | undefined {
  if (envelope.has(Field.result)) return undefined;
  const { code, message } = membersOf(envelope.decode(b, Field.error));
  return code === METHOD_NOT_FOUND ? undefined : textOf(message) || 'gave an error without a message';
}

/** Keeps a page, and says where the next one begins. A server that refuses, or says what is no list, has none. */
function take(reading: Reading, cursor: string | undefined, { b }: Frame, envelope: Envelope): string | undefined {
  if (!envelope.has(Field.result) || byteAt(b, envelope.from(Field.result)) !== OPEN_OBJECT) return undefined;
  const result = Buffer.concat([b.subarray(envelope.from(Field.result), envelope.to(Field.result)), NEWLINE]);
  reading.pages.push({ cursor, result });
  reading.bytes += result.length;
  const span = findMembers(result, 0, ['nextCursor'])?.spans.get('nextCursor');
  const next: unknown = span === undefined ? undefined : JSON.parse(result.toString('utf8', span.from, span.to));
  return typeof next === 'string' ? next : undefined;
}

const NEWLINE = Buffer.from('\n');

// The names and URIs under which servers list what they have. They may be of any length; what is kept, compared and
// shown of them here is bounded, so an item with a longer one is left out of whatever the bridge makes of lists. A
// server's own view has it nevertheless.

/** In characters, as names are: a template may stand here for a whole `data:` URI, but not for a file. */
const LONGEST_URI = 64 * 1024;
/** A character may be written as an escape of six bytes. */
const BYTES_PER_CHARACTER = 6;
const QUOTES = 2;

interface ListedKey {
  readonly key: string;
  /** Where it stands, with its quotes. */
  readonly span: Span;
}

/** The name or URI of an item; undefined where there is none, or a longer one than may be. */
export function keyOf(kind: ListKind, b: Buffer, item: Span): ListedKey | undefined {
  const span = findMembers(b, item.from, [LISTS[kind].key])?.spans.get(LISTS[kind].key);
  if (span === undefined || isTooWide(kind, span)) return undefined;
  const key: unknown = JSON.parse(b.toString('utf8', span.from, span.to));
  return typeof key === 'string' && key.length <= longestOf(kind) ? { key, span } : undefined;
}

/** The items of a page. */
export function itemsIn(kind: ListKind, result: Buffer): readonly Span[] {
  const { member } = LISTS[kind];
  const list = findMembers(result, 0, [member])?.spans.get(member);
  return (list && findItems(result, list.from)) ?? [];
}

interface LongKeys {
  readonly count: number;
  /** How the first of them begins, as it is written. */
  readonly first: string;
}

const SHOWN = 64;

/** The items that are left out because of their keys. */
function longKeysIn(kind: ListKind, pages: readonly ListPage[]): LongKeys {
  let count = 0;
  let first = '';
  for (const { result } of pages) {
    if (result.length <= longestOf(kind)) continue;
    for (const item of itemsIn(kind, result)) {
      const span = findMembers(result, item.from, [LISTS[kind].key])?.spans.get(LISTS[kind].key);
      if (span === undefined || span.to - span.from - QUOTES <= longestOf(kind)) continue;
      if (byteAt(result, span.from) !== QUOTE || keyOf(kind, result, item) !== undefined) continue;
      if (count++ === 0) first = result.latin1Slice(span.from + 1, span.from + 1 + SHOWN);
    }
  }
  return { count, first };
}

function longestOf(kind: ListKind): number {
  return LISTS[kind].key === 'name' ? LONGEST_NAME : LONGEST_URI;
}

/** Too long however its characters are written: it need not be decoded. */
function isTooWide(kind: ListKind, { from, to }: Span): boolean {
  return to - from > QUOTES + BYTES_PER_CHARACTER * longestOf(kind);
}
