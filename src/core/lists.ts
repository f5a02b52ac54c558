// The lists of one instance while it runs: tools, prompts, resources, templates. They are read when the instance opens
// and after each list_changed. It keeps nothing for other instances; KnownServer does.

import type { Limits } from '../model/limits.ts';
import { type Era, LIST_KINDS, LISTS, type ListKind } from '../protocol/era.ts';
import { METHOD_NOT_FOUND } from '../protocol/rpc-error.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import { lastingCopy } from '../util/lasting-bytes.ts';
import type { Logger } from '../util/logger.ts';
import { LONGEST_NAME } from '../util/longest-name.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt, OPEN_OBJECT, QUOTE } from '../wire/json-grammar.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import type { Events } from './events.ts';
import type { InstanceKey } from './instance-key.ts';
import type { OwnAnswer } from './own-requests.ts';
import { pageFor2025, resultTypeOf } from './results-for-2025.ts';
import { type KnownServer, type ListPage, type ServerProfile, samePages } from './server-knowledge.ts';

/** The kind of change of a list. */
export interface ListChange {
  /** True if the server announced it. */
  readonly wasAnnounced: boolean;
  /** True if no client can have seen an earlier list of this server. */
  readonly isFirst: boolean;
}

interface InstanceListsPorts {
  readonly server: string;
  readonly known: KnownServer;
  readonly key: InstanceKey;
  readonly logger: Logger;
  readonly limits: Limits;
  readonly events: Events;
  readonly ask: (method: string, params: object, onAnswer: OwnAnswer) => void;
  /** The era in which the server speaks. */
  readonly era: () => Era;
  /** Called when a list was read and has changed. */
  readonly learnt: (kind: ListKind, change: ListChange) => void;
}

export class InstanceLists {
  readonly #ports: InstanceListsPorts;
  readonly #reader: ListReader;
  readonly #pages = new Map<ListKind, readonly ListPage[]>();
  /** The lists that are being read because the server announced a change. */
  readonly #announced = new Set<ListKind>();
  /** The lists that were ever read. */
  readonly #wasRead = new Set<ListKind>();
  /** The server's profile while the instance runs. */
  #profile: ServerProfile | undefined;

  constructor(ports: InstanceListsPorts) {
    this.#ports = ports;
    this.#reader = new ListReader(ports);
  }

  opened(profile: ServerProfile): void {
    this.#profile = profile;
    this.read(LIST_KINDS);
  }

  pagesOf(kind: ListKind): readonly ListPage[] | undefined {
    return this.#pages.get(kind);
  }

  /** Reads the lists again that the server says have changed. */
  readAnnounced(kinds: readonly ListKind[]): void {
    for (const kind of kinds) this.#announced.add(kind);
    this.read(kinds);
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
      const isFirst = !this.#wasRead.has(kind) && known.pagesFor(profile, kind, key) === undefined;
      this.#wasRead.add(kind);
      const isNew = known.learnList(profile, kind, pages, key);
      if (isNew || before === undefined) this.#noteLongKeys(kind, pages);
      const wasAnnounced = this.#announced.delete(kind);
      if (isNew || (before !== undefined && !samePages(before, pages))) learnt(kind, { wasAnnounced, isFirst });
    });
  }

  /**
   * Logs how many items joined lists leave out because of long keys, so that a person who misses one finds the reason.
   */
  #noteLongKeys(kind: ListKind, pages: readonly ListPage[]): void {
    const { server, known, logger, events } = this.#ports;
    const { count, first } = longKeysIn(kind, pages);
    if (!known.noteLongKeys(kind, count)) return; // another instance has logged it
    events.namesLeftOut.tell(server, count);
    logger.warn('items with too long names or URIs are left out of the views all and discover', {
      server,
      kind,
      count,
      first,
    });
  }

  /** Asks for a list that could not be read before; resolves when it was read, or the instance has gone. */
  async readMissing(kind: ListKind): Promise<void> {
    if (!this.#pages.has(kind) && !this.#reader.isReading(kind)) this.read([kind]);
    await this.#reader.whenRead(kind);
  }

  /** Reads all lists again; resolves when they were read, or the instance has gone. */
  readAllAgain(): Promise<ReadonlyMap<ListKind, string>> {
    this.read(LIST_KINDS);
    return this.whenListed();
  }

  /** Resolves when no list is being read, with the reason for each list that could not be read. */
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
    this.#announced.clear();
  }
}

/** The maximum number of pages of one list: a server may go on for ever. */
const MOST_PAGES = 1000;
/** The maximum number of readings in a row of a list that keeps changing. */
const MOST_TIMES = 4;
/** The maximum size of a list, as a multiple of the largest message. */
const MOST_MESSAGES = 4;

interface Reading {
  readonly pages: ListPage[];
  bytes: number;
  /** True if the list has changed since this reading began. */
  isStale: boolean;
  /** The count of this reading in a row. */
  readonly times: number;
  readonly done: (pages: readonly ListPage[]) => void;
}

/** Reads a running server's lists for the bridge itself, page by page, with one reading per kind at a time. */
class ListReader {
  readonly #mostBytes: number;
  readonly #ports: Pick<InstanceListsPorts, 'ask' | 'era'>;
  readonly #readings = new Map<ListKind, Reading>();
  readonly #waiting = new Map<ListKind, ((failure: string | undefined) => void)[]>();

