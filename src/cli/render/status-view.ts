// The daemon's status for people: what runs, a line for each fault, and the table of connected clients.

import type { ClientReport, StatusReport } from '../../client/control-client.ts';
import type { CliHost } from '../host.ts';
import { counted, duration, printable, type TableStyle, table } from './table.ts';
import { tableStyle, tilde, wrappedLines } from './terminal.ts';

type InstanceReport = StatusReport['instances'][number];

const COLUMNS = ['STATE', 'PID', 'SESSIONS', 'CALLS', 'RESTARTS', 'MCP'];

export function statusText(report: StatusReport, style: TableStyle = {}): string {
  const { pid, version, socketPath, uptimeMs, clients, parked, suspended, configFile, instances } = report;
  const away = parked > 0 ? ` (${parked} of them away)` : '';
  const waiting = suspended > 0 ? `, calls that wait for their clients' answers: ${suspended}` : '';
  const head = `mcp-bridge ${version} at ${socketPath}, pid ${pid}, up ${duration(uptimeMs)}, clients: ${clients}${away}${waiting}`;
  const also = alsoColumn(instances);
  const rows = byServer(instances).map((i) => [
    i.server,
    ...also.of(i),
    shownState(i),
    `${i.pid ?? '-'}`,
    `${i.sessions}`,
    `${i.calls}`,
    `${i.restarts}`,
    shownVersion(i),
  ]);
  const shown = rows.length === 0 ? NO_SERVER : table(['SERVER', ...also.head, ...COLUMNS], rows, also.moved(style));
  const notes = notesOf(report).map((note) => `${wrappedLines(`! ${note}`, style)}\n`);
  const counters = `${countersText(report.counters)}${errorsText(report.errors)}`;
  return `${printable(head)}\nconfig: ${printable(configFile ?? 'none')}\n${auditLine(report)}${telemetryLine(report)}${counters}\n${shown}${answersText(report, style)}${notes.join('')}`;
}

/** Shorter answers cost a model little. */
const LARGE_BYTES = 10_000;
const MOST_LARGE = 5;

/** The tools with the most expensive answers, if there are large ones. An older daemon does not report them. */
function answersText({ answers = [] }: StatusReport, style: TableStyle): string {
  const large = answers.filter(({ largestBytes }) => largestBytes >= LARGE_BYTES).slice(0, MOST_LARGE);
  if (large.length === 0) return '';
  const rows = large.map((one) => [
    `${one.server}:${one.tool}`,
    `${one.answers}`,
    `${one.largestBytes}`,
    `${one.bytes}`,
    `${one.tokens}`,
    `${one.cut}`,
  ]);
  const head = ['LARGE ANSWERS OF', 'ANSWERS', 'LARGEST', 'BYTES', 'TOKENS (ABOUT)', 'CUT'];
  return `\n${table(head, rows, style)}To cut them: results.maxBytes\n`;
}

interface AlsoColumn {
  readonly head: readonly string[];
  readonly of: (instance: Partial<Pick<InstanceReport, 'alsoAs'>> | undefined) => string[];
  /** The style of a table that has the column in its second place. */
  readonly moved: (style: TableStyle) => TableStyle;
}

/** The column with other names of servers, where there are any: servers of other hosts may be called without their host. */
export function alsoColumn(instances: readonly Pick<InstanceReport, 'alsoAs'>[]): AlsoColumn {
  if (!instances.some(({ alsoAs }) => alsoAs !== undefined)) return { head: [], of: () => [], moved: (style) => style };
  return {
    head: ['ALSO AS'],
    of: (instance) => [instance?.alsoAs ?? '-'],
    moved: ({ paint, ...style }) =>
      paint === undefined ? style : { ...style, paint: { ...paint, column: paint.column + 1 } },
  };
}

/** Sorts by server; instances of the same server keep their order. */
function byServer(instances: readonly InstanceReport[]): InstanceReport[] {
  return instances.toSorted((a, b) => (a.server === b.server ? 0 : a.server < b.server ? -1 : 1));
}

const NO_SERVER = 'No server is known. What was found, and why it is not used: mcp-bridge discover --all\n';

/** Counters of ordinary work, which show no faults or limits. */
const ORDINARY: ReadonlySet<string> = new Set([
  ...['clientsAccepted', 'sessionsResumed', 'requests', 'responses', 'cancelled', 'messages', 'letters'],
  ...['serverStarts', 'serversDialledIn', 'idleStops'],
]);

function countersText(counters: StatusReport['counters']): string {
  const others = Object.entries(counters).filter(([name, count]) => count > 0 && !ORDINARY.has(name));
  return others.length === 0 ? '' : `counters: ${others.map(([name, count]) => `${name} ${count}`).join(', ')}\n`;
}

/** The error counts; an older daemon does not report them. */
function errorsText(errors: StatusReport['errors'] | undefined): string {
  const codes = Object.entries(errors ?? {}).map(([code, count]) => `${printable(code)} ${count}`);
  return codes.length === 0 ? '' : `errors answered: ${codes.join(', ')}\n`;
}

/** A line for everything that is wrong. */
export function notesOf(report: StatusReport): string[] {
  return [
    ...faultsOf(report),
    ...auditNotes(report),
    ...telemetryNotes(report),
    ...notesOn(report.instances),
    ...waitingNotes(report.dialledIn),
    ...pendingNotes(report.pendingApprovals),
    ...inputNotes(report.missingInputs),
  ];
}

/** The version of MCP that a server speaks; an older daemon does not report it. */
export function shownVersion({ protocolVersion }: Partial<Pick<InstanceReport, 'protocolVersion'>> = {}): string {
  return protocolVersion ?? '-';
}

/** The state of an instance, used in all outputs. */
export function shownState(instance: InstanceReport): string {
  return hasFailed(instance) ? 'failed' : instance.state;
}

