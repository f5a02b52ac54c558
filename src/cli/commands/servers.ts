// `mcp-bridge servers`: lists the servers that the bridge offers here, with the number of their tools. With --running,
// lists running servers from all registries known here, without asking a daemon.

import { platform } from 'node:os';
import { maskedUrl } from '../../discovery/masked-text.ts';
import { placesHere } from '../../discovery/own-discovery.ts';
import { REGISTRY } from '../../discovery/places.ts';
import { knownRegistries, type RegistryPlace } from '../../registry/registry-places.ts';
import { type RunningServer, runningServers } from '../../registry/running-servers.ts';
import { textOf } from '../../util/json-value.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { hostsLine } from '../hosts-hint.ts';
import { type LocatedConfig, locate, type WhereValues } from '../locate.ts';
import { alsoColumn, pendingNotes, shownVersion, waitingNotes } from '../render/status-view.ts';
import { jsonText, printJson, table } from '../render/table.ts';
import { tableStyle, tilde, widthOf, wrappedLines } from '../render/terminal.ts';
import { ask, recordsIn, type ToolCommandValues, withTools } from '../tool-session.ts';
import { dialledIn } from './dialled-in.ts';

export interface ServersValues extends ToolCommandValues {
  readonly running?: boolean | undefined;
}

export async function servers(values: ServersValues, host: CliHost): Promise<number> {
  if (values.running === true) return listRunning(values, host);
  const answer = await withTools(values, host, (client) => ask(client, 'list_mcp_servers'));
  const list = recordsIn(answer.servers).toSorted(byName);
  const { dialledIn: connected, pendingApprovals, instances } = await dialledIn(values, host);
  const versionOf = ({ name }: Listed): string =>
    shownVersion(instances.find(({ server, protocolVersion }) => server === name && protocolVersion !== null));
  if (values.json === true) return printJson({ ...answer, pendingApprovals: pendingApprovals ?? null }, host);
  const also = alsoColumn(instances);
  const rows = list.map((server) => [
    textOf(server.name),
    ...also.of(instances.find((instance) => instance.server === server.name)),
    stateOf(server),
    toolCount(server),
    versionOf(server),
    textOf(server.description),
  ]);
  const style = tableStyle(host, 1);
  const head = ['SERVER', ...also.head, 'STATE', 'TOOLS', 'MCP', 'DESCRIPTION'];
  const text = table(head, rows, also.moved(style));
  host.stdout.write(list.length === 0 ? `${NO_SERVER}${await hostsLine(values, host)}` : text);
  if (list.some((server) => stateOf(server) === 'failed')) host.stdout.write(WHY_FAILED);
  for (const note of [...unknownNotes(list), ...waitingNotes(connected), ...pendingNotes(pendingApprovals ?? null)])
    host.stdout.write(`${wrappedLines(`! ${note}`, style)}\n`);
  return DONE;
}

type Listed = Readonly<Record<string, unknown>>;

/** The state in the words of `mcp-bridge status`; agents see only if a server is connected. */
function stateOf({ status }: Listed): string {
  return status === 'connected' ? 'ready' : textOf(status);
}

const byName = (a: Listed, b: Listed): number => (textOf(a.name) < textOf(b.name) ? -1 : 1);

const MOST_NAMES = 5;

/** Notes for servers that were never used: this list starts none, so nothing is known about them. */
function unknownNotes(list: readonly Listed[]): string[] {
  const names = list
    .filter(({ toolCount, status }) => toolCount === null && status !== 'failed')
    .map(({ name }) => textOf(name));
  if (names.length === 0) return [];
  const more = names.length - MOST_NAMES;
  const who = more > 0 ? `${names.slice(0, MOST_NAMES).join(', ')} and ${more} more` : names.join(', ');
  return [`Tools not known yet, as nobody has used them: ${who}. To have them asked now: mcp-bridge refresh`];
}

const WHY_FAILED = '! Why a server has failed: mcp-bridge status\n';

export const NO_SERVER =
  'The bridge has no server here. What was found, and why it is not used: mcp-bridge discover --all\n';

function toolCount({ toolCount, enabledCount }: Listed): string {
  if (typeof toolCount !== 'number') return '?';
  return toolCount === enabledCount ? `${toolCount}` : `${enabledCount} of ${toolCount}`;
}

export interface RunningValues extends WhereValues {
  readonly json?: boolean | undefined;
}

export async function listRunning(values: RunningValues, host: CliHost): Promise<number> {
  const located = await locate(values, host);
  const { configError } = located;
  const { servers, warnings } = await runningServers(await placesOf(located, host));
  const told = [...(configError === undefined ? [] : [configError.message]), ...warnings];
  if (values.json === true) {
    host.stdout.write(jsonText({ servers: servers.map(shown), warnings: told }));
    return DONE;
  }
  const rows = servers.map((server) => [
    server.name,
    `${server.pid}`,
    whereOf(server),
    tilde(server.cwd ?? '', host),
    server.startedAt ?? '',
    tilde(server.file, host),
  ]);
  const head = ['NAME', 'PID', 'WHERE', 'DIRECTORY', 'STARTED', 'REGISTRY'];
  host.stdout.write(
    rows.length === 0 ? 'No server is registered that runs\n' : table(head, rows, { width: widthOf(host) }),
  );
  for (const warning of told) host.stdout.write(`${wrappedLines(`! ${warning}`, { width: widthOf(host) })}\n`);
  return DONE;
}

/** The registries that discovery reads, including the one of the surrounding repository. */
async function placesOf({ path: socketPath, loaded }: LocatedConfig, host: CliHost): Promise<RegistryPlace[]> {
  const { environment, homedir, program, cwd } = host;
  const known = knownRegistries(host, loaded.config.discovery.registries.files);
  const places = await placesHere({ platform: platform(), environment, homedir, program, socketPath }, cwd);
  const around = places.filter(({ client, path }) => client === REGISTRY && !known.some(({ file }) => file === path));
  return [...known, ...around.map(({ path: file }) => ({ scope: 'project', file }) as const)];
}

function whereOf({ url, socket, isOnStdio }: RunningServer): string {
  return url === undefined ? (socket ?? (isOnStdio ? 'stdio' : '')) : maskedUrl(url);
}

function shown({ entry: _, url, ...server }: RunningServer) {
  const { socket, cwd, startedAt } = server;
  const orNull = { socket: socket ?? null, cwd: cwd ?? null, startedAt: startedAt ?? null };
  return { ...server, url: url === undefined ? null : maskedUrl(url), ...orNull };
}
