// What the protocol asks for where both eras meet, as data: how the era of a server is found out (B), what a client of 2025 at a
// server of 2026 (D), or one of 2026 at a server of 2025 (C), may expect, and what of tasks (H). A test that shows a line has its id in brackets in its title.

import type { Requirement } from './requirements.ts';

const SPECIFICATION = 'https://modelcontextprotocol.io/specification';

/** `page` is a page of the specification of a revision. */
const requirement = (id: string, page: string, says: string): Requirement => ({
  id,
  says,
  clause: `${SPECIFICATION}/${page}`,
});

const STDIO = '2026-07-28/basic/transports/stdio#backward-compatibility';
const VERSIONING = '2026-07-28/basic/versioning#backward-compatibility';

export const REQUIREMENTS_OF_SERVERS_OF_2026: readonly Requirement[] = [
  requirement(
    'B1',
    STDIO,
    '`server/discover` decides in place: a DiscoverResult or -32022 is of 2026, other errors lead to `initialize`.',
  ),
  requirement(
    'B2',
    STDIO,
    'A server that ends at the probe is started once more with `initialize`, and is not probed again.',
  ),
  requirement('B3', STDIO, 'Silence decides nothing: `initialize` is sent too, and the first positive answer decides.'),
  requirement('B4', VERSIONING, 'A server of both eras is asked for the newer one before it sees `initialize`.'),
  requirement('B5', STDIO, 'A server that answers the probe gets `initialize` at once.'),
  requirement(
    'B6',
    VERSIONING,
    'What was found is kept with the definition, and asked again when it may have changed.',
  ),
  requirement('B7', VERSIONING, 'A refused `initialize` is no crash.'),
  requirement(
    'B8',
    '2026-07-28/basic/transports/streamable-http#backward-compatibility',
    'At a URL the probe is a POST with all headers; refusals lead to `initialize`, 401 to a sign-in.',
  ),
  requirement('B9', VERSIONING, 'The highest common version is used; without one the error names both lists.'),
  requirement('B10', STDIO, 'Servers that dial in, or are reached over a WebSocket, are asked as others are.'),
  requirement(
    'D1',
    '2025-11-25/basic/lifecycle#initialization',
    '`initialize` is answered from what is known of the server, in the version of the client.',
  ),
  requirement('D2', '2026-07-28/basic#meta', 'Each request says who asks: the client, and what it can do.'),
  requirement(
    'D3',
    '2026-07-28/basic#result-responses',
    'Members that only results of 2026 have are cut; all others stay.',
  ),
  requirement(
    'D4',
    '2025-11-25/server/tools#output-schema',
    'A schema that is not of an object becomes that of one, and so does the content.',
  ),
  requirement(
    'D5',
    '2026-07-28/basic/patterns/mrtr',
    'Questions in an answer become requests; the call goes on with the answers.',
  ),
  requirement(
    'D6',
    '2026-07-28/basic/patterns/mrtr',
    'A state without questions is sent back; rounds and waits have an end.',
  ),
  requirement(
    'D7',
    '2026-07-28/basic/patterns/mrtr',
    'A client that cannot or will not answer ends its call, with the reason.',
  ),
  requirement(
    'D8',
    '2026-07-28/basic/patterns/cancellation',
    'A cancel reaches the server, or takes the question back.',
  ),
  requirement(
    'D9',
    '2026-07-28/basic/patterns/subscriptions',
    'A subscription becomes part of one listen, without a gap.',
  ),
  requirement('D10', '2026-07-28/basic/patterns/subscriptions', 'A listen that ends is opened again.'),
  requirement('D11', '2026-07-28/changelog', 'Methods that only one of the eras has end at the bridge.'),
  requirement('D12', '2026-07-28/basic/patterns/progress', 'Progress keeps its token in all rounds, and rises.'),
  requirement('D13', '2026-07-28/server/resources#error-handling', 'An unknown resource is an error.'),
  requirement(
    'D15',
    '2026-07-28/basic/transports/streamable-http',
    'A response that breaks off leaves the outcome of its call unknown.',
  ),
];

