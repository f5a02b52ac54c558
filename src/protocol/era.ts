// An era of the protocol as data: envelope keys, methods with their roles, errors and fields. The core speaks of calls,
// questions and notices; it asks the era what a method is, and contains no method names.

import { membersOf } from '../util/json-value.ts';
import { ByteTable } from '../wire/byte-table.ts';
import { type Envelope, Field, type KeyTable } from '../wire/envelope.ts';
import { BACKSLASH, byteAt } from '../wire/json-grammar.ts';

/** The log levels, least verbose last. */
export const MESSAGE_LEVELS: readonly string[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];

/** The lists that a server gives of what it offers. */
export type ListKind = 'tools' | 'prompts' | 'resources' | 'templates';

/** The kinds of questions, named like the client capabilities. */
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
  | 'listen'
  | 'removed'
  | 'between-clients'
  | 'cancelled'
  | 'progress'
  | 'list-changed'
  | 'log'
  | 'updated'
  | 'listen-acknowledged'
  | 'elicited'
  | 'task-status'
  | 'roots-changed'
  | 'bridge-received'
  | 'bridge-again'
  | 'bridge-leave'
  | 'bridge-leaving'
  | 'bridge-defaults';

/** A method of an era. */
export interface MethodTerms {
  readonly role: MethodRole;
  /** True if it must have an id: without one nobody could answer, but a server might still act. */
  readonly wantsAnswer: boolean;
  /** The member of `params` that names the request's subject. */
  readonly name?: Field;
  /** More members of `params` that the router or a policy reads. */
  readonly reads?: readonly Field[];
  /** The lists concerned. */
  readonly lists?: readonly ListKind[];
  /** The path of the capability that the other side must have declared: the server, or for questions the client. */
  readonly needs?: readonly string[];
  /** True if it may safely be done twice. */
  readonly isRepeatable?: boolean;
  /** True if the server may ask the client something before it answers. */
  readonly mayAsk?: boolean;
  /** True if its result says how long, and by whom, it may be kept. */
  readonly isCacheable?: boolean;
}

export interface Method extends Required<Omit<MethodTerms, 'name' | 'needs'>> {
  readonly name: Field | undefined;
  readonly needs: readonly string[] | undefined;
  /** True for methods that go to a server. The bridge handles the others. */
  readonly isCall: boolean;
  /** The members of `params` that decide what happens: none of them may be ambiguous. */
  readonly reads: readonly Field[];
}

export interface CallMethod extends Method {
  readonly role: CallRole;
}

/** The methods of the bridge's own requests; undefined if the era has no such method. */
interface OwnMethods {
  readonly ping: string | undefined;
  readonly subscribe: string | undefined;
  readonly setLevel: string | undefined;
  readonly taskState: string;
  readonly cancelTask: string;
  readonly roots: string | undefined;
}

/** The error codes that differ between the eras. */
interface EraErrors {
  readonly noSuchResource: number;
  /** Demands visits to pages before a call. */
  readonly urlElicitationRequired: number | undefined;
  readonly headerMismatch: number | undefined;
  readonly missingClientCapability: number | undefined;
  readonly unsupportedVersion: number | undefined;
  /** A server's own errors may not use these codes. */
  readonly reserved: readonly CodeRange[];
}

interface CodeRange {
  readonly least: number;
  readonly most: number;
}

export interface Era {
  /** Newest first. */
  readonly versions: readonly string[];
  /** The keys to read in each frame. */
  readonly keys: KeyTable;
  /** The keys of `keys`, and those at the head of a result that say how a call ended. */
  readonly keysWithOutcome: KeyTable;
  readonly methods: MethodTable;
  readonly own: OwnMethods;
  readonly errors: EraErrors;
  /**
   * True if `initialize` says who asks once per connection, servers ask by requests, and a result is only content.
   * Otherwise each request says who asks, an answer contains the server's questions, and each result says its type and
   * how long it may be kept.
   */
  readonly hasHandshake: boolean;
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

const TOKEN: readonly Field[] = [Field.meta, Field.metaProgressToken];
const CARRY_TOKENS: ReadonlySet<MethodRole> = new Set(['between-clients', 'listen']);

function methodFrom(terms: MethodTerms, envelope: readonly Field[]): Method {
  const { role, name, reads = [] } = terms;
  const isCall = CALLS.has(role);
  const named = name === undefined ? [] : [name];
  const token = isCall || CARRY_TOKENS.has(role) ? TOKEN : [];
  const isRequest = terms.wantsAnswer || token.length > 0;
  return {
    role,
    wantsAnswer: terms.wantsAnswer,
    name,
    reads: [...new Set([...named, ...reads, ...token, ...(isRequest ? envelope : [])])],
    lists: terms.lists ?? [],
    needs: terms.needs,
    isRepeatable: terms.isRepeatable ?? false,
    mayAsk: terms.mayAsk ?? false,
    isCacheable: terms.isCacheable ?? false,
    isCall,
  };
}

/** The methods of an era, found by their bytes. */
export class MethodTable {
  readonly #byBytes: ByteTable<Method>;
  readonly #other: Method;

