// The writer to a client without a handshake. Each result must say its type, who answers, and how long it may be kept.
// A server of 2025 says none of that, so it is added here. The content of a result is passed on unchanged.

import { type Era, LISTS, type ListKind } from '../protocol/era.ts';
import { ERA_2025 } from '../protocol/era-2025.ts';
import { ERA_2026, SERVER_INFO, SUBSCRIPTION_ID } from '../protocol/era-2026.ts';
import { INTERNAL_ERROR, rpcError } from '../protocol/rpc-error.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt, OPEN_OBJECT, skipSpace } from '../wire/json-grammar.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { addFirst, KeySet, setMembers } from '../wire/member-cuts.ts';
import { Splice } from '../wire/splice.ts';
import {
  type AnsweredQuestion,
  type AnsweredRequest,
  ClientOutput,
  type ListedPage,
  type WrittenClient,
} from './client-output.ts';
import type { Events } from './events.ts';
import { writeItems } from './listed-item.ts';
import type { CachingTerms } from './server-knowledge.ts';

const splice = new Splice();
const COMPLETE = '"resultType":"complete"';
const NOT_TO_BE_KEPT: CachingTerms = { ttlMs: 0, cacheScope: 'private' };
const NOT_KEPT = textOf(NOT_TO_BE_KEPT);
const NO_OBJECT = rpcError(INTERNAL_ERROR, 'The server gave a result that is no object', {
  code: 'SERVER_ANSWER_REFUSED',
});

/** True for requests whose results say how long they may be kept. */
const isKept = (role: string): boolean => role === 'list' || role === 'read';

/** The members of a result that are written here. */
interface ResultPlaces {
  readonly resultType: Span | undefined;
  readonly ttlMs: Span | undefined;
  readonly cacheScope: Span | undefined;
  readonly meta: Span | undefined;
  readonly serverInfo: Span | undefined;
}

/** The requests that listen to changes, by their ids as JSON in latin1. */
export interface Hearing {
  hearingOfLists(kinds: readonly ListKind[]): readonly string[];
  hearingOf(uri: string): readonly string[];
}

export class CompletedOutput extends ClientOutput {
  readonly #serverInfo: () => string;
  readonly #listens: Hearing;
  /** The members that nearly all results get, and the server that these name. */
  #headFor = '';
  #head = '';

  /** `serverInfo` returns the name of whoever answers, as JSON in latin1. */
  constructor(
    client: WrittenClient,
    events: Events,
    { serverInfo, listens }: { readonly serverInfo: () => string; readonly listens: Hearing },
  ) {
    super(client, events);
    this.#serverInfo = serverInfo;
    this.#listens = listens;
  }

