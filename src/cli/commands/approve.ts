// `mcp-bridge approve` and `reject`: a person decides about definitions that came with a project, after seeing
// everything that would be started. Scripts decide with --yes.

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DialledInReport } from '../../client/control-client.ts';
import type { Approval } from '../../discovery/approval.ts';
import { candidatesFor, isWaiting } from '../../discovery/candidates.ts';
import type { DiscoveredServer } from '../../discovery/discovered-server.ts';
import { handleOf } from '../../discovery/selection.ts';
import { decidedBefore, type Survey } from '../../discovery/survey.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { approvalView } from '../render/approval-view.ts';
import { rendered } from '../render/definition-view.ts';
import { serverReport } from '../render/discovery-report.ts';
import { waitingNotes } from '../render/status-view.ts';
import { jsonText, printable, printableLines, table } from '../render/table.ts';
import { confirm, hasPerson, tilde, widthOf, wrappedLines } from '../render/terminal.ts';
import { reloadIfRunning } from '../running-daemon.ts';
import { type SurveyValues, survey } from '../survey.ts';
import { checkDecidable, decideDialIns, dialledIn, settledAmong, undecided, viewOf } from './dialled-in.ts';
import { lostNames } from './lost-names.ts';

export interface DecideValues extends SurveyValues {
  readonly names?: readonly string[] | undefined;
  readonly 'all-from'?: string | undefined;
  readonly yes?: boolean | undefined;
  readonly json?: boolean | undefined;
}

export function approve(values: DecideValues, host: CliHost): Promise<number> {
  return decide('approved', values, host);
}

export function reject(values: DecideValues, host: CliHost): Promise<number> {
  return decide('rejected', values, host);
}

async function decide(decision: Approval, values: DecideValues, host: CliHost): Promise<number> {
  const found = await survey(values, host);
  found.approvalFile.read(); // throws if the file cannot be parsed: then nothing is added to it
  for (const failure of found.failures) host.stderr.write(`mcp-bridge: ${printableLines(failure)}\n`);
  const file = values['all-from'] === undefined ? undefined : fileOf(values['all-from'], host);
  const daemon = await dialledIn(values, host);
  const connected = daemon.dialledIn;
  const callers = undecided(values.names ?? [], decision, connected);
  checkDecidable(callers, decision, daemon);
  const decided = settledAmong(values.names ?? [], connected, callers);
  for (const { name, state } of decided) host.stdout.write(`${printable(name)} is ${state} already.\n`);
  const names = (values.names ?? []).filter((name) => ![...callers, ...decided].some((known) => known.name === name));
  if ((values.names ?? []).length === 0 && file === undefined) return list(found, connected, values, host);
  if (values.json === true)
    throw new BridgeError('USAGE', '--json is for the list of what waits', { hint: 'Leave the names out.' });
  const needed = names.length > 0 || file !== undefined;
  const { servers, settled } = needed ? definedAmong({ names, file, decision }, found) : { servers: [], settled: [] };
  for (const sentence of settled) host.stdout.write(`${printable(tilde(sentence, host))}\n`);
  if (servers.length + callers.length === 0) return DONE;
  for (const server of servers) host.stdout.write(`${view(server, found, host)}\n`);
  for (const caller of callers) host.stdout.write(`${viewOf(caller)}\n`);
  const handles = [...servers.map(({ client, name }) => `${client}:${name}`), ...callers.map(({ name }) => name)];
  await agree(decision, handles, values, host);
  if (servers.length > 0) await found.approvalFile.decide(servers, decision, new Date());
  await decideDialIns(callers, decision, host);
  await reloadIfRunning(values, host);
  host.stdout.write(outcome(decision, handles, servers, found, host));
  const lost = servers.length === 0 ? [] : lostNames(found, await survey(values, host));
  for (const line of lost) host.stdout.write(`${printable(line)}\n`);
  return DONE;
}

