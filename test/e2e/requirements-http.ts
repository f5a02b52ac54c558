// What the protocol asks of HTTP where a client reaches the bridge by it, in both eras (I), as data. A test that shows a line has its id
// in brackets in its title.

import type { Requirement } from './requirements.ts';

const SPECIFICATION = 'https://modelcontextprotocol.io/specification';
const PAGE_2026 = '2026-07-28/basic/transports/streamable-http';
const PAGE_2025 = '2025-11-25/basic/transports';

/** `place` is a page of the specification, and a part of it. */
const requirement = (id: string, place: string, says: string): Requirement => ({
  id,
  says,
  clause: `${SPECIFICATION}/${place}`,
});

export const REQUIREMENTS_OF_HTTP: readonly Requirement[] = [
  requirement(
    'I1',
    `${PAGE_2026}#security-warning`,
    'No port is open by default; other machines are let in with a token and TLS alone, and a socket is its user’s.',
  ),
  requirement(
    'I2',
    `${PAGE_2026}#security-warning`,
    'A wrong Host or Origin gets 403 on every path and method, before the body is read.',
  ),
  requirement(
    'I3',
    `${PAGE_2026}#security-warning`,
    'Pages of other origins get no headers that let them read an answer, unless they are allowed.',
  ),
  requirement(
    'I4',
    '2026-07-28/basic/authorization',
    'Over TCP a client shows a token, unless none is asked for: 401 and a challenge without. It is passed to nobody.',
  ),
  requirement(
    'I5',
    `${PAGE_2026}#sending-messages-to-the-server`,
    'A body is JSON (415), within the limit (413), readable (400), and its client takes both kinds of answers (406).',
  ),
  requirement(
    'I6',
    `${PAGE_2026}#backward-compatibility`,
    'The envelope or the version header make a request one of 2026, which has no session; GET and DELETE get 405.',
  ),
  requirement(
    'I7',
    `${PAGE_2026}#server-validation`,
    'Headers say what the body says, exactly, or the request is refused with 400 and -32020.',
  ),
  requirement(
    'I8',
    `${PAGE_2026}#custom-headers-from-tool-parameters`,
    'Parameters that a tool has marked stand in headers too, exactly, or the call is refused with 400 and -32020.',
  ),
  requirement(
    'I9',
    `${PAGE_2026}#protocol-version-header`,
    'Errors of the request itself get 404 or 400, all others 200; each has the id of its request.',
  ),
  requirement(
    'I10',
    `${PAGE_2026}#sending-messages-to-the-server`,
    'A notification gets 202 without a body, and an answer of a client of 2026 gets 400.',
  ),
  requirement(
    'I11',
    `${PAGE_2026}#receiving-messages`,
    'An answer is JSON if nothing comes before it, else a stream, which proxies are told not to hold back.',
  ),
  requirement(
    'I12',
    `${PAGE_2026}#cancellation`,
    'A client of 2026 cancels by hanging up; one with a session does not.',
  ),
  requirement(
    'I13',
    '2026-07-28/basic/patterns/subscriptions#graceful-closure',
    'A request to listen is acknowledged first, on its own stream, and gets a result when the daemon goes.',
  ),
  requirement(
    'I14',
    `${PAGE_2025}#session-management`,
    'A session has an id that nobody can guess, without which there is nothing, and ends when its client says so.',
  ),
  requirement(
    'I15',
    `${PAGE_2025}#protocol-version-header`,
    'A version that is not known gets 400, a missing one counts as 2025-03-26, and an error of a call gets 200.',
  ),
  requirement(
    'I16',
    `${PAGE_2025}#listening-for-messages-from-the-server`,
    'Each message is on one stream: that of the call it belongs to, or that of a GET.',
  ),
  requirement(
    'I17',
    `${PAGE_2025}#resumability-and-redelivery`,
    'A broken stream goes on behind the last event that its client has, and no other stream does.',
  ),
  requirement('I18', '2025-03-26/basic/transports#sending-messages-to-the-server', 'Arrays are for 2025-03-26 alone.'),
  requirement(
    'I19',
    `${PAGE_2026}#sending-messages-to-the-server`,
    'On the Unix socket, HTTP and lines are told apart by the first bytes.',
  ),
  requirement(
    'I20',
    `${PAGE_2026}#security-warning`,
    'A client that sends slowly, without end, or what can be read in two ways is cut off; the others are served.',
  ),
  requirement('I21', `${PAGE_2025}#backwards-compatibility`, 'The transport of 2024-11-05 is not served.'),
];
