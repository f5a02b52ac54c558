// `mcp-bridge doctor`: shows which bridge this program would use and why, whether it runs, and how to repair what is
// wrong. It changes nothing, and starts servers only if told to.

import { existsSync } from 'node:fs';
import { openBridgeSocket } from '../../client/bridge-socket.ts';
import { ControlClient, type StatusReport } from '../../client/control-client.ts';
import { compareVersions } from '../../client/daemon-build.ts';
import { ToolClient } from '../../client/tool-client.ts';
import { configFilesOf } from '../../config/config-file.ts';
import { isWaiting } from '../../discovery/candidates.ts';
import { ownUid, statOf } from '../../local/owned-path.ts';
import { DEFAULT_SOCKET, inspectSocket } from '../../local/socket-path.ts';
import { BridgeError, messageOf } from '../../util/bridge-error.ts';
import { textOf } from '../../util/json-value.ts';
import { DONE, FAILED } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { configWarning, type LocatedConfig, locateOptions, locateWhole, type WhereValues } from '../locate.ts';
import { coloursOf } from '../render/colour.ts';
import { pendingNotes } from '../render/status-view.ts';
import { counted, jsonText, printable } from '../render/table.ts';
import { widthOf, wrappedLines } from '../render/terminal.ts';
import { ask, recordsIn } from '../tool-session.ts';
import {
  bypassFindings,
  directoryFindings,
  type Finding,
  failedFindings,
  leftoverFindings,
  logFindings,
  note,
  ok,
  startFindings,
  wrong,
} from './doctor-findings.ts';
import { hostFindings } from './doctor-hosts.ts';

type Level = Finding['level'];

/** A place that could have set a value; listed by precedence. */
interface Candidate {
  readonly source: string;
  /** The value set there; null if none. */
  readonly value: string | null;
  readonly counts: boolean;
}

interface Report {
  readonly socket: { readonly path: string | null; readonly candidates: readonly Candidate[] };
  readonly config: { readonly file: string | null; readonly candidates: readonly Candidate[] };
  readonly clientId: { readonly id: string | null; readonly candidates: readonly Candidate[] };
  readonly findings: readonly Finding[];
}

export type DoctorValues = WhereValues & { readonly json?: boolean | undefined; readonly start?: boolean | undefined };

export async function doctor(values: DoctorValues, host: CliHost): Promise<number> {
  const report = await examine(values, host);
  host.stdout.write(values.json === true ? jsonText(report) : reportText(report, host));
  return report.findings.some(({ level }) => level === 'wrong') ? FAILED : DONE;
}

async function examine(values: DoctorValues, host: CliHost): Promise<Report> {
  let located: LocatedConfig;
  try {
    located = await locateWhole(locateOptions(values, host));
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    const nothing = { candidates: [] };
    const finding = wrong('socket', error.message, error.hint ?? null);
    return {
      socket: { path: null, ...nothing },
      config: { file: null, ...nothing },
      clientId: { id: null, ...nothing },
      findings: [finding],
    };
  }
  const { path, loaded, clientId } = located;
  const inTheWay = obstacleAt(path);
  const findings = [
    ...configFindings(located),
    ...directoryFindings(host),
    ...logFindings(host),
    ...(await discoveryFindings(located, values, host)),
    ...(inTheWay === undefined ? socketFindings(path) : [inTheWay]),
    // If no daemon can be there, nothing more can be said.
    ...(inTheWay === undefined ? await daemonFindings(located, values, host) : []),
    ...leftoverFindings(host),
  ];
  return {
    socket: { path, candidates: socketCandidates(located, values, host) },
    config: { file: loaded.file ?? null, candidates: configCandidates(located, values, host) },
    clientId: { id: clientId ?? null, candidates: idCandidates(located, values, host) },
    findings,
  };
}

// --- where values come from ---