  /** `envelope` has the fields that decide about every request; `other` is for unknown methods. */
  constructor(
    methods: Readonly<Record<string, MethodTerms>>,
    { envelope, other }: { readonly envelope: readonly Field[]; readonly other: MethodTerms },
  ) {
    this.#byBytes = new ByteTable(
      Object.entries(methods).map(([text, terms]) => [text, methodFrom(terms, envelope)] as const),
    );
    this.#other = methodFrom(other, envelope);
  }

  /** The method that a frame names. */
  of(b: Buffer, envelope: Envelope): Method {
    const from = envelope.from(Field.method);
    const to = envelope.to(Field.method);
    const found = this.#byBytes.find(b, from + 1, to - 1);
    if (found !== undefined) return found;
    // Some encoders write tools\/call.
    let backslash = from;
    while (backslash < to && byteAt(b, backslash) !== BACKSLASH) backslash++;
    if (backslash === to) return this.#other;
    const decoded = Buffer.from(JSON.parse(b.toString('utf8', from, to)) as string);
    return this.#byBytes.find(decoded, 0, decoded.length) ?? this.#other;
  }
}

/** True for methods that go to a server. The bridge handles the others. */
export function isCall(method: Method): method is CallMethod {
  return method.isCall;
}

// Parts that both eras share.

/**
 * The bridge's own methods: they go to no server, and no server may use them. Messages may also be sent without an id.
 */
export const BRIDGE_METHODS: Readonly<Record<string, MethodTerms>> = {
  'bridge/clients': { role: 'between-clients', wantsAnswer: false },
  'bridge/send': { role: 'between-clients', wantsAnswer: false },
  'bridge/post': { role: 'between-clients', wantsAnswer: false },
  'bridge/received': { role: 'bridge-received', wantsAnswer: false },
  'bridge/again': { role: 'bridge-again', wantsAnswer: false },
  'bridge/leave': { role: 'bridge-leave', wantsAnswer: false },
  'bridge/leaving': { role: 'bridge-leaving', wantsAnswer: false },
  'bridge/defaults': { role: 'bridge-defaults', wantsAnswer: false },
  'bridge/serverState': { role: 'bridge-leaving', wantsAnswer: false },
};

/** Notifications with the same meaning in both eras. For the last five, a later one replaces an earlier one. */
export const COMMON_NOTIFICATIONS: Readonly<Record<string, MethodTerms>> = {
  'notifications/cancelled': { role: 'cancelled', wantsAnswer: false, reads: [Field.requestId] },
  'notifications/progress': { role: 'progress', wantsAnswer: false, reads: [Field.progressToken] },
  'notifications/message': { role: 'log', wantsAnswer: false },
  'notifications/resources/updated': { role: 'updated', wantsAnswer: false, name: Field.uri },
  'notifications/tools/list_changed': { role: 'list-changed', wantsAnswer: false, lists: ['tools'] },
  'notifications/prompts/list_changed': { role: 'list-changed', wantsAnswer: false, lists: ['prompts'] },
  'notifications/resources/list_changed': {
    role: 'list-changed',
    wantsAnswer: false,
    lists: ['resources', 'templates'],
  },
};

interface ListTerms {
  readonly method: string;
  /** The member of its result with the items, and the member of an item that identifies it. */
  readonly member: string;
  readonly key: string;
  /** The server capability for such a list. */
  readonly capability: string;
  readonly changedNotice: string;
}

export const LISTS: Readonly<Record<ListKind, ListTerms>> = {
  tools: listTerms('tools', 'tools', 'name', 'tools'),
  prompts: listTerms('prompts', 'prompts', 'name', 'prompts'),
  resources: listTerms('resources', 'resources', 'uri', 'resources'),
  templates: listTerms('resources/templates', 'resourceTemplates', 'uriTemplate', 'resources'),
};

export const LIST_KINDS = Object.keys(LISTS) as readonly ListKind[];

function listTerms(path: string, member: string, key: string, capability: string): ListTerms {
  const changedNotice = `{"jsonrpc":"2.0","method":"notifications/${capability}/list_changed"}`;
  return { method: `${path}/list`, member, key, capability, changedNotice };
}

export function cancelNotice(idText: string, reason: string): string {
  return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${idText},"reason":${JSON.stringify(reason)}}}`;
}

export const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** The task that a message names in its `_meta`. */
export function relatedTask(meta: unknown): string | undefined {
  const { taskId } = membersOf(membersOf(meta)[RELATED_TASK]);
  return typeof taskId === 'string' ? taskId : undefined;
}