  get #serverInfoMember(): string {
    return `"${SERVER_INFO}":${this.#serverInfo()}`;
  }

  override answer(idText: string, result: string): void {
    this.streams?.answering(idText);
    this.outbox.latin1(`{"jsonrpc":"2.0","id":${idText},"result":{${COMPLETE},`);
    const content = this.#contentOf(result);
    this.outbox.latin1(`"_meta":{${this.#serverInfoMember}${content.meta}}`);
    this.outbox.utf8(`${content.members}}`);
    this.endAnswer();
  }

  /** The members of a result that the bridge makes, and those of its `_meta`. */
  #contentOf(result: string): { readonly members: string; readonly meta: string } {
    const inside = result.slice(1);
    if (!result.includes('"_meta"') && !result.includes('"resultType"'))
      return { members: inside === '}' ? '}' : `,${inside}`, meta: '' };
    const { _meta, resultType: _, ...others } = membersOf(JSON.parse(result));
    const members = JSON.stringify(others).slice(1);
    const meta = isRecord(_meta) ? JSON.stringify(_meta).slice(1, -1) : '';
    return {
      members: members === '}' ? '}' : `,${members}`,
      meta: meta === '' ? '' : `,${Buffer.from(meta).toString('latin1')}`,
    };
  }

  /** `result` is the bytes of a list in JSON, followed by a newline. */
  override answerBytes(idText: string, result: Buffer, terms: CachingTerms = NOT_TO_BE_KEPT): void {
    const at = skipSpace(result, 0);
    this.streams?.answering(idText);
    this.outbox.latin1(`{"jsonrpc":"2.0","id":${idText},"result":`);
    splice.clear();
    this.#complete(result, at, placesIn(result, at), terms);
    splice.write(this.outbox, result, at, result.length - 1);
    this.outbox.latin1('}');
    this.endAnswer();
  }

  override answerList(
    idText: string,
    member: string,
    page: ListedPage,
    terms: () => CachingTerms = () => NOT_TO_BE_KEPT,
  ): void {
    this.answerWith(idText, (outbox) => {
      outbox.latin1(`{${COMPLETE},${textOf(terms())},"_meta":{${this.#serverInfoMember}},"${member}":[`);
      writeItems(outbox, page.items);
      outbox.latin1(page.nextCursor === undefined ? ']}' : `],"nextCursor":"${page.nextCursor}"}`);
    });
  }

  override requireInput(idText: string, questions: ReadonlyMap<string, AnsweredQuestion>, state: string): void {
    this.streams?.answering(idText);
    const { outbox } = this;
    outbox.latin1(`{"jsonrpc":"2.0","id":${idText},"result":{"resultType":"input_required","inputRequests":{`);
    let comma = '';
    for (const [key, { method, params }] of questions) {
      outbox.latin1(`${comma}"${key}":{"method":"${method}"`);
      if (params !== undefined) {
        outbox.latin1(',"params":');
        outbox.bytes(params, 0, params.length);
      }
      outbox.latin1('}');
      comma = ',';
    }
    outbox.latin1(`},"requestState":"${state}","_meta":{${this.#serverInfoMember}}}}`);
    this.endAnswer();
  }

  override passAnswer(answered: AnsweredRequest, frame: Frame, envelope: Envelope, era: Era): void {
    if (!era.hasHandshake) return this.passAsItIs(answered, frame, envelope);
    if (envelope.has(Field.error)) return this.#passError(answered, frame, envelope);
    const { b, start, end } = frame;
    const at = envelope.from(Field.result);
    if (byteAt(b, at) !== OPEN_OBJECT) return this.#passNoObject(answered, b, at);
    this.streams?.answering(answered.idText);
    splice.clear().replace(envelope.from(Field.id), envelope.to(Field.id), answered.idText);
    const isRead = envelope.keys === era.keysWithOutcome;
    if (isRead && hasNone(envelope)) addFirst(splice, b, at, this.#headOf(isKept(answered.plan.role)));
    else
      this.#complete(
        b,
        at,
        isRead ? placesOf(envelope) : placesIn(b, at),
        isKept(answered.plan.role) ? NOT_TO_BE_KEPT : undefined,
      );
    splice.send(this.outbox, b, start, end);
    this.passed();
  }

  /** The members to add to a result that has none of them. */
  #headOf(isKept: boolean): string {
    const serverInfo = this.#serverInfo();
    if (serverInfo !== this.#headFor) {
      this.#headFor = serverInfo;
      this.#head = `${COMPLETE},"_meta":{${this.#serverInfoMember}}`;
    }
    return isKept ? `${NOT_KEPT},${this.#head}` : this.#head;
  }

  /** Passes on a result that is no object: servers of 2025 may answer null if they have nothing to say. */
  #passNoObject({ idText }: AnsweredRequest, b: Buffer, at: number): void {
    if (b[at] === 0x6e) this.answer(idText, '{}');
    else super.fail(idText, NO_OBJECT);
  }

  /** Adds what the result at `at` lacks, and replaces members that say the same already. */
  #complete(b: Buffer, at: number, places: ResultPlaces, terms: CachingTerms | undefined): void {
    const { resultType, ttlMs, cacheScope, meta, serverInfo } = places;
    let head = '';
    const set = (span: Span | undefined, key: string, text: string): void => {
      if (span === undefined) head += `${head === '' ? '' : ','}"${key}":${text}`;
      else splice.replace(span.from, span.to, text);
    };
    set(resultType, 'resultType', '"complete"');
    if (terms !== undefined) {
      set(ttlMs, 'ttlMs', String(terms.ttlMs));
      set(cacheScope, 'cacheScope', JSON.stringify(terms.cacheScope));
    }
    if (meta === undefined || byteAt(b, meta.from) !== OPEN_OBJECT) set(meta, '_meta', `{${this.#serverInfoMember}}`);
    else if (serverInfo === undefined) addFirst(splice, b, meta.from, this.#serverInfoMember);
    if (head !== '') addFirst(splice, b, at, head);
  }

  #passError(answered: AnsweredRequest, { b, start, end }: Frame, envelope: Envelope): void {
    const at = envelope.from(Field.error);
    const error = byteAt(b, at) === OPEN_OBJECT ? findMembers(b, at, ['code', 'data'])?.spans : undefined;
    const code = error?.get('code');
    const text = code === undefined ? undefined : spokenCode(Number(b.latin1Slice(code.from, code.to)));
    this.streams?.answering(answered.idText, text ?? (code && Number(b.latin1Slice(code.from, code.to))));
    splice.clear().replace(envelope.from(Field.id), envelope.to(Field.id), answered.idText);
    if (code !== undefined && text !== undefined) {
      const theirs = b.latin1Slice(code.from, code.to);
      splice.replace(code.from, code.to, String(text));
      if (text === INTERNAL_ERROR) keepCode(b, at, error?.get('data'), theirs);
    }
    splice.send(this.outbox, b, start, end);
    this.passed();
  }

  /** `error` is JSON. */
  override fail(idText: string, error: string): void {
    const { code, ...others } = membersOf(JSON.parse(error));
    const spoken = typeof code === 'number' ? spokenCode(code) : undefined;
    super.fail(idText, spoken === undefined ? error : JSON.stringify({ code: spoken, ...others }));
  }

  /** Drops the notice: this client gets only notices that belong to an open or a listening request. */
  override passNotice(_notice: Frame): void {
    // No request listens to it.
  }

  override passLog(message: Frame, idText = ''): void {
    this.streams?.during(idText);
    this.passOn(message);
  }

  override passListsChanged(kinds: readonly ListKind[], notice: Frame): void {
    for (const id of this.#listens.hearingOfLists(kinds)) this.#passTagged(notice, id);
  }

  override passUpdated(uri: string, notice: Frame): void {
    for (const id of this.#listens.hearingOf(uri)) this.#passTagged(notice, id);
  }

  override passListened(idText: string, notice: Frame): void {
    this.#passTagged(notice, idText);
  }

  /** Passes a notice on under the id of the request that listens to it. */
  #passTagged({ b, start, end }: Frame, id: string): void {
    const tag = tagOf(id);
    const at = skipSpace(b, start);
    this.streams?.during(id);
    const params = findMembers(b, at, ['params'])?.spans.get('params');
    splice.clear();
    if (params === undefined) addFirst(splice, b, at, `"params":{"_meta":{${tag}}}`);
    else if (byteAt(b, params.from) !== OPEN_OBJECT) splice.replace(params.from, params.to, `{"_meta":{${tag}}}`);
    else tagMeta(b, params.from, tag);
    splice.send(this.outbox, b, start, end);
  }

  override listChanged(kind: ListKind): void {
    for (const id of this.#listens.hearingOfLists([kind])) this.#write(listNotice(kind, id), id);
  }

  override resourceChanged(uri: string): void {
    for (const id of this.#listens.hearingOf(uri)) this.#write(resourceNotice(uri, id), id);
  }

  /** Writes a message in latin1 for the request of this id. */
  #write(message: string, id: string): void {
    this.streams?.during(id);
    this.outbox.latin1(message);
    this.outbox.endFrame();
  }

  override notify(_notice: string): void {
    // No request listens to it.
  }
}

/** Makes the notice that a list has changed, for the request of this id. Both are latin1. */
export function listNotice(kind: ListKind, id: string): string {
  return `${LISTS[kind].changedNotice.slice(0, -1)},"params":{"_meta":{${tagOf(id)}}}}`;
}

/** Makes the notice that a resource has changed. */
export function resourceNotice(uri: string, id: string): string {
  const uriText = Buffer.from(JSON.stringify(uri)).toString('latin1');
  return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{${tagOf(id)}},"uri":${uriText}}}`;
}

/** The terms of caching as members. The scope comes from a server of 2026 and is one of two words. */
function textOf({ ttlMs, cacheScope }: CachingTerms): string {
  return `"ttlMs":${ttlMs},"cacheScope":"${cacheScope}"`;
}

function tagOf(id: string): string {
  return `"${SUBSCRIPTION_ID}":${id}`;
}

const TAG: KeySet = new KeySet([SUBSCRIPTION_ID]);

/** Writes the tag into the `_meta` of the params at `at`, in place of a tag that the server has written. */
function tagMeta(b: Buffer, at: number, tag: string): void {
  const meta = findMembers(b, at, ['_meta'])?.spans.get('_meta');
  if (meta === undefined) addFirst(splice, b, at, `"_meta":{${tag}}`);
  else if (byteAt(b, meta.from) === OPEN_OBJECT) setMembers(splice, b, meta.from, TAG, tag);
  else splice.replace(meta.from, meta.to, `{${tag}}`);
}

/**
 * Keeps a code that has another meaning in this era: it goes into the error's data, unless the data has a code already.
 */
function keepCode(b: Buffer, error: number, data: Span | undefined, code: string): void {
  if (data === undefined) return addFirst(splice, b, error, `"data":{"code":${code}}`);
  if (byteAt(b, data.from) !== OPEN_OBJECT) return;
  if (findMembers(b, data.from, ['code'])?.spans.has('code') !== true) addFirst(splice, b, data.from, `"code":${code}`);
}

/** The code that this era uses for an error; undefined if it is the same. */
function spokenCode(code: number): number | undefined {
  const { noSuchResource, reserved } = ERA_2026.errors;
  if (code === ERA_2025.errors.noSuchResource) return noSuchResource;
  return reserved.some(({ least, most }) => code >= least && code <= most) ? INTERNAL_ERROR : undefined;
}

/** True if a result has none of the members that this file writes. */
function hasNone(envelope: Envelope): boolean {
  return !(
    envelope.has(Field.resultType) ||
    envelope.has(Field.resultMeta) ||
    envelope.has(Field.ttlMs) ||
    envelope.has(Field.cacheScope)
  );
}

function placesOf(envelope: Envelope): ResultPlaces {
  const place = (field: Field): Span | undefined => (envelope.has(field) ? envelope.span(field) : undefined);
  return {
    resultType: place(Field.resultType),
    ttlMs: place(Field.ttlMs),
    cacheScope: place(Field.cacheScope),
    meta: place(Field.resultMeta),
    serverInfo: place(Field.serverInfo),
  };
}

function placesIn(b: Buffer, at: number): ResultPlaces {
  const spans = findMembers(b, at, ['resultType', 'ttlMs', 'cacheScope', '_meta'])?.spans;
  const meta = spans?.get('_meta');
  const inMeta =
    meta !== undefined && byteAt(b, meta.from) === OPEN_OBJECT ? findMembers(b, meta.from, [SERVER_INFO]) : undefined;
  return {
    resultType: spans?.get('resultType'),
    ttlMs: spans?.get('ttlMs'),
    cacheScope: spans?.get('cacheScope'),
    meta,
    serverInfo: inMeta?.spans.get(SERVER_INFO),
  };
}