function socketCandidates(
  { source, path, loaded }: LocatedConfig,
  values: DoctorValues,
  { environment }: CliHost,
): Candidate[] {
  const said = (from: string, value: string | undefined, counts: boolean): Candidate => ({
    source: from,
    value: value || null,
    counts,
  });
  const isFallback = source === 'fallback';
  return [
    said('--mcp-bridge-socket', values['mcp-bridge-socket'], source === 'flag'),
    said('MCP_BRIDGE_SOCKET', environment.MCP_BRIDGE_SOCKET, source === 'environment'),
    said('mcpBridge.socketPath of the config file', loaded.config.socketPath, source === 'config'),
    said('the default', DEFAULT_SOCKET, source === 'default'),
    ...(isFallback ? [said('your own, because another user has the default', path, true)] : []),
  ];
}

function configCandidates({ loaded }: LocatedConfig, values: DoctorValues, host: CliHost): Candidate[] {
  const place = {
    named: values.config,
    cwd: host.cwd,
    homedir: host.homedir,
    xdgConfigHome: host.environment.XDG_CONFIG_HOME,
  };
  return configFilesOf(place).map((file) => ({
    source: file,
    value: existsSync(file) ? 'is there' : null,
    counts: file === loaded.file,
  }));
}

function idCandidates(
  { clientId, loaded }: LocatedConfig,
  values: DoctorValues,
  { environment }: CliHost,
): Candidate[] {
  const candidates = [
    ['--mcp-client-id', values['mcp-client-id']],
    ['MCP_CLIENT_ID', environment.MCP_CLIENT_ID],
    ['client.id of the config file', loaded.config.clientId],
  ] as const;
  const first = candidates.findIndex(([, value]) => Boolean(value));
  return [
    ...candidates.map(([source, value], i) => ({ source, value: value || null, counts: i === first })),
    { source: 'the daemon makes one up', value: null, counts: clientId === undefined },
  ];
}

// --- findings ---

function configFindings({ loaded, configError }: LocatedConfig): Finding[] {
  if (configError !== undefined) return [wrong('config', configError.message, configWarning(configError).hint ?? null)];
  if (loaded.file === undefined) return [ok('config', 'There is no config file; the defaults hold')];
  if (loaded.faults.length === 0) return [ok('config', `${loaded.file} has no faults`)];
  return loaded.faults.map((fault) => wrong('config', `${loaded.file}: ${fault}`, 'Correct the file.'));
}

/** Policy rules that match nothing, and definitions from the project that wait for approval. */
async function discoveryFindings({ loaded }: LocatedConfig, values: DoctorValues, host: CliHost): Promise<Finding[]> {
  const { survey } = await import('../survey.ts');
  const { discovery } = await survey(values, host);
  const isTold = (name = ''): boolean => loaded.faults.some((fault) => fault.startsWith(name));
  const idle = discovery.diagnostics.filter(
    ({ code, path, name }) => code === 'policy-rule' && !(path === loaded.file && isTold(name)),
  );
  const [waiting] = pendingNotes(discovery.servers.filter(isWaiting).length);
  return [
    ...idle.map(({ message }) =>
      wrong('policy', message.replace(/\.$/, ''), 'Write the rule otherwise, or take it out.'),
    ),
    ...(waiting === undefined ? [] : [note('approval', waiting, 'Until then they are not used.')]),
  ];
}

/** A file that blocks the socket's path and is no socket of ours; undefined if there is none. */
function obstacleAt(path: string): Finding | undefined {
  try {
    inspectSocket(path);
    return undefined;
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    const owner = error.code === 'SOCKET_FOREIGN' ? statOf(path)?.uid : undefined;
    const whose = owner !== undefined ? ` (uid ${owner}; you are ${ownUid()})` : '';
    return wrong('socket', `${error.message}${whose}`, error.hint ?? null);
  }
}

function socketFindings(path: string): Finding[] {
  const stat = statOf(path);
  if (stat === undefined) return [ok('socket', `There is no socket at ${path}, and nothing in its way`)];
  const mode = (stat.mode & 0o777).toString(8).padStart(3, '0');
  const shown = `The socket at ${path} is yours (uid ${stat.uid}), with mode ${mode}`;
  if (mode === '600') return [ok('socket', shown)];
  return [wrong('socket', `${shown}: others may use it`, 'Restart the daemon: mcp-bridge stop, then mcp-bridge start')];
}