/** Finds the named definitions. For an unknown name it mentions servers that may have connected by themselves. */
function definedAmong(wanted: Parameters<typeof candidatesFor>[0], found: Survey): ReturnType<typeof candidatesFor> {
  try {
    return candidatesFor(wanted, found);
  } catch (error) {
    if (!(error instanceof BridgeError) || error.code !== 'SERVER_NOT_FOUND' || error.hint === undefined) throw error;
    const message = `${error.message}, and none has connected under that name`;
    throw new BridgeError(error.code, message, { hint: error.hint, cause: error });
  }
}

/** The absolute path of a file. Throws if there is no such file. */
function fileOf(named: string, { cwd, homedir }: CliHost): string {
  const file = resolve(cwd, named.replace(/^~(?=\/)/, homedir));
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return file;
  throw new BridgeError('USAGE', `There is no file ${file}`, { hint: 'See --all-from.' });
}

function list(found: Survey, connected: readonly DialledInReport[], { json }: DecideValues, host: CliHost): number {
  const waiting = found.discovery.servers.filter(isWaiting);
  if (json === true) {
    const report = waiting.map((server) => serverReport(server, found));
    host.stdout.write(jsonText(report));
    return DONE;
  }
  const notes = waitingNotes(connected).map((note) => `${wrappedLines(`! ${note}`, { width: widthOf(host) })}\n`);
  if (waiting.length === 0 && notes.length === 0) {
    host.stdout.write('Nothing waits for approval.\n');
    return DONE;
  }
  const rows = waiting.map((server) => [
    handleOf(server, waiting),
    tilde(server.file, host),
    decidedBefore(server, found) === undefined ? 'new' : 'changed',
  ]);
  for (const note of notes) host.stdout.write(note);
  if (rows.length === 0) return DONE;
  host.stdout.write(table(['NAME', 'FILE', 'SINCE'], rows, { width: widthOf(host) }));
  host.stdout.write('\nTo see all of one, and to decide: mcp-bridge approve NAME, or mcp-bridge reject NAME\n');
  return DONE;
}

function view(server: DiscoveredServer, found: Survey, host: CliHost): string {
  const { lines, since, differences, replaces, warnings } = approvalView(server, found, host);
  const notes = [
    ...(since === undefined ? [] : [`Since ${since}:`, ...differences.map((line) => `  ${line}`)]),
    ...replaces.map((other) => `! It takes the place of ${other}`),
    ...warnings.map((warning) => `! ${warning}`),
  ].map((line) => `  ${tilde(line, host)}\n`);
  return `${printable(server.name)}\n${rendered(lines)}${notes.join('')}`;
}

/** Asks for agreement. Rejecting is safe, so it needs no question. */
async function agree(
  decision: Approval,
  handles: readonly string[],
  { yes }: DecideValues,
  host: CliHost,
): Promise<void> {
  if (decision === 'rejected' || yes === true) return;
  const what = handles.length === 1 ? 'Approve it?' : `Approve these ${handles.length}?`;
  if (!hasPerson(host))
    throw new BridgeError('REQUEST_REFUSED', 'Nothing was approved: there is no terminal to ask on', {
      hint: 'Having looked at it, add --yes.',
    });
  if (await confirm(what, host)) return;
  throw new BridgeError('REQUEST_REFUSED', 'Nothing was approved', {
    hint: `To be asked no more: mcp-bridge reject ${handles.join(' ')}`,
  });
}

function outcome(
  decision: Approval,
  handles: readonly string[],
  servers: readonly DiscoveredServer[],
  found: Survey,
  host: CliHost,
): string {
  const { discovery } = found.config.config;
  const inputs = decision === 'approved' ? servers.filter((server) => server.inputs.length > 0) : [];
  const lines = [
    `${decision === 'approved' ? 'Approved' : 'Rejected'}: ${handles.join(', ')}`,
    ...inputs.map(
      ({ name, inputs: needed }) =>
        `${name} still needs ${needed.join(', ')}. See: mcp-bridge discover --explain ${name}`,
    ),
    ...(discovery.isEnabled || servers.length === 0
      ? []
      : [`The daemon does not use it: discovery.enabled is false in ${found.config.file}`]),
  ];
  return lines.map((line) => `${printable(tilde(line, host))}\n`).join('');
}
