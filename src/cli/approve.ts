// `mcp-bridge approve` and `reject`: a person decides about definitions that came with a project, having seen all of
// what would be started. Scripts decide with --yes.

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Approval, definitionHash } from '../discovery/approval.ts';
import type { DiscoveredServer } from '../discovery/discovered-server.ts';
import { differencesIn } from '../discovery/launch-difference.ts';
import { replacedBy } from '../discovery/precedence.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { candidatesFor, isWaiting } from './candidates.ts';
import { definitionLines, differenceLines, rendered, warningsOf } from './definition-view.ts';
import { serverReport } from './discovery-report.ts';
import { DONE } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { jsonText } from './json-output.ts';
import { handleOf } from './selection.ts';
import { type Survey, type SurveyValues, survey } from './survey.ts';
import { printable, table } from './table.ts';
import { confirm, hasPerson, tilde, widthOf } from './terminal.ts';

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
  found.approvalFile.read(); // to a file that cannot be understood nothing is added
  for (const failure of found.failures) host.stderr.write(`mcp-bridge: ${printable(failure)}\n`);
  const file = values['all-from'] === undefined ? undefined : fileOf(values['all-from'], host);
  const names = values.names ?? [];
  if (names.length === 0 && file === undefined) return list(found, values, host);
  if (values.json === true)
    throw new BridgeError('USAGE', '--json is for the list of what waits', { hint: 'Leave the names out.' });
  const { servers, settled } = candidatesFor({ names, file, decision }, found);
  for (const sentence of settled) host.stdout.write(`${printable(tilde(sentence, host))}\n`);
  if (servers.length === 0) return DONE;
  for (const server of servers) host.stdout.write(`${view(server, found, host)}\n`);
  await agree(decision, servers, values, host);
  await found.approvalFile.decide(servers, decision, new Date());
  host.stdout.write(outcome(decision, servers, found, host));
  return DONE;
}

/** As it is named, and where it really is. */
function fileOf(named: string, { cwd, homedir }: CliHost): string {
  const file = resolve(cwd, named.replace(/^~(?=\/)/, homedir));
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return file;
  throw new BridgeError('USAGE', `There is no file ${file}`, { hint: 'See --all-from.' });
}

function list(found: Survey, { json }: DecideValues, host: CliHost): number {
  const waiting = found.discovery.servers.filter(isWaiting);
  if (json === true) {
    const report = waiting.map((server) => serverReport(server, found));
    host.stdout.write(jsonText(report));
    return DONE;
  }
  if (waiting.length === 0) {
    host.stdout.write('Nothing waits for approval.\n');
    return DONE;
  }
  const rows = waiting.map((server) => [
    handleOf(server, waiting),
    tilde(server.file, host),
    changeSince(server, found) === undefined ? 'new' : 'changed',
  ]);
  host.stdout.write(table(['NAME', 'FILE', 'SINCE'], rows, { width: widthOf(host) }));
  host.stdout.write('\nTo see all of one, and to decide: mcp-bridge approve NAME, or mcp-bridge reject NAME\n');
  return DONE;
}

function changeSince(server: DiscoveredServer, { approvals }: Survey) {
  const hash = definitionHash(server);
  return approvals.decisionOn(hash) === undefined ? approvals.lastBefore(hash, server) : undefined;
}

function view(server: DiscoveredServer, found: Survey, host: CliHost): string {
  const before = changeSince(server, found);
  const changes =
    before === undefined
      ? []
      : [
          `Since it was ${before.decision} on ${before.at.slice(0, 10)}:`,
          ...differenceLines(differencesIn(server, before.launch)).map((line) => `  ${line}`),
        ];
  const replaced = replacedBy(server, found.discovery.servers).map(
    ({ client, name, file }) => `! It takes the place of ${printable(`${client}:${name} in ${file}`)}`,
  );
  const warnings = warningsOf(server).map((warning) => `! ${printable(warning)}`);
  const notes = [...changes, ...replaced, ...warnings].map((line) => `  ${tilde(line, host)}\n`);
  return `${printable(server.name)}\n${rendered(definitionLines(server, host))}${notes.join('')}`;
}

/** To reject is safe, and needs nobody's yes. */
async function agree(
  decision: Approval,
  servers: readonly DiscoveredServer[],
  { yes }: DecideValues,
  host: CliHost,
): Promise<void> {
  if (decision === 'rejected' || yes === true) return;
  const what = servers.length === 1 ? 'Approve it?' : `Approve these ${servers.length}?`;
  if (!hasPerson(host))
    throw new BridgeError('REQUEST_REFUSED', 'Nothing was approved: there is no terminal to ask on', {
      hint: 'Having looked at it, add --yes.',
    });
  if (await confirm(what, host)) return;
  throw new BridgeError('REQUEST_REFUSED', 'Nothing was approved', {
    hint: `To be asked no more: mcp-bridge reject ${servers.map(({ client, name }) => `${client}:${name}`).join(' ')}`,
  });
}

function outcome(decision: Approval, servers: readonly DiscoveredServer[], found: Survey, host: CliHost): string {
  const names = servers.map(({ client, name }) => `${client}:${name}`).join(', ');
  const { discovery } = found.config.config;
  const inputs = decision === 'approved' ? servers.filter((server) => server.inputs.length > 0) : [];
  const lines = [
    `${decision === 'approved' ? 'Approved' : 'Rejected'}: ${names}`,
    ...inputs.map(
      ({ name, inputs: needed }) =>
        `${name} still needs ${needed.join(', ')}. See: mcp-bridge discover --explain ${name}`,
    ),
    ...(discovery.isEnabled ? [] : [`The daemon does not use it: discovery.enabled is false in ${found.config.file}`]),
  ];
  return lines.map((line) => `${printable(tilde(line, host))}\n`).join('');
}
