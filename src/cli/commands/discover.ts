// `mcp-bridge discover`: lists every server definition found, where it is, and what became of it and why.

import { dirname, join } from 'node:path';
import type { DiscoveredServer } from '../../discovery/discovered-server.ts';
import { alikeAmong, apart } from '../../discovery/duplicates.ts';
import { isNamed, type Narrowed, named, ofClients } from '../../discovery/selection.ts';
import type { Survey } from '../../discovery/survey.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { shellWord } from '../../util/shell-words.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { otherOverride } from '../other-config.ts';
import { connectedAs } from '../refused.ts';
import { reportOf } from '../render/discovery-report.ts';
import { byUse, countsOf, discoveryTable, isUsual } from '../render/discovery-table.ts';
import { explanation, leftOut } from '../render/explanation.ts';
import { printable, printJson } from '../render/table.ts';
import { tilde, widthOf, wrappedLines } from '../render/terminal.ts';
import { askIfRunning } from '../running-daemon.ts';
import { type SurveyValues, survey } from '../survey.ts';

export interface DiscoverValues extends SurveyValues {
  readonly json?: boolean | undefined;
  readonly all?: boolean | undefined;
  /** A string if given once, an array if several times. */
  readonly client?: string | readonly string[] | undefined;
  readonly explain?: string | undefined;
}

export async function discover(values: DiscoverValues, host: CliHost): Promise<number> {
  const found = await survey(values, host);
  const clients = [values.client ?? []].flat();
  const selected: Survey | Narrowed = clients.length === 0 ? found : await ofClients(found, clients);
  if (values.explain !== undefined) return await explain(values.explain, selected, values, host);
  if (values.json === true) return printJson(reportOf(selected), host);
  const { servers } = selected.discovery;
  const isEmpty = servers.length === 0 || (values.all !== true && servers.every(({ state }) => state === 'self'));
  host.stdout.write(isEmpty ? nothing(selected, clients, host) : listing(selected, values, host));
  host.stdout.write(remarks(selected, values, host));
  await tellOverride(found, host);
  return DONE;
}

/** Says if the daemon has the same MCP_SERVERS_CONFIG. Only a user who has set the variable needs to know. */
async function tellOverride({ own }: Survey, host: CliHost): Promise<void> {
  if (!host.environment.MCP_SERVERS_CONFIG) return;
  const running = await askIfRunning(own.socketPath, host, (client) => client.call('bridge/status'));
  const other = running === undefined ? undefined : otherOverride(running, host);
  if (other !== undefined) host.stdout.write(`\n${wrappedLines(`! ${other}`, { width: widthOf(host) })}\n`);
}

async function explain(name: string, found: Survey, values: DiscoverValues, host: CliHost): Promise<number> {
  const told = leftOut(name, found, host);
  if (told !== undefined && values.json !== true && !found.discovery.servers.some((server) => isNamed(server, name))) {
    host.stdout.write(told);
    return DONE;
  }
  const servers = (await definedAs(name, found, values, host)).sort(byUse);
  if (values.json === true) return printJson(reportOf(found, servers), host);
  host.stdout.write(explanation(name, servers, found, host));
  return DONE;
}

/** Finds a name; one that no file has may be a server that has connected by itself. */
async function definedAs(name: string, { discovery }: Survey, values: DiscoverValues, host: CliHost) {
  try {
    return named(discovery.servers, name);
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    throw (await connectedAs(name, { values, host, cause: error })) ?? error;
  }
}

function listing(found: Survey, values: DiscoverValues, host: CliHost): string {
  const { servers } = found.discovery;
  const shown = values.all === true ? servers : servers.filter(isUsual);
  return shown.length === 0 ? 'Nothing of what was found can be used.\n' : discoveryTable(shown, found, host);
}

function remarks(found: Survey, values: DiscoverValues, host: CliHost): string {
  const { servers, diagnostics, conflicts, groups } = found.discovery;
  const hidden = values.all === true ? [] : servers.filter((server) => !isUsual(server));
  const told = diagnostics.filter(({ level }) => values.all === true || level !== 'info');
  const waiting = servers.filter(({ state }) => state === 'pending-approval');
  const blocks = [
    conflicts.map(
      ({ name, members }) => `${name} is the name of different servers: ${apart(alikeAmong(members, groups))}`,
    ),
    [...found.failures, ...told.map(({ message }) => message)].map((text) => `! ${text}`),
    [
      ...(hidden.length === 0 ? [] : [`Not shown: ${countsOf(hidden)}. See: mcp-bridge discover --all`]),
      ...(found.config.config.discovery.isEnabled ? [] : [disabled(found)]),
      ...(waiting.length === 0 ? [] : [nextStep(waiting)]),
    ],
  ].filter((block) => block.length > 0);
  return blocks
    .map(
      (block) => `\n${block.map((line) => `${wrappedLines(tilde(line, host), { width: widthOf(host) })}\n`).join('')}`,
    )
    .join('');
}

function disabled({ config }: Survey): string {
  return `The daemon uses none of these but its own: discovery.enabled is false in ${config.file}.`;
}

function nextStep(waiting: readonly DiscoveredServer[]): string {
  const [first] = waiting;
  if (waiting.length === 1)
    return `One waits for you. Look at it with: mcp-bridge approve ${shellWord(first?.name ?? '')}`;
  return `${waiting.length} wait for you. Look at one with: mcp-bridge approve ${first?.name}`;
}

function nothing(found: Survey | Narrowed, clients: readonly string[], host: CliHost): string {
  if ('files' in found) {
    const files = found.files.map((file) => `\n  ${file}`).join('');
    return `${tilde(`No server is defined for ${clients.join(', ')}. These files were looked for:${files}`, host)}\n`;
  }
  const home = printable(tilde(host.homedir, host));
  const places = found.cwd === host.homedir ? home : `${home} and ${printable(tilde(found.cwd, host))}`;
  return (
    `No client has a server in its files in ${places}.\n` +
    `The clients and their files: ${printable(tilde(guideIn(host), host))}\n` +
    'To add a server for all clients: mcp-bridge add NAME -- COMMAND…\n'
  );
}

/** The guide's path: the package has it beside the program. */
function guideIn({ program }: CliHost): string {
  return join(dirname(program), '../docs/discovery.md');
}