  constructor(ports: Pick<InstanceListsPorts, 'ask' | 'era' | 'limits'>) {
    this.#mostBytes = ports.limits.maxMessageBytes * MOST_MESSAGES;
    this.#ports = ports;
  }

  /** Reads a list. `done` is not called if the server goes before it answers. */
  read(kind: ListKind, profile: ServerProfile, done: Reading['done']): void {
    if (!profile.declares(LISTS[kind].capability)) return;
    const current = this.#readings.get(kind);
    if (current !== undefined) current.isStale = true;
    else this.#begin(kind, done);
  }

  isReading(kind: ListKind): boolean {
    return this.#readings.has(kind);
  }

  /** Resolves when no list of this kind is being read, with the reason if it could not be read. */
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
    const { ask, era } = this.#ports;
    ask(LISTS[kind].method, cursor === undefined ? {} : { cursor }, (answer, envelope) => {
      const failure = answer === undefined ? 'it did not answer' : failureIn(answer.b, envelope);
      if (answer === undefined || failure !== undefined) return this.#end(kind, failure);
      const page = pageIn({ kind, cursor }, era(), answer, envelope);
      const next = page === undefined ? undefined : keepPage(reading, page);
      if (next !== undefined && reading.pages.length < MOST_PAGES && reading.bytes < this.#mostBytes)
        return this.#askFor(kind, reading, next);
      reading.done(reading.pages.slice()); // without the room behind them: they are kept for long
      // A server that reports a change during each reading would be read for ever.
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

/** The reason for an answer without a result; undefined for METHOD_NOT_FOUND, which means that the list is empty. */
export function failureIn(b: Buffer, envelope: Envelope): string | undefined {
  if (envelope.has(Field.result)) return undefined;
  const { code, message } = membersOf(envelope.decode(b, Field.error));
  return code === METHOD_NOT_FOUND ? undefined : textOf(message) || 'gave an error without a message';
}

/**
 * The page in an answer, in the form that is kept; undefined for an error, or a result that is no object or incomplete.
 */
export function pageIn(
  { kind, cursor }: { readonly kind: ListKind; readonly cursor: string | undefined },
  era: Era,
  answer: Frame,
  envelope: Envelope,
): ListPage | undefined {
  const { b } = answer;
  if (!envelope.has(Field.result) || byteAt(b, envelope.from(Field.result)) !== OPEN_OBJECT) return undefined;
  if (!era.hasHandshake)
    return resultTypeOf(b, envelope) === 'complete' ? pageFor2025(kind, cursor, answer, envelope) : undefined;
  return {
    cursor,
    result: Buffer.concat([b.subarray(envelope.from(Field.result), envelope.to(Field.result)), NEWLINE]),
  };
}

/** Keeps a page, and returns the cursor of the next one. */
function keepPage(reading: Reading, page: ListPage): string | undefined {
  const { result, original } = page;
  const kept = original === undefined ? page : { ...page, original: lastingCopy(original) };
  reading.pages.push({ ...kept, result: lastingCopy(result) });
  reading.bytes += result.length + (original?.length ?? 0);
  const span = findMembers(result, 0, ['nextCursor'])?.spans.get('nextCursor');
  const next: unknown = span === undefined ? undefined : JSON.parse(result.toString('utf8', span.from, span.to));
  return typeof next === 'string' ? next : undefined;
}

const NEWLINE = Buffer.from('\n');

/**
 * The longest URI in joined lists, in characters: enough for a template as a `data:` URI, too short for a file. The
 * bridge keeps only a limited amount of names and URIs, so joined lists leave longer ones out. The server's own view
 * has them.
 */
const LONGEST_URI = 64 * 1024;
/** An escaped character may take six bytes. */
const BYTES_PER_CHARACTER = 6;
const QUOTES = 2;

interface ListedKey {
  readonly key: string;
  /** The position of the key, with its quotes. */
  readonly span: Span;
}

/** The name or URI of an item; undefined where it is missing or too long. */
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
  /** The beginning of the first key, in its own spelling. */
  readonly first: string;
}

/** The maximum number of logged characters of a key. */
const LOGGED_CHARACTERS = 64;

/** The items that are left out because their keys are too long. */
function longKeysIn(kind: ListKind, pages: readonly ListPage[]): LongKeys {
  let count = 0;
  let first = '';
  for (const { result } of pages) {
    if (result.length <= longestOf(kind)) continue;
    for (const item of itemsIn(kind, result)) {
      const span = findMembers(result, item.from, [LISTS[kind].key])?.spans.get(LISTS[kind].key);
      if (span === undefined || span.to - span.from - QUOTES <= longestOf(kind)) continue;
      if (byteAt(result, span.from) !== QUOTE || keyOf(kind, result, item) !== undefined) continue;
      if (count++ === 0) first = result.latin1Slice(span.from + 1, span.from + 1 + LOGGED_CHARACTERS);
    }
  }
  return { count, first };
}

function longestOf(kind: ListKind): number {
  return LISTS[kind].key === 'name' ? LONGEST_NAME : LONGEST_URI;
}

/** True for a key that is too long in any encoding, so it need not be decoded. */
function isTooWide(kind: ListKind, { from, to }: Span): boolean {
  return to - from > QUOTES + BYTES_PER_CHARACTER * longestOf(kind);
}
