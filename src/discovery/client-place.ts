// Arguments that mean the directory in which a client starts its servers. Behind the bridge one daemon starts them for all
// clients, so such an argument says `${PWD}`: the directory of the client that is served. What is run is never one of these.

import { relativePrograms } from '../util/executed-words.ts';
import type { DiscoveredServer } from './discovered-server.ts';

/** The user's own files, of clients that start the servers in them wherever they are themselves. */
const ANYWHERE = /^(?:user|user-legacy|system|enterprise|profile:.*)$/;
const DOTTED = /^\.(?:\/|$)/;
const ABOVE = /^\.\.(?:\/|$)/;

type Placed = Pick<DiscoveredServer, 'client' | 'scope' | 'transport' | 'command' | 'args' | 'raw'>;

/** The arguments for a server that is started somewhere else than its client is; those of others stay as they are. */
export function argsForClients({ client, scope, transport, command, args, raw }: Placed): readonly string[] {
  const isAnywhere = ANYWHERE.test(scope) && client !== 'seed-dir' && raw.cwd === undefined;
  if (transport !== 'stdio' || command === undefined || !isAnywhere) return args;
  const programs = relativePrograms([command, ...args]);
  return args.map((arg, at) => (programs.has(at + 1) ? arg : inClientPlace(arg)));
}

function inClientPlace(arg: string): string {
  if (DOTTED.test(arg)) return `\${PWD}${arg.slice(1)}`;
  return ABOVE.test(arg) ? `\${PWD}/${arg}` : arg;
}

/** The argument as clients write it that start their servers where they are; undefined for any other argument. */
export function besideClient(arg = ''): string | undefined {
  const rest = /^\$\{PWD\}(?=\/|$)(.*)$/s.exec(arg)?.[1];
  if (rest === undefined) return undefined;
  return ABOVE.test(rest.slice(1)) ? rest.slice(1) : `.${rest}`;
}

const WORKSPACE = `\${workspaceFolder}`;

/** A text of a user's file as it is written, if all that its client fills in is the directory; else as it is filled in. */
export function keptForClients(raw: string | undefined, filled: string, scope: string): string {
  if (raw === undefined || !ANYWHERE.test(scope) || !raw.includes(WORKSPACE)) return filled;
  return /[$%]\{|\$\w/.test(raw.replaceAll(WORKSPACE, '')) ? filled : raw;
}
