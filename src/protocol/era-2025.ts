// What is special to the protocol's revisions up to 2025-11-25: its handshake and the names of its methods.
// The core speaks of calls, cancellations, progress and notices; only this room knows how an era spells them.

import { membersOf } from '../util/json-value.ts';
import { ByteTable } from '../wire/byte-table.ts';
import { bitsOf, type Envelope, Field } from '../wire/envelope.ts';
import { BACKSLASH, byteAt } from '../wire/json-grammar.ts';

/** Newest first. */
export const PROTOCOL_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;
/** From before the first release. Nothing that matters here was different, and servers of it are still about. */
const PRELIMINARY_VERSION = '2024-10-07';
/** The only revision that has batches. */
export const BATCH_VERSION: string = '2025-03-26';
export const LATEST_PROTOCOL_VERSION: string = PROTOCOL_VERSIONS[0];

/** The lists that a server gives of what it offers. */
export type ListKind = 'tools' | 'prompts' | 'resources' | 'templates';

/** The kinds of questions, named as the client's capabilities are. */
export type QuestionKind = 'sampling' | 'elicitation' | 'roots';

/** The requests that go to a server. */
export type CallRole =
  | 'call'
  | 'get-prompt'
  | 'read'
  | 'list'
  | 'subscribe'
  | 'unsubscribe'
  | 'set-level'
  | 'complete'
  | 'task'
  | 'task-result'
  | 'list-tasks'
  | 'other';

export type MethodRole =
  | CallRole
  | QuestionKind
  | 'initialize'
  | 'initialized'
  | 'ping'
  | 'discover'
  | 'between-clients'
  | 'cancelled'
  | 'progress'
  | 'list-changed'
  | 'log'
  | 'updated'
  | 'elicited'
  | 'task-status'
  | 'roots-changed'
  | 'bridge-received'
  | 'bridge-again'
  | 'bridge-leave'
  | 'bridge-leaving';

export interface Method {
  readonly role: MethodRole;
  /** The members of `params` by which the router, or a policy, decides: none of them may be ambiguous. */
  readonly reads: number;
  /** The lists that it is about. */
  readonly lists: readonly ListKind[];
  readonly isCall: boolean;
}

export interface CallMethod extends Method {
  readonly role: CallRole;
}

const CALLS: ReadonlySet<MethodRole> = new Set<CallRole>([
  'call',
  'get-prompt',
  'read',
  'list',
  'subscribe',
  'unsubscribe',
  'set-level',
  'complete',
  'task',
  'task-result',
  'list-tasks',
  'other',
]);

const TOKEN = [Field.meta, Field.metaProgressToken];
function method(role: MethodRole, ...reads: Field[]): Method {
  return { role, reads: bitsOf(reads), lists: [], isCall: CALLS.has(role) };
}

const list = (kind: ListKind): Method => ({ ...method('list', ...TOKEN), lists: [kind] });
const changed = (...lists: ListKind[]): Method => ({ ...method('list-changed'), lists });

