// The versions up to 2025-11-25 as data: each connection has a handshake, and servers ask by sending requests.

import { Field, KeyTable } from '../wire/envelope.ts';
import { BRIDGE_METHODS, COMMON_NOTIFICATIONS, type Era, MethodTable, type MethodTerms } from './era.ts';
import { KEYS_2025, TOP_KEYS_2025 } from './keys-2025.ts';
import { PROTOCOL_VERSIONS } from './versions.ts';

/** A request that a server answers. Meanwhile the server may ask something, unless `mayAsk` says otherwise. */
function request(terms: Omit<MethodTerms, 'wantsAnswer'>): MethodTerms {
  return { mayAsk: true, isRepeatable: true, ...terms, wantsAnswer: true };
}
const question = (role: 'sampling' | 'elicitation' | 'roots'): MethodTerms => ({
  role,
  wantsAnswer: true,
  needs: [role],
});
const list = (capability: string, kind: 'tools' | 'prompts' | 'resources' | 'templates'): MethodTerms =>
  request({ role: 'list', lists: [kind], needs: [capability], mayAsk: false });
const ofTask = (role: 'task' | 'task-result'): MethodTerms =>
  request({ role, name: Field.taskId, needs: ['tasks'], mayAsk: false });

const METHODS: Readonly<Record<string, MethodTerms>> = {
  initialize: { role: 'initialize', wantsAnswer: true, reads: [Field.meta] },
  ping: { role: 'ping', wantsAnswer: true, isRepeatable: true },
  'server/discover': { role: 'discover', wantsAnswer: true, isRepeatable: true },
  'tools/list': list('tools', 'tools'),
  'tools/call': request({
    role: 'call',
    name: Field.name,
    reads: [Field.arguments, Field.task],
    needs: ['tools'],
    isRepeatable: false,
  }),
  'prompts/list': list('prompts', 'prompts'),
  'prompts/get': request({ role: 'get-prompt', name: Field.name, needs: ['prompts'] }),
  'resources/list': list('resources', 'resources'),
  'resources/templates/list': list('resources', 'templates'),
  'resources/read': request({ role: 'read', name: Field.uri, needs: ['resources'] }),
  'resources/subscribe': request({ role: 'subscribe', name: Field.uri, needs: ['resources', 'subscribe'] }),
  'resources/unsubscribe': request({ role: 'unsubscribe', name: Field.uri, needs: ['resources', 'subscribe'] }),
  'completion/complete': request({ role: 'complete', needs: ['completions'] }),
  'logging/setLevel': request({ role: 'set-level', needs: ['logging'] }),
  'tasks/get': ofTask('task'),
  'tasks/result': ofTask('task-result'),
  'tasks/cancel': ofTask('task'),
  'tasks/list': request({ role: 'list-tasks', needs: ['tasks', 'list'], mayAsk: false }),
  'sampling/createMessage': question('sampling'),
  'elicitation/create': question('elicitation'),
  'roots/list': question('roots'),
  'notifications/initialized': { role: 'initialized', wantsAnswer: false },
  'notifications/roots/list_changed': { role: 'roots-changed', wantsAnswer: false },
  'notifications/elicitation/complete': { role: 'elicited', wantsAnswer: false },
  'notifications/tasks/status': { role: 'task-status', wantsAnswer: false, name: Field.taskId },
};

/** The methods of the bridge's own requests. */
export const OWN_METHODS = {
  ping: 'ping',
  subscribe: 'resources/subscribe',
  setLevel: 'logging/setLevel',
  taskState: 'tasks/get',
  cancelTask: 'tasks/cancel',
  roots: 'roots/list',
} as const;

const RESULT = new KeyTable([
  { text: 'isError', field: Field.isError },
  { text: 'content', field: Field.content },
  { text: 'structuredContent', field: Field.structuredContent },
  // Members of results of 2026, which are added for its clients.
  { text: 'resultType', field: Field.resultType },
  { text: 'ttlMs', field: Field.ttlMs },
  { text: 'cacheScope', field: Field.cacheScope },
  {
    text: '_meta',
    field: Field.resultMeta,
    inside: new KeyTable([{ text: 'io.modelcontextprotocol/serverInfo', field: Field.serverInfo }]),
  },
]);
/** The keys to read in each frame, with those at the head of a result. */
const KEYS_WITH_OUTCOME = new KeyTable([...TOP_KEYS_2025, { text: 'result', field: Field.result, inside: RESULT }]);

export const ERA_2025: Era = {
  versions: PROTOCOL_VERSIONS,
  keys: KEYS_2025,
  keysWithOutcome: KEYS_WITH_OUTCOME,
  // An unknown notification may be a server's own, so an unknown method does not always want an answer.
  methods: new MethodTable(
    { ...METHODS, ...COMMON_NOTIFICATIONS, ...BRIDGE_METHODS },
    { envelope: [], other: { role: 'other', wantsAnswer: false, mayAsk: true } },
  ),
  own: OWN_METHODS,
  errors: {
    noSuchResource: -32002,
    urlElicitationRequired: -32042,
    headerMismatch: undefined,
    missingClientCapability: undefined,
    unsupportedVersion: undefined,
    reserved: [],
  },
  hasHandshake: true,
};

export const ROOTS_CHANGED_NOTICE = '{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}';
export const INITIALIZED_NOTICE = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