export const REQUIREMENTS_OF_CLIENTS_OF_2026: readonly Requirement[] = [
  requirement(
    'C4',
    '2026-07-28/basic/patterns/mrtr',
    'A question of the server is the answer of the call, which stays open at the server.',
  ),
  requirement('C5', '2026-07-28/basic/patterns/mrtr', 'Questions that come at once are asked at once.'),
  requirement(
    'C6',
    '2026-07-28/basic/patterns/mrtr#supported-requests',
    'Only a call, a prompt or a read may be answered with questions; a server that asks during another request gets an error.',
  ),
  requirement('C7', '2026-07-28/basic#meta', 'Nobody is asked what its request does not offer.'),
  requirement(
    'C8',
    '2026-07-28/basic/patterns/mrtr',
    'A state is good once, for its call and its user, until it expires.',
  ),
  requirement(
    'C9',
    '2026-07-28/basic/patterns/mrtr#error-handling',
    'Missing answers are asked for again, surplus ones passed over, and the tool runs once.',
  ),
  requirement(
    'C10',
    '2026-07-28/basic/patterns/mrtr#error-handling',
    'Answers reach the server as they are; malformed ones are refused.',
  ),
  requirement(
    'C11',
    '2026-07-28/basic/patterns/mrtr',
    'A suspended call ends in time, is bounded, keeps nobody waiting for long, and is never made again.',
  ),
  requirement(
    'C12',
    '2026-07-28/basic#error-codes',
    'The error that wants a visit to a page becomes a question, and the retry makes the call again.',
  ),
  requirement(
    'C13',
    '2026-07-28/basic/patterns/cancellation',
    'A cancel of the retry reaches the server, and nothing more is sent for it.',
  ),
  requirement('C14', '2026-07-28/basic/patterns/progress', 'Progress has the token of the request that is open.'),
];

const LISTEN = '2026-07-28/basic/patterns/subscriptions';
const CACHING = '2026-07-28/server/utilities/caching';

export const REQUIREMENTS_OF_NOTICES_OF_2026: readonly Requirement[] = [
  requirement('A10', '2026-07-28/server/tools#error-handling', 'The error of an unknown tool or prompt is -32602.'),
  requirement('A11', '2026-07-28/basic/patterns', 'A client gets no notice that none of its requests asks for.'),
  requirement(
    'C15',
    '2026-07-28/server/utilities/logging',
    'Log messages reach the requests under way that ask for their level, and the server logs no more than anybody wants.',
  ),
  requirement(
    'C16',
    LISTEN,
    'A request to listen is acknowledged first, hears under its id what it has asked for, and ends for the server with the last of its kind.',
  ),
  requirement('C17', `${LISTEN}#graceful-closure`, 'A request to listen that is ended from this side gets a result.'),
  requirement(
    'C18',
    '2026-07-28/basic/transports/stdio#unexpected-termination',
    'After a restart of the server those who listen hear of what may have changed.',
  ),
  requirement('C19', '2026-07-28/changelog', 'No tool is shown that a client of this revision could not call.'),
  requirement('E5', CACHING, 'A list is kept no longer, and for no more people, than its server allows.'),
  requirement('E6', LISTEN, 'Those who listen hear the same of servers of both eras.'),
  requirement('G1', CACHING, 'A joined list is kept as long as the shortest of its parts, and for one user.'),
  requirement(
    'G3',
    '2026-07-28/basic/patterns/mrtr',
    'Tool rules and the audit log hold for each request and each retry.',
  ),
  requirement('G5', '2026-07-28/basic/versioning', 'Wherever clients and servers are shown, their version is.'),
  requirement('G6', CACHING, 'A list differs by who asks and for what, never by the connection, and keeps its order.'),
];

/** The extension for tasks has a specification of its own. */
const ofTasks = (id: string, section: string, says: string): Requirement => ({
  id,
  says,
  clause: `https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/2026-07-28/tasks.md#${section}`,
});

export const REQUIREMENTS_OF_TASKS_OF_2026: readonly Requirement[] = [
  ofTasks(
    'G2',
    'task-polling',
    'A task is asked for by its id in every view, also where two servers use the same one.',
  ),
  ofTasks(
    'H1',
    'capability-negotiation',
    'A task is its owner’s to ask for, on any connection, and reaches nobody who has not said that it takes tasks.',
  ),
];
