// The connected clients, for people: what each says of itself, what it uses, and where it works.

import type { ClientReport } from '../../client/control-client.ts';
import type { CliHost } from '../host.ts';
import { duration, table } from './table.ts';
import { tableStyle, tilde } from './terminal.ts';

const HEAD = ['CLIENT', 'PROGRAM', 'VIEW', 'STATE', 'CALLS', 'PID', 'SINCE', 'SERVERS', 'DIRECTORY'];
const STATE = HEAD.indexOf('STATE');
const NONE = '-';

export function clientTable(list: readonly ClientReport[], host: CliHost): string {
  const now = Date.now();
  // Most clients take nothing from others, and a column of dashes tells nothing.
  const accept = list.some((client) => acceptedBy(client) !== NONE);
  const rows = list.toSorted(byId).map((client) => {
    const { clientId, name, version, view, state, inFlight, pid, connectedAt, servers, cwd } = client;
    return [
      ...[clientId || NONE, `${name} ${version}`.trim() || NONE, view || NONE, state, `${inFlight}`, `${pid ?? NONE}`],
      duration(Math.max(0, now - Date.parse(connectedAt))),
      (servers ?? []).join(', ') || NONE,
      cwd === null || cwd === undefined ? NONE : tilde(cwd, host),
      ...(accept ? [acceptedBy(client)] : []),
    ];
  });
  return table([...HEAD, ...(accept ? ['ACCEPTS'] : [])], rows, tableStyle(host, STATE));
}

const byId = (a: ClientReport, b: ClientReport): number => (a.clientId < b.clientId ? -1 : 1);

/** The methods that it takes from other clients. */
function acceptedBy({ accepts, mailbox }: ClientReport): string {
  const methods = typeof accepts === 'boolean' ? (accepts ? ['everything'] : []) : accepts;
  return [...methods, ...(mailbox ? ['messages'] : [])].join(', ') || NONE;
}
