// `mcp-bridge discover`: every definition of a server that was found, where, and what became of it and why.

import { definitionHash } from '../discovery/approval.ts';
import type { DiscoveredServer, ServerState } from '../discovery/discovered-server.ts';
import { type Narrowed, ofClients } from './client-filter.ts';
import { reportOf } from './discovery-report.ts';
import { DONE } from './exit-code.ts';
import { explanation } from './explanation.ts';
import type { CliHost } from './host.ts';
import { named } from './selection.ts';
import { type Survey, type SurveyValues, survey } from './survey.ts';
import { printable, table } from './table.ts';
import { hasColours, tilde, widthOf } from './terminal.ts';

export interface DiscoverValues extends SurveyValues {
  readonly json?: boolean | undefined;
  readonly all?: boolean | undefined;
  /** Given once, or several times. */
  readonly client?: string | readonly string[] | undefined;
  readonly explain?: string | undefined;
}

export async function discover(values: DiscoverValues, host: CliHost): Promise<number> {
  const found = await survey(values, host);
  const clients = [values.client ?? []].flat();
  const selected: Survey | Narrowed = clients.length === 0 ? found : await ofClients(found, clients);
  if (values.explain !== undefined) return explain(values.explain, selected, values, host);
  if (values.json === true) return printJson(reportOf(selected), host);
  const isEmpty = selected.discovery.servers.length === 0;
  host.stdout.write(isEmpty ? nothing(selected, clients, host) : listing(selected, values, host));
  host.stdout.write(remarks(selected, values, host));
  return DONE;
}

function explain(name: string, found: Survey, values: DiscoverValues, host: CliHost): number {
  const servers = named(found.discovery.servers, name);
  if (values.json === true) return printJson(reportOf(found, servers), host);
  host.stdout.write(explanation(name, servers, found, host));
  return DONE;
}

function printJson(value: unknown, host: CliHost): number {
  host.stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
  return DONE;
}

/** What can be used first, then what waits for something. */
const ORDER: readonly ServerState[] = [
  ...(['ready', 'needs-input', 'pending-approval', 'not-configured', 'invalid', 'unsupported'] as const),
  ...(['rejected', 'blocked-by-policy', 'disabled', 'self', 'duplicate', 'shadowed'] as const),
];
const USUAL = new Set<ServerState>(['ready', 'needs-input', 'pending-approval', 'invalid', 'blocked-by-policy']);
const COLOURS: Readonly<Partial<Record<string, number>>> = {
  ready: 32,
  'pending-approval': 33,
  'needs-input': 33,
  invalid: 31,
  'blocked-by-policy': 31,
};
const OTHERS = 90;

function listing({ discovery: { servers }, approvals }: Survey, values: DiscoverValues, host: CliHost): string {
  const shown = servers
    .filter(({ state }) => values.all === true || USUAL.has(state))
    .sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || (a.id < b.id ? -1 : 1));
  if (shown.length === 0) return 'Nothing of what was found can be used.\n';
  const rows = shown.map((server) => [
    server.id,
    server.state,
    server.transport === 'unknown' ? '-' : server.transport,
    `${server.client} ${tilde(server.file, host)}`,
    whyOf(server, approvals, host),
  ]);
  const paint = { column: 1, with: (cell: string) => `\u001b[${COLOURS[cell] ?? OTHERS}m${cell}\u001b[0m` };
  const style = { width: widthOf(host), ...(hasColours(host) ? { paint } : {}) };
  return table(['NAME', 'STATE', 'TRANSPORT', 'FROM', 'WHY'], rows, style);
}

function whyOf(server: DiscoveredServer, approvals: Survey['approvals'], host: CliHost): string {
  const { state, reason, sources, client } = server;
  if (state === 'pending-approval') return sinceWhen(approvals.lastBefore(definitionHash(server), server));
  if (state !== 'ready') return tilde(reason ?? '', host);
  const others = [...new Set(sources.map((source) => source.client))].filter((other) => other !== client);
  return others.length === 0 ? '' : `also in ${others.join(', ')}`;
}

function sinceWhen(before: ReturnType<Survey['approvals']['lastBefore']>): string {
  if (before === undefined) return 'it comes with the project, and nobody has approved it';
  return `it has changed since it was ${before.decision} on ${before.at.slice(0, 10)}`;
}

function remarks(found: Survey, values: DiscoverValues, host: CliHost): string {
  const { servers, diagnostics, conflicts } = found.discovery;
  const hidden = values.all === true ? [] : servers.filter(({ state }) => !USUAL.has(state));
  const told = diagnostics.filter(({ level }) => values.all === true || level !== 'info');
  const waiting = servers.filter(({ state }) => state === 'pending-approval');
  const blocks = [
    conflicts.map(({ name, members }) => `${name} is the name of different servers: ${members.join(', ')}`),
    [...found.failures, ...told.map(({ message }) => message)].map((text) => `! ${text}`),
    [
      ...(hidden.length === 0 ? [] : [`Not shown: ${countsOf(hidden)}. See: mcp-bridge discover --all`]),
      ...(found.config.config.discovery.isEnabled ? [] : [disabled(found)]),
      ...(waiting.length === 0 ? [] : [nextStep(waiting)]),
    ],
  ].filter((block) => block.length > 0);
  return blocks.map((block) => `\n${block.map((line) => `${printable(tilde(line, host))}\n`).join('')}`).join('');
}

function countsOf(servers: readonly DiscoveredServer[]): string {
  const counts = ORDER.map((state) => [state, servers.filter((server) => server.state === state).length] as const);
  return counts
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`)
    .join(', ');
}

function disabled({ config }: Survey): string {
  return `The daemon uses none of these but its own: discovery.enabled is false in ${config.file}.`;
}

function nextStep(waiting: readonly DiscoveredServer[]): string {
  const [first] = waiting;
  if (waiting.length === 1) return `One waits for you. Look at it with: mcp-bridge approve ${first?.name}`;
  return `${waiting.length} wait for you. Look at one with: mcp-bridge approve ${first?.name}`;
}

function nothing(found: Survey | Narrowed, clients: readonly string[], host: CliHost): string {
  if ('files' in found) {
    const files = found.files.map((file) => `\n  ${file}`).join('');
    return `${tilde(`No server is defined for ${clients.join(', ')}. These files were looked for:${files}`, host)}\n`;
  }
  const places = found.cwd === host.homedir ? '~' : `~ and ${printable(tilde(found.cwd, host))}`;
  return (
    `No server is defined in the files of any client that is looked for in ${places}.\n` +
    'Which files that are is told in docs/discovery.md. To define one for all clients: mcp-bridge add\n'
  );
}