/** True if an instance could not be started or has died, in each of its pauses, and as older daemons report it. */
function hasFailed({ state, lastError }: InstanceReport): boolean {
  return lastError !== null && ['failed', 'idle', 'waiting', 'broken'].includes(state);
}

function faultsOf({ configFile, configFaults, definitionFaults }: StatusReport): string[] {
  const inConfig = configFaults.map((fault) =>
    configFile === null || fault.includes(configFile) ? fault : `${configFile}: ${fault}`,
  );
  return [...new Set([...inConfig, ...definitionFaults])];
}

function auditLine({ audit }: StatusReport): string {
  return audit === null ? '' : `audit: ${printable(audit.file)}, lines since the start: ${audit.lines}\n`;
}

/** The addresses of traces and metrics. An older daemon does not report them. */
function telemetryLine({ telemetry }: StatusReport): string {
  if (telemetry === undefined) return '';
  if (telemetry === null) return 'telemetry: off\n';
  const { traces, metrics, sampling } = telemetry;
  const signals = [
    ...(traces === null ? [] : [`traces to ${traces.url} (${sampledText(sampling)})`]),
    ...(metrics === null ? [] : [`metrics to ${metrics.url}`]),
  ];
  return `telemetry: ${printable(signals.join(', ') || 'off')}\n`;
}

type Sampling = NonNullable<StatusReport['telemetry']>['sampling'];

function sampledText({ share, followsClients }: Sampling): string {
  const part = share === 1 ? 'all' : share === 0 ? 'none' : `${Number((share * 100).toPrecision(3))} %`;
  return followsClients ? `${part}, or as the client says` : part;
}

function telemetryNotes({ telemetry }: StatusReport): string[] {
  if (!telemetry) return [];
  const failures = (['traces', 'metrics'] as const).flatMap((signal) => {
    const failure = telemetry[signal]?.failure;
    return failure ? [`the collector does not take ${signal}: ${failure}`] : [];
  });
  return [...telemetry.faults, ...failures];
}

function auditNotes({ audit }: StatusReport): string[] {
  if (audit === null) return [];
  const { file, failure, refuses, lost } = audit;
  return [
    ...(failure === null ? [] : [`calls ${refuses ? 'are refused: they ' : ''}cannot be recorded: ${failure}`]),
    ...(lost === 0 ? [] : [`the audit log ${file} lacks ${counted(lost, 'call')}`]),
  ];
}

/** Notes on servers that have connected by themselves but are not approved yet. */
export function waitingNotes(dialledIn: StatusReport['dialledIn']): string[] {
  return dialledIn
    .filter(({ state }) => state === 'waiting')
    .map(
      ({ name, program, version }) =>
        `${name} (${`${program} ${version}`.trim()}) has connected as a server, and waits for: mcp-bridge approve ${name}`,
    );
}

/** Notes on inputs that servers need; an older daemon does not report them. */
function inputNotes(missing: StatusReport['missingInputs'] | undefined): string[] {
  return Object.entries(missing ?? {}).map(
    ([server, inputs]) => `${server} needs ${inputs.join(', ')}: mcp-bridge input set NAME`,
  );
}

/** A note on definitions that wait for approval; an older daemon does not report them. */
export function pendingNotes(count: number | null | undefined): string[] {
  if (!count) return [];
  return [`${count === 1 ? '1 definition waits' : `${count} definitions wait`} here for: mcp-bridge approve`];
}

/** One note per server, because a server that fails cannot have other notes. */
function notesOn(instances: readonly InstanceReport[]): Iterable<string> {
  const notes = new Map<string, string>();
  for (const { server, leftOut } of instances)
    if (leftOut) notes.set(server, `${server} has not said what it has, so lists of all servers are made without it`);
  for (const { server, state, lastError } of instances) {
    if (lastError === null || state === 'ready') continue;
    const pause = state === 'broken' ? '; it is broken: it dies each time, and is left alone for a while' : '';
    notes.set(server, `${lastError}${pause}`);
  }
  return notes.values();
}

const HEAD = ['CLIENT', 'PROGRAM', 'VIEW', 'STATE', 'CALLS', 'PID', 'MCP', 'SINCE', 'SERVERS', 'DIRECTORY'];
const STATE = HEAD.indexOf('STATE');
const NONE = '-';

export function clientTable(list: readonly ClientReport[], host: CliHost): string {
  const now = Date.now();
  // Most clients accept nothing from others, and a column of dashes would say nothing.
  const accept = list.some((client) => acceptedBy(client) !== NONE);
  const rows = list.toSorted(byId).map((client) => {
    const { clientId, name, version, view, state, inFlight, pid, connectedAt, servers, cwd } = client;
    return [
      ...[clientId || NONE, `${name} ${version}`.trim() || NONE, view || NONE, state, `${inFlight}`, `${pid ?? NONE}`],
      shownVersion(client),
      duration(Math.max(0, now - Date.parse(connectedAt))),
      (servers ?? []).join(', ') || NONE,
      cwd === null || cwd === undefined ? NONE : tilde(cwd, host),
      ...(accept ? [acceptedBy(client)] : []),
    ];
  });
  return table([...HEAD, ...(accept ? ['ACCEPTS'] : [])], rows, tableStyle(host, STATE));
}

const byId = (a: ClientReport, b: ClientReport): number => (a.clientId < b.clientId ? -1 : 1);

/** The methods that it accepts from other clients. */
function acceptedBy({ accepts, mailbox }: ClientReport): string {
  const methods = typeof accepts === 'boolean' ? (accepts ? ['everything'] : []) : accepts;
  return [...methods, ...(mailbox ? ['messages'] : [])].join(', ') || NONE;
}
