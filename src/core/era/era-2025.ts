// What is special to the protocol's revisions up to 2025-11-25: its handshake and the names of its methods.
// The core speaks of calls, cancellations, progress and notices; only this room knows how an era spells them.

import { ByteTable } from '../../wire/byte-table.ts';
import { bitsOf, type Envelope, Field } from '../../wire/envelope.ts';
import type { Frame } from '../../wire/frame-splitter.ts';
import { BACKSLASH, byteAt } from '../../wire/json-grammar.ts';

/** Newest first. */
export const PROTOCOL_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
/** The only revision that has batches. */
export const BATCH_VERSION: string = '2025-03-26';
export const LATEST_PROTOCOL_VERSION: string = PROTOCOL_VERSIONS[0];

export type MethodRole =
  | 'initialize'
  | 'initialized'
  | 'ping'
  | 'discover'
  | 'cancelled'
  | 'progress'
  | 'refreshable'
  | 'log'
  | 'updated'
  | 'subscribe'
  | 'unsubscribe'
  | 'set-level'
  | CallBackRole
  | 'other';

/** What a server may ask a client, named as the client's capability is. */
export type CallBackRole = 'sampling' | 'elicitation' | 'roots';

export type CallRole = 'other' | 'subscribe' | 'unsubscribe' | 'set-level';

export interface Method {
  readonly role: MethodRole;
  /** The members of `params` by which the router, or a policy, decides: none of them may be ambiguous. */
  readonly reads: number;
}

const TOKEN = [Field.meta, Field.metaProgressToken];
const method = (role: MethodRole, ...reads: Field[]): Method => ({ role, reads: bitsOf(reads) });

const OTHER = method('other', ...TOKEN);
const METHODS = new ByteTable<Method>([
  ['initialize', method('initialize', Field.meta)],
  ['ping', method('ping')],
  ['sampling/createMessage', method('sampling')],
  ['elicitation/create', method('elicitation')],
  ['roots/list', method('roots')],
  ['server/discover', method('discover')],
  ['tools/call', method('other', Field.name, ...TOKEN)],
  ['prompts/get', method('other', Field.name, ...TOKEN)],
  ['resources/read', method('other', Field.uri, ...TOKEN)],
  ['resources/subscribe', method('subscribe', Field.uri, ...TOKEN)],
  ['resources/unsubscribe', method('unsubscribe', Field.uri, ...TOKEN)],
  ['logging/setLevel', method('set-level', ...TOKEN)],
  ['notifications/initialized', method('initialized')],
  ['notifications/cancelled', method('cancelled', Field.requestId)],
  ['notifications/progress', method('progress', Field.progressToken)],
  // A later one makes an earlier one worthless, so these may be dropped for a client that does not keep up.
  ['notifications/message', method('log')],
  ['notifications/resources/updated', method('updated', Field.uri)],
  ['notifications/tools/list_changed', method('refreshable')],
  ['notifications/prompts/list_changed', method('refreshable')],
  ['notifications/resources/list_changed', method('refreshable')],
]);

export function methodOf(b: Buffer, envelope: Envelope): Method {
  const from = envelope.from(Field.method);
  const to = envelope.to(Field.method);
  const found = METHODS.find(b, from + 1, to - 1);
  if (found !== undefined) return found;
  // Some encoders write tools\/call.
  let backslash = from;
  while (backslash < to && byteAt(b, backslash) !== BACKSLASH) backslash++;
  if (backslash === to) return OTHER;
  const decoded = Buffer.from(JSON.parse(b.toString('utf8', from, to)) as string);
  return METHODS.find(decoded, 0, decoded.length) ?? OTHER;
}

export function cancelNotice(idText: string, reason: string): string {
  return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${idText},"reason":${JSON.stringify(reason)}}}`;
}

export const INITIALIZED_NOTICE = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

/** The messages of a batch, each as a frame. */
export function unbatch(b: Buffer, start: number, end: number): Frame[] {
  return (JSON.parse(b.toString('utf8', start, end)) as unknown[]).map((message) => {
    const frame = Buffer.from(`${JSON.stringify(message)}\n`);
    return { b: frame, start: 0, end: frame.length - 1 };
  });
}

/** The requests that go to a server; the others are the bridge's own business. */
export function isCall(role: MethodRole): role is CallRole {
  return role === 'other' || role === 'subscribe' || role === 'unsubscribe' || role === 'set-level';
}

/** The version that an answer to a client names: the one it asked for if it is known here, else the latest. */
export function negotiateVersion(asked: string): string {
  return PROTOCOL_VERSIONS.find((version) => version === asked) ?? LATEST_PROTOCOL_VERSION;
}
