// Changes `params._meta` on the way to a server: the envelope in which a request of 2026 says who asks, the bridge's
// own members, and the id by which a session-aware server tells clients apart.

import type { Era } from '../protocol/era.ts';
import {
  BRIDGE_FIELDS,
  BRIDGE_KEYS,
  ENVELOPE_FIELDS,
  ENVELOPE_KEYS,
  logLevelMember,
  requestEnvelopeOf,
} from '../protocol/request-envelope.ts';
import { withoutTasks } from '../protocol/tasks-extension.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt, CLOSE_OBJECT, OPEN_OBJECT, skipSpace } from '../wire/json-grammar.ts';
import { addFirst, KeySet, MemberRuns, setMembers } from '../wire/member-cuts.ts';
import type { Splice } from '../wire/splice.ts';
import type { Session } from './session.ts';

const SESSION_KEY = 'muxSessionId';
const TRACE_KEY = 'traceparent';
const STATE_KEY = 'tracestate';

/**
 * The keys that the bridge writes or cuts, by method or purpose. A client's own members under these keys are dropped.
 */
class ReplacedKeys {
  readonly added: KeySet;
  readonly cut: KeySet;
  readonly ownCut: KeySet;
  readonly alone: KeySet;

  /** `keys` are replaced in every era. */
  constructor(keys: readonly string[]) {
    this.alone = new KeySet(keys);
    this.added = new KeySet([...ENVELOPE_KEYS, SESSION_KEY, ...keys]);
    this.cut = new KeySet([...ENVELOPE_KEYS, ...BRIDGE_KEYS, SESSION_KEY, ...keys]);
    this.ownCut = new KeySet([...BRIDGE_KEYS, SESSION_KEY, ...keys]);
  }
}

const KEYS = {
  named: new ReplacedKeys([SESSION_KEY]),
  traced: new ReplacedKeys([TRACE_KEY]),
  namedAndTraced: new ReplacedKeys([SESSION_KEY, TRACE_KEY]),
  tracedAnew: new ReplacedKeys([TRACE_KEY, STATE_KEY]),
  namedAndTracedAnew: new ReplacedKeys([SESSION_KEY, TRACE_KEY, STATE_KEY]),
};
const ALL_FIELDS = [...ENVELOPE_FIELDS, ...BRIDGE_FIELDS];
/** The members by which a retry names its call. A server of 2025 gets them only if the call is repeated. */
const RETRY_FIELDS: readonly Field[] = [Field.requestState, Field.inputResponses];

/** The envelopes of clients, built once each: all their requests to servers of 2026 carry them. */
const envelopes = new WeakMap<Session, AddedMembers>();
const levels = new Map<string, string>();

function envelopeOf(session: Session): AddedMembers {
  const known = envelopes.get(session);
  if (known !== undefined) return known;
  const { clientInfo, capabilities } = session;
  const made = new AddedMembers(requestEnvelopeOf({ clientInfo, capabilities: withoutTasks(capabilities) }));
  envelopes.set(session, made);
  return made;
}

function levelMember(level: string): string {
  const known = levels.get(level) ?? `,${logLevelMember(level)}`;
  levels.set(level, known); // there are only eight levels
  return known;
}

export interface RequestTarget {
  readonly era: Era;
  /** True if the server wants to know the client of each request (`x-mux.sharing: "session-aware"`). */
  readonly namesSessions: boolean;
  /** The log level that the client wants from the server, one of the protocol's levels. */
  readonly levelOf: (session: Session) => string | undefined;
}

/** The trace context for a server. */
export interface WrittenTrace {
  /** The member `traceparent`; '' leaves the client's as it is. */
  readonly member: string;
  /** True if the bridge began the trace. Then the client's `tracestate` belongs to another trace and is dropped. */
  readonly isNew: boolean;
}

export const NO_TRACE: WrittenTrace = { member: '', isNew: false };

