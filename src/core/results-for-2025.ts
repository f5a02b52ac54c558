// The results of servers of 2026 as clients of 2025 see them: without the members of 2026, and with structured content
// that is an object. Payloads are not decoded, except for the output schemas in a list of tools.
//
// The lists that the bridge keeps for itself have this form, because their readers (views, search, fingerprints of
// tools, files) know only the form of 2025. A kept page also has what clients of 2026 need: the caching terms, and the
// list as the server wrote it if a schema was changed.

import type { ListKind } from '../protocol/era.ts';
import { CONTENT_CLOSES, CONTENT_OPENS, isWrapped, wrappedSchema } from '../protocol/output-schema.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import { isAt } from '../wire/byte-table.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt, OPEN_OBJECT } from '../wire/json-grammar.ts';
import { findItems } from '../wire/json-items.ts';
import { findMembers } from '../wire/json-members.ts';
import { MemberRuns } from '../wire/member-cuts.ts';
import { Splice } from '../wire/splice.ts';
import { type CachingTerms, cachingTermsOf, type ListPage } from './server-knowledge.ts';

const splice = new Splice();
/** The members to cut from one result; reused. */
const members = new MemberRuns();

/** The type of a result: `complete` ends the call, `input_required` asks, `other` belongs to an extension. */
export type ResultType = 'complete' | 'input_required' | 'other';

const LONGEST_TYPE = 64;
const TYPE: readonly Field[] = [Field.resultType];
/** The spelling that nearly all results use. */
const COMPLETE = Buffer.from('"complete"');

/** Reads the type of a result. A result without a type is complete. */
export function resultTypeOf(b: Buffer, envelope: Envelope): ResultType {
  if (envelope.doubts(TYPE)) return 'other';
  if (!envelope.has(Field.resultType)) return 'complete';
  const from = envelope.from(Field.resultType);
  const to = envelope.to(Field.resultType);
  if (to - from === COMPLETE.length && isAt(b, from, COMPLETE)) return 'complete';
  const type: unknown = to - from > LONGEST_TYPE ? undefined : envelope.decode(b, Field.resultType);
  return type === 'complete' || type === 'input_required' ? type : 'other';
}

const TASK = Buffer.from('"task"');

/** True for a result that announces a task; the outcome comes later. */
export function isTask(b: Buffer, envelope: Envelope): boolean {
  if (!envelope.has(Field.resultType)) return false;
  const from = envelope.from(Field.resultType);
  const to = envelope.to(Field.resultType);
  if (to - from === COMPLETE.length && isAt(b, from, COMPLETE)) return false;
  if (to - from === TASK.length && isAt(b, from, TASK)) return true;
  return to - from <= LONGEST_TYPE && envelope.decode(b, Field.resultType) === 'task';
}

const TERMS: readonly Field[] = [Field.resultType, Field.ttlMs, Field.cacheScope];

/** Changes a result to the form of 2025. */
export function toResultOf2025(cuts: Splice, b: Buffer, envelope: Envelope, { plan, inRounds }: AnsweredIn2025): void {
  cutTermsOf2026(cuts, b, envelope);
  if (plan.role === 'call') wrapContent(cuts, b, envelope, inRounds?.isSchemaWrapped === true);
}

interface AnsweredIn2025 {
  readonly plan: { readonly role: string };
  readonly inRounds?: { readonly isSchemaWrapped: boolean } | undefined;
}

/** Cuts the members that only 2026 has, and `_meta` too if it becomes empty. */
function cutTermsOf2026(cuts: Splice, b: Buffer, envelope: Envelope): void {
  let isMetaCut = false;
  if (envelope.has(Field.serverInfo)) {
    members.clear().add(b, envelope.from(Field.serverInfo), envelope.to(Field.serverInfo));
    isMetaCut = members.areAll(b);
    if (!isMetaCut) members.cut(cuts, b);
  }
  members.clear();
  for (const field of TERMS) if (envelope.has(field)) members.add(b, envelope.from(field), envelope.to(field));
  if (isMetaCut) members.add(b, envelope.from(Field.resultMeta), envelope.to(Field.resultMeta));
  members.cut(cuts, b);
}

/**
 * Wraps structured content into an object if clients of 2025 expect one: the tool's schema was wrapped too, or the
 * content is no object.
 */
function wrapContent(cuts: Splice, b: Buffer, envelope: Envelope, isSchemaWrapped: boolean): void {
  if (!envelope.has(Field.structuredContent)) return;
  const { from, to } = envelope.span(Field.structuredContent);
  if (!isSchemaWrapped && byteAt(b, from) === OPEN_OBJECT) return;
  cuts.replace(from, from, CONTENT_OPENS).replace(to, to, CONTENT_CLOSES);
}

/** Returns a list of a server of 2026 in the form in which it is kept. */
export function pageFor2025(kind: ListKind, cursor: string | undefined, { b }: Frame, envelope: Envelope): ListPage {
  const { from, to } = envelope.span(Field.result);
  const caching = cachingIn(b, envelope);
  cutTermsOf2026(splice.clear(), b, envelope);
  const changes = kind === 'tools' ? schemaChanges(b, from) : [];
  const original = changes.length === 0 ? undefined : splice.bytes(b, from, to);
  for (const { at, text } of changes) splice.replace(at.from, at.to, text);
  return { cursor, result: splice.bytes(b, from, to), original, caching };
}

interface SchemaChange {
  readonly at: { readonly from: number; readonly to: number };
  /** JSON in latin1. */
  readonly text: string;
}

function schemaChanges(b: Buffer, result: number): SchemaChange[] {
  const tools = findMembers(b, result, ['tools'])?.spans.get('tools');
  const items = tools === undefined ? undefined : findItems(b, tools.from);
  return (items ?? []).flatMap((item) => {
    const at = findMembers(b, item.from, ['outputSchema'])?.spans.get('outputSchema');
    if (at === undefined) return [];
    const schema: unknown = JSON.parse(b.toString('utf8', at.from, at.to));
    if (!isRecord(schema) || !isWrapped(schema)) return [];
    return [{ at, text: Buffer.from(JSON.stringify(wrappedSchema(schema))).toString('latin1') }];
  });
}

function cachingIn(b: Buffer, envelope: Envelope): CachingTerms | undefined {
  return cachingTermsOf(envelope.decode(b, Field.ttlMs), envelope.decode(b, Field.cacheScope));
}

const NO_TOOLS: ReadonlySet<string> = new Set();
const wrapped = new WeakMap<readonly ListPage[], ReadonlySet<string>>();

/** The names of tools with changed output schemas, as JSON in latin1. */
export function wrappedTools(pages: readonly ListPage[] | undefined): ReadonlySet<string> {
  if (pages === undefined) return NO_TOOLS;
  const known = wrapped.get(pages) ?? new Set(pages.flatMap(({ original }) => wrappedIn(original)));
  wrapped.set(pages, known);
  return known;
}

function wrappedIn(original: Buffer | undefined): string[] {
  const { tools } = membersOf(original && JSON.parse(original.toString()));
  return (Array.isArray(tools) ? tools : []).flatMap((tool: unknown) => {
    const { name, outputSchema } = membersOf(tool);
    return isWrapped(outputSchema) ? [Buffer.from(JSON.stringify(name) ?? '').toString('latin1')] : [];
  });
}
