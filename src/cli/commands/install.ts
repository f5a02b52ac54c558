// `mcp-bridge install`: puts the bridge into a client's config; without a client, lists the clients.

import { listClients, targetNamed } from '../../editing/client-config.ts';
import type { LostRule } from '../../editing/client-entry.ts';
import { install } from '../../editing/install.ts';
import { socketPath } from '../../local/socket-path.ts';
import { isViewName, VIEW_NAMES } from '../../model/view-name.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { editingHostOf, tell } from '../editing.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { endpointsHere, httpHere, httpPlaceOf } from '../http-place.ts';
import { jsonText, printableLines, table } from '../render/table.ts';
import { confirm, hasPerson, tilde, widthOf } from '../render/terminal.ts';
import { reloadIfRunning } from '../running-daemon.ts';

export interface InstallValues {
  readonly client?: readonly string[] | undefined;
  readonly 'mcp-bridge-socket'?: string | undefined;
  readonly config?: string | undefined;
  readonly http?: boolean | undefined;
  readonly view?: string | undefined;
  readonly replace?: boolean | undefined;
  readonly 'dry-run'?: boolean | undefined;
  readonly 'no-client-cli'?: boolean | undefined;
  readonly yes?: boolean | undefined;
  readonly json?: boolean | undefined;
}

export async function installBridge(values: InstallValues, host: CliHost): Promise<number> {
  const {
    client = [],
    config,
    view,
    replace = false,
    'dry-run': dryRun = false,
    'no-client-cli': direct = false,
  } = values;
  if (client.length === 0) return list(values, host);
  const lose = (lost: readonly LostRule[]): Promise<void> => tellLost(lost, values, host);
  const where = { 'mcp-bridge-socket': values['mcp-bridge-socket'] };
  const here = values.http === true ? await httpHere(where, host) : undefined;
  if (here !== undefined && (replace || config !== undefined)) throw notByUrl(replace ? '--replace' : '--config');
  const http = here && httpPlaceOf(here);
  if (view !== undefined && view !== 'config' && !isViewName(view))
    throw new BridgeError('USAGE', `--view is ${VIEW_NAMES}; or config`, {
      hint: 'See: mcp-bridge install --help',
    });
  const socket = namedSocket(values, host);
  const options = { http, config, socket, view, replace, dryRun, clientCommand: !direct, lose };
  const editing = { ...editingHostOf(host), endpoints: await endpointsHere(where, host) };
  const targets = [...new Set(client.map(targetNamed))];
  for (const target of targets) tell(await install(target, options, editing), host);
  if (replace && !dryRun) await reloadIfRunning({}, host);
  return DONE;
}

/** The error for an option that needs `connect`: a client that uses a URL starts nothing that could take it. */
function notByUrl(option: string): BridgeError {
  return new BridgeError('USAGE', `--http and ${option} do not go together`, {
    hint: 'See: mcp-bridge install --help',
  });
}

/** Names what will be lost, before anything changes. If the loss may do harm, a person must agree. */
async function tellLost(lost: readonly LostRule[], { yes }: InstallValues, host: CliHost): Promise<void> {
  for (const { line } of lost) host.stdout.write(`${printableLines(tilde(line, host))}\n`);
  if (yes === true || !lost.some(({ isDangerous }) => isDangerous)) return;
  if (!hasPerson(host))
    throw new BridgeError('REQUEST_REFUSED', 'Nothing was changed: rules of the client would not hold any more', {
      hint: 'Having looked at them, add --yes.',
    });
  if (await confirm('Move the servers behind the bridge all the same?', host)) return;
  throw new BridgeError('REQUEST_REFUSED', 'Nothing was changed');
}

/**
 * The socket to write into the entry. The client does not share this shell's variables, but reads the same config
 * files.
 */
function namedSocket(
  { 'mcp-bridge-socket': flag }: InstallValues,
  { environment, cwd, homedir }: CliHost,
): string | undefined {
  const user = { environment, homedir };
  const { path, source } = socketPath({ flag, environment: environment.MCP_BRIDGE_SOCKET, cwd, user });
  return source === 'flag' || source === 'environment' ? path : undefined;
}

async function list({ json }: InstallValues, host: CliHost): Promise<number> {
  const clients = await listClients({ ...editingHostOf(host), endpoints: await endpointsHere({}, host) });
  if (json === true) {
    host.stdout.write(jsonText(clients));
    return DONE;
  }
  const rows = clients.map(({ client, title, isHere, state, file }) => [
    client,
    title,
    isHere ? 'yes' : 'no',
    state === 'installed' ? 'yes' : state === 'unusable' ? '?' : 'no',
    tilde(file, host),
  ]);
  host.stdout.write(table(['CLIENT', 'NAME', 'HERE', 'BRIDGE', 'FILE'], rows, { width: widthOf(host) }));
  for (const { problem } of clients)
    if (problem !== undefined) host.stderr.write(`mcp-bridge: ${tilde(problem, host)}\n`);
  return DONE;
}