/** Changes the `_meta` of a request on its way to a server. */
export function changeMeta(
  splice: Splice,
  frame: Frame,
  envelope: Envelope,
  session: Session,
  { era, namesSessions, levelOf }: RequestTarget,
  { member: trace, isNew }: WrittenTrace,
): void {
  const isClientOf2026 = !session.era.hasHandshake;
  const isServerOf2026 = !era.hasHandshake;
  const name = namesSessions ? `"${SESSION_KEY}":"${session.muxSessionId}"` : '';
  const own = name === '' || trace === '' ? name + trace : `${name},${trace}`;
  const keys = keysFor(name !== '', trace !== '', isNew && envelope.has(Field.tracestate));
  if (isServerOf2026 && !isClientOf2026) {
    const level = levelOf(session);
    const added = envelopeOf(session);
    if (level === undefined && own === '') return writeMeta(splice, frame, envelope, keys.added, added);
    const members = added.text + (level === undefined ? '' : levelMember(level));
    const all = new AddedMembers(own === '' ? members : `${members},${own}`);
    return writeMeta(splice, frame, envelope, keys.added, all);
  }
  if (own !== '') {
    const replaced = isClientOf2026 ? (isServerOf2026 ? keys.ownCut : keys.cut) : keys.alone;
    writeMeta(splice, frame, envelope, replaced, new AddedMembers(own));
    if (isClientOf2026 && !isServerOf2026) cutRetry(splice, frame.b, envelope);
    return;
  }
  if (isClientOf2026) cutFields(splice, frame.b, envelope, isServerOf2026);
}

function keysFor(isNamed: boolean, isTraced: boolean, isNewTrace: boolean): ReplacedKeys {
  if (!isTraced) return KEYS.named;
  if (isNewTrace) return isNamed ? KEYS.namedAndTracedAnew : KEYS.tracedAnew;
  return isNamed ? KEYS.namedAndTraced : KEYS.traced;
}

/** The members to cut from one frame; reused. */
const members = new MemberRuns();

/**
 * Cuts the fields from `_meta`, and `_meta` itself if it becomes empty. For a server of 2025, also the members of
 * retries.
 */
function cutFields(splice: Splice, b: Buffer, envelope: Envelope, isForServerOf2026: boolean): void {
  members.clear();
  addFields(b, envelope, isForServerOf2026 ? BRIDGE_FIELDS : ALL_FIELDS);
  const isAll = members.areAll(b);
  if (!isAll) members.cut(splice, b);
  members.clear();
  if (isAll) members.add(b, envelope.from(Field.meta), envelope.to(Field.meta));
  if (!isForServerOf2026) addFields(b, envelope, RETRY_FIELDS);
  members.cut(splice, b);
}

function addFields(b: Buffer, envelope: Envelope, fields: readonly Field[]): void {
  for (const field of fields) if (envelope.has(field)) members.add(b, envelope.from(field), envelope.to(field));
}

function cutRetry(splice: Splice, b: Buffer, envelope: Envelope): void {
  members.clear();
  addFields(b, envelope, RETRY_FIELDS);
  members.cut(splice, b);
}

/**
 * Writes members into `_meta`, and adds `_meta` if missing. The server refuses a `_meta` or `params` that is no object.
 */
function writeMeta(splice: Splice, { b, start }: Frame, envelope: Envelope, keys: KeySet, members: AddedMembers): void {
  if (envelope.has(Field.meta)) {
    const meta = envelope.from(Field.meta);
    if (byteAt(b, meta) === OPEN_OBJECT) setMembers(splice, b, meta, keys, members.text);
    return;
  }
  if (!envelope.has(Field.params)) return addFirst(splice, b, skipSpace(b, start), `"params":{${members.meta}}`);
  const params = envelope.from(Field.params);
  if (byteAt(b, params) !== OPEN_OBJECT) return;
  if (byteAt(b, skipSpace(b, params + 1)) === CLOSE_OBJECT) return addFirst(splice, b, params, members.meta);
  splice.replace(params + 1, params + 1, members.metaBeforeOthers);
}

/** Members for `_meta` in each form that is needed, as JSON in latin1. */
class AddedMembers {
  readonly text: string;
  /** Built on first use, because most are for one request, which needs only one form. */
  #beforeOthers: string | undefined;

  constructor(text: string) {
    this.text = text;
  }

  get meta(): string {
    return `"_meta":{${this.text}}`;
  }

  get metaBeforeOthers(): string {
    this.#beforeOthers ??= `${this.meta},`;
    return this.#beforeOthers;
  }
}