async function daemonFindings(
  { path, autoConnect }: LocatedConfig,
  { start }: DoctorValues,
  host: CliHost,
): Promise<Finding[]> {
  let client: ControlClient;
  try {
    client = await ControlClient.open(path, host.version);
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    if (error.code !== 'DAEMON_NOT_RUNNING' || !autoConnect)
      return [wrong('daemon', error.message, error.hint ?? null)];
    const absent = note('daemon', `${error.message}; the first client starts it`, 'To have it now: mcp-bridge start');
    const notStarted = wrong('servers', 'Without a daemon no server can be started', 'First: mcp-bridge start');
    return start === true ? [absent, notStarted] : [absent];
  }
  try {
    const status = await client.call('bridge/status');
    const names = await serversHere(path, host);
    return [
      ...described(status, host),
      ...(await hostFindings(client)),
      ...(await bypassFindings(new Set(names), host)),
      ...(start === true ? await startFindings(names, client, host.cwd) : failedFindings(status.instances)),
    ];
  } catch (error) {
    return [wrong('daemon', messageOf(error), 'See mcp-bridge logs, or end it by its pid.')];
  } finally {
    client.close();
  }
}

/**
 * The names of this directory's servers. The daemon also has servers of other projects, which cannot be used from here.
 */
async function serversHere(path: string, host: CliHost): Promise<string[]> {
  const tools = await ToolClient.open(await openBridgeSocket(path), host);
  try {
    return recordsIn((await ask(tools, 'list_mcp_servers')).servers).map(({ name }) => textOf(name));
  } finally {
    await tools.close();
  }
}

function described(status: StatusReport & { readonly build?: string }, host: CliHost): Finding[] {
  const { pid, version, build = version, clients } = status;
  const answers = ok('daemon', `It answers: pid ${pid}, ${counted(clients, 'client')}, ${build}`);
  const difference = compareVersions(version, host.version);
  if (build === host.build) return [answers, ok('version', `Daemon and this program are the same build, ${build}`)];
  if (difference === 0)
    return [
      answers,
      note('version', `This program is another build, ${host.build}`, 'To use one for both: mcp-bridge restart'),
    ];
  const [which, remedy] =
    difference < 0 ? ['older', 'Replace it with: mcp-bridge restart'] : ['newer', 'Install this program again'];
  return [answers, wrong('version', `The daemon is ${which} (${version}) than this program (${host.version})`, remedy)];
}

// --- output ---

/** The indent of a finding's further lines. */
const INDENT = ' '.repeat(8);
const SIGNS: Readonly<Record<Level, string>> = { ok: 'ok   ', note: 'note ', wrong: 'WRONG' };

function reportText({ socket, config, clientId, findings }: Report, host: CliHost): string {
  const colours = coloursOf(host);
  const width = widthOf(host);
  const finding = ({ level, check, message, remedy }: Finding): string => {
    const sign = SIGNS[level];
    const text = `  ${sign} ${check}: ${message}${remedy === null ? '' : `. ${remedy}`}`;
    return wrappedLines(text, { width, indent: INDENT }).replace(sign, () => colours?.level(sign) ?? sign);
  };
  const part = (title: string, taken: string | null, candidates: readonly Candidate[]): string[] => [
    printable(`${title}: ${taken ?? 'none'}`),
    ...candidates.map(({ source, value, counts }) => printable(`  ${counts ? '>' : ' '} ${source}: ${value ?? '-'}`)),
  ];
  const lines = [
    ...part('Socket', socket.path, socket.candidates),
    ...part('Config', config.file, config.candidates),
    ...part('Client id', clientId.id, clientId.candidates),
    'Findings:',
    ...findings.map(finding),
  ];
  return lines.map((line) => `${line}\n`).join('');
}
