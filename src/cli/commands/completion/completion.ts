// `mcp-bridge completion`: prints a script for a shell, and the names that the script asks for: servers, their tools,
// waiting definitions, clients. It asks the daemon if one runs; else it reads the definitions of this directory. It
// starts nothing, and skips names that are not known in time.

import { isWaiting } from '../../../discovery/candidates.ts';
import type { DiscoveredServer } from '../../../discovery/discovered-server.ts';
import { handleOf, isNamed } from '../../../discovery/selection.ts';
import { servedServers } from '../../../discovery/served-servers.ts';
import { textOf } from '../../../util/json-value.ts';
import { type Command, NAMES, SHELLS } from '../../command.ts';
import { DONE } from '../../exit-code.ts';
import type { CliHost } from '../../host.ts';
import { locate } from '../../locate.ts';
import { askIfRunning } from '../../running-daemon.ts';
import { survey } from '../../survey.ts';
import { ask, recordsIn, type ToolCommandValues, withTools } from '../../tool-session.ts';
import { dialledIn } from '../dialled-in.ts';
import { shellScript } from './scripts.ts';

export interface CompletionValues extends ToolCommandValues {
  readonly what?: (typeof SHELLS)[number] | (typeof NAMES)[number] | undefined;
  readonly server?: string | undefined;
}

export async function completion(
  values: CompletionValues,
  commands: Readonly<Record<string, Command>>,
  host: CliHost,
): Promise<number> {
  const { what = 'bash' } = values;
  const names = NAMES.find((name) => name === what);
  const shell = SHELLS.find((name) => name === what) ?? 'bash';
  host.stdout.write(names === undefined ? shellScript(shell, commands) : await offeredNames(names, values, host));
  return DONE;
}

export interface OfferValues extends ToolCommandValues {
  /** The server whose tool names are wanted. */
  readonly server?: string | undefined;
}

type Offered = (values: OfferValues, host: CliHost) => Promise<readonly string[]>;

/** The time limit for an answer, because a person has pressed Tab and waits. */
const NAMES_MS = 1500;

const OFFERED: Readonly<Record<(typeof NAMES)[number], Offered>> = {
  servers: (values, host) =>
    withTools(values, host, async (client) =>
      recordsIn((await ask(client, 'list_mcp_servers')).servers).map(({ name }) => textOf(name)),
    ).catch(() => definedServers(values, host)),
  tools: (values, host) =>
    withTools(values, host, async (client) => {
      const { tools } = await ask(client, 'list_tools', { server: values.server ?? '' });
      return recordsIn(tools).map(({ name, tool }) => textOf(name ?? tool));
    }),
  pending: async (values, host) => {
    const [{ discovery }, { dialledIn: connected }] = await Promise.all([
      survey(values, host),
      dialledIn(values, host),
    ]);
    const callers = connected.filter(({ state }) => state === 'waiting').map(({ name }) => name);
    const waiting = discovery.servers.filter(isWaiting);
    return [...new Set([...waiting.map((server) => shortestFor(server, waiting)), ...callers])];
  },
  connected: async (values, host) => {
    const { path } = await locate(values, host);
    const clients = await askIfRunning(path, host, (client) => client.call('bridge/connections'));
    return (clients ?? []).filter(({ view }) => view !== 'control').map(({ clientId }) => clientId);
  },
};

/** The servers that a daemon would serve here, according to the files. */
async function definedServers(values: OfferValues, host: CliHost): Promise<readonly string[]> {
  const { discovery, config, own } = await survey(values, host);
  return [
    ...servedServers(discovery.servers, config.config, { home: own.homedir, values: discovery.values }).keys(),
  ].sort();
}

/** The name alone, unless other waiting definitions have the same name. */
function shortestFor(server: DiscoveredServer, waiting: readonly DiscoveredServer[]): string {
  return waiting.filter((other) => isNamed(other, server.name)).length > 1 ? handleOf(server, waiting) : server.name;
}

/** Prints the names, one per line. */
export async function offeredNames(what: (typeof NAMES)[number], values: OfferValues, host: CliHost): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string[]>((resolve) => {
    timer = setTimeout(() => resolve([]), NAMES_MS);
  });
  // A shell cannot show errors while a person types.
  const found = OFFERED[what]({ ...values, 'no-autostart': true }, host).catch(() => []);
  const list = await Promise.race([found, late]);
  clearTimeout(timer);
  return list
    .filter((name) => /^[\w@.:/+-]+$/.test(name))
    .map((name) => `${name}\n`)
    .join('');
}
