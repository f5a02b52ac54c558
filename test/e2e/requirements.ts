// What the protocol asks of whoever stands between clients and a server, as data: the scenarios of protocol/ say which of
// them they show. Where the specification does not speak of routers, the link is to the clause that a careless one breaks.

export interface Requirement {
  readonly id: string;
  readonly says: string;
  readonly clause: string;
}

const SPECIFICATION = 'https://modelcontextprotocol.io/specification';

/** `page` is a page of the specification with its anchor. */
const requirement = (id: string, page: string, says: string, revision = '2025-11-25'): Requirement => ({
  id,
  says,
  clause: `${SPECIFICATION}/${revision}/${page}`,
});

const BASE: readonly Requirement[] = [
  requirement('id', 'basic#requests', 'An answer has the id of its request, whatever string or integer that is.'),
  requirement('id-own', 'basic#responses', 'Clients that use the same ids at once each get the answers to their own.'),
  requirement('error', 'basic#error-responses', 'An error of the server reaches who asked, with its code and data.'),
  requirement('unknown-method', 'basic#error-responses', 'A method that nobody has gets the error -32601.'),
  requirement('meta', 'basic#meta', '`_meta` of requests and results passes untouched, whatever it holds.'),
  requirement('unknown-fields', 'basic#result-responses', 'Members that nobody knows pass untouched.'),
  requirement('bytes', 'basic#result-responses', "A result has the server's own bytes: its order, numbers, spaces."),
  requirement('icons', 'basic#icons', 'Icons of servers, tools, prompts and resources pass untouched.'),
];

const LIFECYCLE: readonly Requirement[] = [
  requirement('initialize', 'basic/lifecycle#initialization', 'The server says who it is and what it has.'),
  requirement('initialize-once', 'basic/lifecycle#initialization', 'A server that is shared is initialized once.'),
  requirement('version', 'basic/lifecycle#version-negotiation', 'A version that is known is answered with the same.'),
  requirement(
    'version-unknown',
    'basic/lifecycle#version-negotiation',
    'One that is not is answered with one that is.',
  ),
  requirement(
    'version-of-binding',
    'basic/lifecycle#version-negotiation',
    'Client and server may speak different versions.',
  ),
  requirement('capabilities', 'basic/lifecycle#capability-negotiation', 'What is declared to a client works.'),
  requirement('offers', 'basic/lifecycle#capability-negotiation', 'A server is offered what its client can honour.'),
  requirement('client-info', 'basic/lifecycle#initialization', 'A server with one client is told who that is.'),
  requirement(
    'offers-more',
    'basic/lifecycle#capability-negotiation',
    'A server is told the extensions, experimental features and tasks of its client.',
  ),
  requirement(
    'extensions',
    'basic/lifecycle#capability-negotiation',
    'Extensions of all servers in view are declared.',
  ),
  requirement('ping', 'basic/utilities/ping#behavior-requirements', 'A ping is answered at once, in both directions.'),
  requirement('batch', 'basic#batching', 'Only peers of the revision 2025-03-26 send and get batches.', '2025-03-26'),
];

const UTILITIES: readonly Requirement[] = [
  requirement(
    'progress',
    'basic/utilities/progress#progress-flow',
    'Progress comes under the token it was asked with.',
  ),
  requirement(
    'progress-own',
    'basic/utilities/progress#progress-flow',
    'Clients that use one token at once each hear of their own call; others hear nothing.',
  ),
  requirement(
    'progress-ends',
    'basic/utilities/progress#behavior-requirements',
    'No progress comes once its request is answered.',
  ),
  requirement(
    'progress-back',
    'basic/utilities/progress#progress-flow',
    'A client may tell of its progress with a question of the server.',
  ),
  requirement(
    'cancel',
    'basic/utilities/cancellation#cancellation-flow',
    'A cancel reaches the server with the id of the call there.',
  ),
  requirement(
    'cancel-own',
    'basic/utilities/cancellation#behavior-requirements',
    'A client cancels nothing but its own requests.',
  ),
  requirement(
    'cancel-initialize',
    'basic/utilities/cancellation#behavior-requirements',
    '`initialize` is never cancelled.',
  ),
  requirement(
    'cancel-late',
    'basic/utilities/cancellation#timing-considerations',
    'The late answer to a cancelled call reaches nobody.',
  ),
  requirement(
    'cancel-gone',
    'basic/utilities/cancellation#cancellation-flow',
    'What a client had under way when it went is cancelled.',
  ),
  requirement(
    'cancel-back',
    'basic/utilities/cancellation#cancellation-flow',
    "A server's cancel of its question has the id that the client knows.",
  ),
];

