// Arguments that mean the directory where a client starts its servers. The bridge's daemon starts servers for all
// clients, so such an argument becomes `${PWD}`, the directory of the served client. The program itself never depends
// on it.

import { relativePrograms } from '../util/executed-words.ts';
import type { DiscoveredServer } from './discovered-server.ts';

/** The user's own files of clients that start servers in their own working directory. */
const ANYWHERE = /^(?:user|user-legacy|system|enterprise|profile:.*)$/;
const DOTTED = /^\.(?:\/|$)/;
const ABOVE = /^\.\.(?:\/|$)/;

type Placed = Pick<DiscoveredServer, 'client' | 'scope' | 'transport' | 'command' | 'args' | 'raw'>;

/** The arguments for a server that the daemon starts elsewhere than its client would; others stay unchanged. */
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

/** The argument rewritten, if it means the client's own directory; undefined for any other argument. */
export function besideClient(arg = ''): string | undefined {
  const rest = /^\$\{PWD\}(?=\/|$)(.*)$/s.exec(arg)?.[1];
  if (rest === undefined) return undefined;
  return ABOVE.test(rest.slice(1)) ? rest.slice(1) : `.${rest}`;
}

const WORKSPACE = `\${workspaceFolder}`;

/**
 * A text from a user's file. It stays as written if its only variable is the client's directory; else it is filled in.
 */
export function keptForClients(raw: string | undefined, filled: string, scope: string): string {
  if (raw === undefined || !ANYWHERE.test(scope) || !raw.includes(WORKSPACE)) return filled;
  return /[$%]\{|\$\w/.test(raw.replaceAll(WORKSPACE, '')) ? filled : raw;
}