const OTHER = method('other', ...TOKEN);
const METHODS = new ByteTable<Method>([
  ['initialize', method('initialize', Field.meta)],
  ['ping', method('ping')],
  ['sampling/createMessage', method('sampling')],
  ['elicitation/create', method('elicitation')],
  ['roots/list', method('roots')],
  ['server/discover', method('discover')],
  // The bridge's own: no server is asked.
  ['bridge/clients', method('between-clients', ...TOKEN)],
  ['bridge/send', method('between-clients', ...TOKEN)],
  ['bridge/post', method('between-clients', ...TOKEN)],
  ['tools/call', method('call', Field.name, Field.arguments, Field.task, ...TOKEN)],
  ['tools/list', list('tools')],
  ['prompts/get', method('get-prompt', Field.name, ...TOKEN)],
  ['prompts/list', list('prompts')],
  ['resources/read', method('read', Field.uri, ...TOKEN)],
  ['resources/list', list('resources')],
  ['resources/templates/list', list('templates')],
  ['resources/subscribe', method('subscribe', Field.uri, ...TOKEN)],
  ['resources/unsubscribe', method('unsubscribe', Field.uri, ...TOKEN)],
  ['completion/complete', method('complete', ...TOKEN)],
  ['logging/setLevel', method('set-level', ...TOKEN)],
  ['tasks/get', method('task', Field.taskId, ...TOKEN)],
  ['tasks/result', method('task-result', Field.taskId, ...TOKEN)],
  ['tasks/cancel', method('task', Field.taskId, ...TOKEN)],
  ['tasks/list', method('list-tasks', ...TOKEN)],
  ['notifications/initialized', method('initialized')],
  ['notifications/cancelled', method('cancelled', Field.requestId)],
  ['notifications/progress', method('progress', Field.progressToken)],
  ['notifications/elicitation/complete', method('elicited')],
  ['notifications/tasks/status', method('task-status', Field.taskId)],
  ['notifications/roots/list_changed', method('roots-changed')],
  ['bridge/received', method('bridge-received')],
  ['bridge/again', method('bridge-again')],
  ['bridge/leave', method('bridge-leave')],
  ['bridge/leaving', method('bridge-leaving')],
  ['bridge/serverState', method('bridge-leaving')], // the bridge's own word too, and just as little anybody else's
  // A later one makes an earlier one worthless, so these may be dropped for a client that does not keep up.
  ['notifications/message', method('log')],
  ['notifications/resources/updated', method('updated', Field.uri)],
  ['notifications/tools/list_changed', changed('tools')],
  ['notifications/prompts/list_changed', changed('prompts')],
  ['notifications/resources/list_changed', changed('resources', 'templates')],
]);

interface ListTerms {
  readonly method: string;
  /** The member of its result that has the items, and the member of an item by which it is known. */
  readonly member: string;
  readonly key: string;
  /** The capability of a server that has such a list. */
  readonly capability: string;
  readonly changedNotice: string;
}

export const LISTS: Readonly<Record<ListKind, ListTerms>> = {
  tools: terms('tools', 'tools', 'name', 'tools'),
  prompts: terms('prompts', 'prompts', 'name', 'prompts'),
  resources: terms('resources', 'resources', 'uri', 'resources'),
  templates: terms('resources/templates', 'resourceTemplates', 'uriTemplate', 'resources'),
};

export const LIST_KINDS = Object.keys(LISTS) as readonly ListKind[];

function terms(path: string, member: string, key: string, capability: string): ListTerms {
  const changedNotice = `{"jsonrpc":"2.0","method":"notifications/${capability}/list_changed"}`;
  return { method: `${path}/list`, member, key, capability, changedNotice };
}

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

export const ROOTS_CHANGED_NOTICE = '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}';
export const INITIALIZED_NOTICE = '{"jsonrpc":"2.0","method":"notifications/initialized"}';

/** True for methods that go to a server. The bridge deals with the others. */
export function isCall(method: Method): method is CallMethod {
  return method.isCall;
}

const ASKED: ReadonlySet<MethodRole> = new Set([
  ...CALLS,
  ...(['initialize', 'ping', 'discover', 'sampling', 'elicitation', 'roots'] as const),
]);

/** True for methods that need an id: without one nobody may answer, but a server might still act. */
export function wantsAnswer({ role }: Method): boolean {
  return role !== 'other' && ASKED.has(role);
}

/** True if the bridge speaks this version. */
export function isSpoken(version: string): boolean {
  return version === PRELIMINARY_VERSION || PROTOCOL_VERSIONS.some((known) => known === version);
}

/** The version that an answer to a client names: the one it asked for if it is known here, else the latest. */
export function negotiateVersion(asked: string): string {
  return PROTOCOL_VERSIONS.find((version) => version === asked) ?? LATEST_PROTOCOL_VERSION;
}

const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** The task that a message says it belongs to, in its `_meta`. */
export function relatedTask(meta: unknown): string | undefined {
  const { taskId } = membersOf(membersOf(meta)[RELATED_TASK]);
  return typeof taskId === 'string' ? taskId : undefined;
}

/** The error that asks for visits to pages before a call can be made. */
export const URL_ELICITATION_REQUIRED = -32042;