const TOOLS: readonly Requirement[] = [
  requirement('tools/list', 'server/tools#listing-tools', 'A client sees the tools that a server lists.'),
  requirement('tools/call', 'server/tools#calling-tools', 'A call of a tool gets its result.'),
  requirement('tool-names', 'server/tools#tool-names', 'A tool can be called by the name that it is listed under.'),
  requirement('names-for-all', 'server/tools#tool-names', 'Of several servers, each name is one, and one all take.'),
  requirement('tool-unknown', 'server/tools#error-handling', 'A tool that nobody has gets the error -32602.'),
  requirement(
    'tool-ui',
    'server/tools#tool',
    'What a tool says of its user interface passes untouched, and so does its URI.',
  ),
  requirement('structured', 'server/tools#structured-content', 'structuredContent passes untouched.'),
  requirement('annotations', 'server/resources#annotations', 'Annotations pass untouched.'),
  requirement('tool-error', 'server/tools#error-handling', 'A tool that fails says so in its result.'),
  requirement('tools-changed', 'server/tools#list-changed-notification', 'Whoever sees the tools hears of a change.'),
];

const PROMPTS: readonly Requirement[] = [
  requirement('prompts/list', 'server/prompts#listing-prompts', 'A client sees the prompts that a server lists.'),
  requirement('prompts/get', 'server/prompts#getting-a-prompt', 'A prompt is got by name, with its arguments.'),
  requirement('prompt-unknown', 'server/prompts#error-handling', 'A prompt that nobody has gets the error -32602.'),
  requirement('prompts-changed', 'server/prompts#list-changed-notification', 'Whoever sees them hears of a change.'),
];

const RESOURCES: readonly Requirement[] = [
  requirement('resources/list', 'server/resources#listing-resources', 'A client sees the resources by their URIs.'),
  requirement('resources/templates/list', 'server/resources#resource-templates', 'A client sees the templates.'),
  requirement('resources/read', 'server/resources#reading-resources', 'A resource is read by its URI.'),
  requirement('resource-unknown', 'server/resources#error-handling', 'One that nobody has gets the error -32002.'),
  requirement('resources-changed', 'server/resources#list-changed-notification', 'Who sees them hears of a change.'),
  requirement('resources/subscribe', 'server/resources#subscriptions', 'Who has subscribed hears of updates.'),
  requirement('resources/unsubscribe', 'server/resources#subscriptions', 'Who has enough of them hears no more.'),
  requirement('subscription-counted', 'server/resources#subscriptions', 'A server is told when the last has enough.'),
  requirement('subscription-restored', 'server/resources#subscriptions', 'A server that is started again knows them.'),
  requirement('updated-part', 'server/resources#subscriptions', 'An update may name a part of what was subscribed to.'),
];

const SERVER_UTILITIES: readonly Requirement[] = [
  requirement('completion/complete', 'server/utilities/completion#requesting-completions', 'Arguments are completed.'),
  requirement('cursor', 'server/utilities/pagination#pagination-flow', 'Cursor by cursor, each item comes once.'),
  requirement('cursor-empty', 'server/utilities/pagination#pagination-model', 'The empty string is a cursor too.'),
  requirement('page-empty', 'server/utilities/pagination#pagination-model', 'No page that is empty has a cursor.'),
  requirement(
    'cursor-invalid',
    'server/utilities/pagination#error-handling',
    'One that is none gets the error -32602.',
  ),
  requirement(
    'logging/setLevel',
    'server/utilities/logging#setting-log-level',
    'A client gets the level it asked for.',
  ),
  requirement(
    'level-of-all',
    'server/utilities/logging#setting-log-level',
    'A server has the most verbose level that any client asked for, and each client gets its own.',
  ),
  requirement('level-invalid', 'server/utilities/logging#error-handling', 'A level that is none gets -32602.'),
  requirement('log', 'server/utilities/logging#log-message-notifications', 'Log messages pass untouched.'),
];

