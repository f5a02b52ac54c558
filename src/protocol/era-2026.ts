// The version 2026-07-28 as data: no handshake, an envelope in each request, and questions inside incomplete answers.

import { Field, KeyTable } from '../wire/envelope.ts';
import {
  BRIDGE_METHODS,
  COMMON_NOTIFICATIONS,
  type Era,
  type ListKind,
  MethodTable,
  type MethodTerms,
  type QuestionKind,
} from './era.ts';

const PREFIX = 'io.modelcontextprotocol/';
/** The path of the extension in the capabilities of clients and servers. */
export const TASKS = ['extensions', `${PREFIX}tasks`] as const;

interface RequestMember {
  readonly field: Field;
  readonly key: string;
}

/** The `_meta` members by which a request says who asks, in the order of writing. Servers of 2025 get none of them. */
export const REQUEST_MEMBERS: readonly RequestMember[] = [
  { field: Field.protocolVersion, key: `${PREFIX}protocolVersion` },
  { field: Field.clientInfo, key: `${PREFIX}clientInfo` },
  { field: Field.clientCapabilities, key: `${PREFIX}clientCapabilities` },
  { field: Field.logLevel, key: `${PREFIX}logLevel` },
];
export const SERVER_INFO = `${PREFIX}serverInfo`;
export const SUBSCRIPTION_ID = `${PREFIX}subscriptionId`;

const META = new KeyTable([
  ...REQUEST_MEMBERS.map(({ key, field }) => ({ text: key, field })),
  { text: SUBSCRIPTION_ID, field: Field.subscriptionId },
  { text: 'progressToken', field: Field.metaProgressToken },
  { text: 'traceparent', field: Field.traceparent },
  { text: 'tracestate', field: Field.tracestate },
  { text: 'baggage', field: Field.baggage },
  // The bridge's own members, which never reach a server.
  { text: 'mcp-bridge/view', field: Field.bridgeView },
  { text: 'mcp-bridge/clientId', field: Field.bridgeClientId },
  { text: 'mcp-bridge/cwd', field: Field.bridgeCwd },
]);
const PARAMS = new KeyTable([
  { text: 'name', field: Field.name },
  { text: '_meta', field: Field.meta, inside: META },
  { text: 'uri', field: Field.uri },
  { text: 'arguments', field: Field.arguments },
  { text: 'taskId', field: Field.taskId },
  { text: 'requestState', field: Field.requestState },
  { text: 'inputResponses', field: Field.inputResponses },
  { text: 'requestId', field: Field.requestId },
  { text: 'progressToken', field: Field.progressToken },
]);
const RESULT = new KeyTable([
  { text: 'resultType', field: Field.resultType },
  { text: 'inputRequests', field: Field.inputRequests },
  { text: 'requestState', field: Field.resultState },
  { text: 'ttlMs', field: Field.ttlMs },
  { text: 'cacheScope', field: Field.cacheScope },
  { text: 'isError', field: Field.isError },
  { text: 'content', field: Field.content },
  { text: 'structuredContent', field: Field.structuredContent },
  {
    text: '_meta',
    field: Field.resultMeta,
    inside: new KeyTable([
      { text: SERVER_INFO, field: Field.serverInfo },
      { text: SUBSCRIPTION_ID, field: Field.resultSubscriptionId },
    ]),
  },
]);
const KEYS = new KeyTable([
  { text: 'id', field: Field.id },
  { text: 'method', field: Field.method },
  { text: 'params', field: Field.params, inside: PARAMS },
  { text: 'result', field: Field.result, inside: RESULT },
  { text: 'jsonrpc', field: Field.jsonrpc },
  { text: 'error', field: Field.error },
]);

/** The fields that decide about every request, including those of a retry. */
const ENVELOPE: readonly Field[] = [
  Field.meta,
  ...REQUEST_MEMBERS.map(({ field }) => field),
  Field.bridgeView,
  Field.bridgeClientId,
  Field.bridgeCwd,
  Field.requestState,
  Field.inputResponses,
];

function request(terms: Omit<MethodTerms, 'wantsAnswer'>): MethodTerms {
  return { isRepeatable: true, ...terms, wantsAnswer: true };
}
const list = (capability: string, kind: ListKind): MethodTerms =>
  request({ role: 'list', lists: [kind], needs: [capability], isCacheable: true });
/** A question is part of an answer, never a request. */
const question = (kind: QuestionKind): MethodTerms => ({ role: kind, wantsAnswer: true, needs: [kind] });
const removed = (wantsAnswer: boolean): MethodTerms => ({ role: 'removed', wantsAnswer });

const METHODS: Readonly<Record<string, MethodTerms>> = {
  'server/discover': request({ role: 'discover', isCacheable: true }),
  'tools/list': list('tools', 'tools'),
  'tools/call': request({
    role: 'call',
    name: Field.name,
    reads: [Field.arguments],
    needs: ['tools'],
    mayAsk: true,
    isRepeatable: false,
  }),
  'prompts/list': list('prompts', 'prompts'),
  'prompts/get': request({ role: 'get-prompt', name: Field.name, needs: ['prompts'], mayAsk: true }),
  'resources/list': list('resources', 'resources'),
  'resources/templates/list': list('resources', 'templates'),
  'resources/read': request({
    role: 'read',
    name: Field.uri,
    needs: ['resources'],
    mayAsk: true,
    isCacheable: true,
  }),
  'completion/complete': request({ role: 'complete', needs: ['completions'] }),
  'subscriptions/listen': request({ role: 'listen' }),
  'tasks/get': request({ role: 'task', name: Field.taskId, needs: TASKS }),
  'tasks/update': request({ role: 'task', name: Field.taskId, needs: TASKS, isRepeatable: false }),
  'tasks/cancel': request({ role: 'task', name: Field.taskId, needs: TASKS }),
  'sampling/createMessage': question('sampling'),
  'elicitation/create': question('elicitation'),
  'roots/list': question('roots'),
  'notifications/subscriptions/acknowledged': { role: 'listen-acknowledged', wantsAnswer: false },
  'notifications/tasks': { role: 'task-status', wantsAnswer: false, name: Field.taskId },
  initialize: removed(true),
  ping: removed(true),
  'logging/setLevel': removed(true),
  'resources/subscribe': removed(true),
  'resources/unsubscribe': removed(true),
  'tasks/list': removed(true),
  'tasks/result': removed(true),
  'notifications/initialized': removed(false),
  'notifications/roots/list_changed': removed(false),
  'notifications/elicitation/complete': removed(false),
  'notifications/tasks/status': removed(false),
};

export const ERA_2026: Era = {
  versions: ['2026-07-28'],
  keys: KEYS,
  keysWithOutcome: KEYS,
  methods: new MethodTable(
    { ...METHODS, ...COMMON_NOTIFICATIONS, ...BRIDGE_METHODS },
    { envelope: ENVELOPE, other: { role: 'other', wantsAnswer: false } },
  ),
  own: {
    ping: undefined,
    subscribe: undefined,
    setLevel: undefined,
    taskState: 'tasks/get',
    cancelTask: 'tasks/cancel',
    roots: undefined,
  },
  errors: {
    noSuchResource: -32602,
    urlElicitationRequired: undefined,
    headerMismatch: -32020,
    missingClientCapability: -32021,
    unsupportedVersion: -32022,
    reserved: [
      { least: -32099, most: -32023 },
      { least: -32002, most: -32002 },
      { least: -32042, most: -32042 },
    ],
  },
  hasHandshake: false,
};