const CLIENT_FEATURES: readonly Requirement[] = [
  requirement('roots/list', 'client/roots#listing-roots', 'A server gets the roots of the client that it works for.'),
  requirement('roots-own', 'client/roots#security-considerations', "One client's roots are not shown to another."),
  requirement('roots-changed', 'client/roots#root-list-changes', 'A server hears that roots are others now.'),
  requirement('sampling/createMessage', 'client/sampling#creating-messages', 'A server gets what the client sampled.'),
  requirement('sampling-own', 'client/sampling#user-interaction-model', 'It is the client whose call it belongs to.'),
  requirement('sampling-error', 'client/sampling#error-handling', "A client's error reaches the server untouched."),
  requirement('sampling-tools', 'client/sampling#tools-in-sampling', 'Who cannot use tools in it is not asked to.'),
  requirement(
    'elicitation/create',
    'client/elicitation#form-mode-elicitation-requests',
    'A server gets the form back.',
  ),
  requirement('elicitation-own', 'client/elicitation#user-interaction-model', 'Who is asked is who made the call.'),
  requirement('elicitation-mode', 'client/elicitation#capabilities', 'Nobody is asked in a mode that it has not.'),
  requirement('elicitation-url', 'client/elicitation#url-mode-elicitation-requests', 'A page is shown to who called.'),
  requirement(
    'elicitation-complete',
    'client/elicitation#completion-notifications-for-url-mode-elicitation',
    'Only who was shown the page hears of the end of the visit.',
  ),
  requirement(
    'elicitation-required',
    'client/elicitation#url-elicitation-required-error',
    'The error -32042 passes untouched, and the ids in it belong to who got it.',
  ),
];

const TASKS: readonly Requirement[] = [
  requirement('task-create', 'basic/utilities/tasks#creating-tasks', 'A call that asks for it becomes a task.'),
  requirement('tasks/get', 'basic/utilities/tasks#getting-tasks', 'Its owner may ask how a task is.'),
  requirement('tasks/result', 'basic/utilities/tasks#retrieving-task-results', 'Its owner gets its result or error.'),
  requirement('tasks/cancel', 'basic/utilities/tasks#cancelling-tasks', 'Its owner may cancel it.'),
  requirement('tasks/list', 'basic/utilities/tasks#listing-tasks', 'Its owner sees all of its own, and no others.'),
  requirement('task-own', 'basic/utilities/tasks#protocol-errors', "To others a client's task does not exist."),
  requirement('task-status', 'basic/utilities/tasks#task-status-notification', 'Only its owner hears of its status.'),
  requirement(
    'task-status-early',
    'basic/utilities/tasks#task-status-notification',
    'A status that comes before the answer to the call reaches the owner too.',
  ),
  requirement(
    'task-progress',
    'basic/utilities/tasks#task-progress-notifications',
    'The progress token of its call is valid until it ends.',
  ),
  requirement(
    'related-task',
    'basic/utilities/tasks#associating-task-related-messages',
    'A question that is related to a task goes to its owner, and says so there.',
  ),
  requirement('task-gone', 'basic/utilities/tasks#task-cancellation', 'The tasks of a client that goes are cancelled.'),
];

export const REQUIREMENTS: readonly Requirement[] = [
  ...BASE,
  ...LIFECYCLE,
  ...UTILITIES,
  ...TOOLS,
  ...PROMPTS,
  ...RESOURCES,
  ...SERVER_UTILITIES,
  ...CLIENT_FEATURES,
  ...TASKS,
];
