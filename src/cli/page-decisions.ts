// Decisions that a person makes on the dashboard: `ui/inbox`, `ui/approve`, `ui/reject`, `ui/synonym`. A decision
// carries the digest of what was shown; if that differs by now, nothing is decided. The page server says whether a page
// may decide.

import { createHash } from 'node:crypto';
import { ControlClient, type DialledInReport, type StatusReport } from '../client/control-client.ts';
import type { Approval } from '../discovery/approval.ts';
import { isWaiting } from '../discovery/candidates.ts';
import type { DiscoveredServer } from '../discovery/discovered-server.ts';
import type { Survey } from '../discovery/survey.ts';
import { addSynonyms } from '../editing/own-synonyms.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { isRecord, textOf } from '../util/json-value.ts';
import { checkDecidable, decideDialIns, dialledIn } from './commands/dialled-in.ts';
import { editingHostOf } from './editing.ts';
import type { CliHost } from './host.ts';
import { locate } from './locate.ts';
import { type ApprovalView, approvalView, digestOfView } from './render/approval-view.ts';
import { askIfRunning, reloadIfRunning } from './running-daemon.ts';
import { type SurveyValues, survey } from './survey.ts';

type Params = Readonly<Record<string, unknown>>;
export type PageMethods = Readonly<Record<string, (params: Params) => Promise<object>>>;

/** The methods for one page server. */
export function pageDecisions(values: SurveyValues, host: CliHost): PageMethods {
  return {
    'ui/inbox': () => inbox(values, host),
    'ui/approve': (params) => decide('approved', params, values, host),
    'ui/reject': (params) => decide('rejected', params, values, host),
    'ui/synonym': (params) => makeSynonym(params, values, host),
  };
}

// --- waiting decisions ---

async function inbox(values: SurveyValues, host: CliHost): Promise<object> {
  const found = await survey(values, host);
  const daemon = await askedDaemon(values, host);
  return {
    approvals: found.discovery.servers.filter(isWaiting).map((server) => approvalOf(server, found, host)),
    dialledIn: daemon.dialledIn
      .filter(({ state }) => state === 'waiting')
      .map((one) => ({ ...one, digest: digestOf(one) })),
    ...daemon.others,
    failures: found.failures,
  };
}

/** Longer definitions are not shown on a page, and cannot be approved there. */
const MOST_ON_PAGE = 200_000;

function fitsPage({ lines, differences, replaces, warnings }: ApprovalView): boolean {
  const texts = [...lines.flat(), ...differences, ...replaces, ...warnings];
  return texts.reduce((sum, text) => sum + text.length, 0) <= MOST_ON_PAGE;
}

/** The lines of a definition; null if it is too long, because nobody would see its end. */
function approvalOf(server: DiscoveredServer, found: Survey, host: CliHost): object {
  const { id, name, client, scope, file } = server;
  const view = approvalView(server, found, host);
  const nothing = { lines: null, differences: [], replaces: [], warnings: [] };
  const { lines, differences, replaces, warnings } = fitsPage(view) ? view : nothing;
  const since = view.since === undefined ? 'new' : 'changed';
  const shown = { lines, differences, replaces, warnings, decidedBefore: view.since ?? null };
  return { id, name, client, scope, file, since, ...shown, digest: digestOfView(server, view) };
}

/** The digest of a server that has connected by itself: its name and its program's description of itself. */
function digestOf({ name, program, version }: DialledInReport): string {
  return createHash('sha256')
    .update(JSON.stringify([name, program, version]))
    .digest('hex');
}

const NO_DAEMON = { dialledIn: [], others: { changes: [], signIns: [], inputs: {}, questions: [] } };

/** Lists the decisions that the daemon waits for; empty if no daemon runs. */
async function askedDaemon(
  values: SurveyValues,
  host: CliHost,
): Promise<{ readonly dialledIn: readonly DialledInReport[]; readonly others: object }> {
  const { path } = await locate(values, host);
  let client: ControlClient | undefined;
  try {
    client = await ControlClient.open(path, host.version);
    const cwd = host.cwd;
    const status = await client.call('bridge/status', { cwd });
    const { servers: changes } = await client.call('bridge/changes', { cwd });
    const { questions } = await client.call('bridge/questions');
    const others = { changes, signIns: signInsIn(status), inputs: status.missingInputs ?? {}, questions };
    return { dialledIn: status.dialledIn, others };
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    return NO_DAEMON;
  } finally {
    client?.close();
  }
}

const SIGN_IN_CODES = ['SERVER_AUTH_REQUIRED', 'AUTH_FAILED'];

function signInsIn({ instances }: StatusReport): object[] {
  const wanted = instances.filter(({ errorCode }) => errorCode !== null && SIGN_IN_CODES.includes(errorCode));
  const byServer = new Map(wanted.map(({ server, lastError }) => [server, lastError ?? '']));
  return [...byServer].map(([server, message]) => ({ server, message, command: `mcp-bridge auth ${server}` }));
}

// --- decisions ---

/** An item that was shown, with its digest. */
interface Shown {
  readonly key: string;
  readonly digest: string;
}

async function decide(decision: Approval, params: Params, values: SurveyValues, host: CliHost): Promise<object> {
  const definitions = shownIn(params.definitions, 'id');
  const callers = shownIn(params.servers, 'name');
  if (definitions.length + callers.length === 0)
    throw new BridgeError('USAGE', 'Nothing is named that could be decided about');
  const done = [
    ...(definitions.length > 0 ? await decideDefinitions(decision, definitions, values, host) : []),
    ...(callers.length > 0 ? await decideCallers(decision, callers, values, host) : []),
  ];
  if (done.length > 0) await reloadIfRunning(values, host);
  const others = [...definitions, ...callers].map(({ key }) => key).filter((key) => !done.includes(key));
  return { decided: done, others };
}

/** Decides about the items that would still look the same now; returns their keys. */
async function decideDefinitions(
  decision: Approval,
  shown: readonly Shown[],
  values: SurveyValues,
  host: CliHost,
): Promise<string[]> {
  const found = await survey(values, host);
  found.approvalFile.read(); // throws if the file cannot be parsed: then nothing is added to it
  const same = found.discovery.servers.filter((server) => {
    const digest = shown.find(({ key }) => key === server.id)?.digest;
    if (digest === undefined || !isWaiting(server)) return false;
    const view = approvalView(server, found, host);
    if (digest !== digestOfView(server, view)) return false;
    if (decision === 'approved' && !fitsPage(view)) throw tooLong(server.name);
    return true;
  });
  if (same.length > 0) await found.approvalFile.decide(same, decision, new Date());
  return same.map(({ id }) => id);
}

function tooLong(name: string): BridgeError {
  return new BridgeError('REQUEST_REFUSED', `${name} is too long to be shown on a page, so it is not approved there`, {
    hint: `See all of it in a terminal: mcp-bridge approve ${name}`,
  });
}

async function decideCallers(
  decision: Approval,
  shown: readonly Shown[],
  values: SurveyValues,
  host: CliHost,
): Promise<string[]> {
  const daemon = await dialledIn(values, host);
  const same = daemon.dialledIn.filter(
    (one) => one.state === 'waiting' && shown.some(({ key, digest }) => key === one.name && digest === digestOf(one)),
  );
  checkDecidable(same, decision, daemon);
  await decideDialIns(same, decision, host);
  return same.map(({ name }) => name);
}

function shownIn(value: unknown, keyName: 'id' | 'name'): Shown[] {
  const records = Array.isArray(value) ? value.filter(isRecord) : [];
  return records
    .map((one) => ({ key: textOf(one[keyName]), digest: textOf(one.digest) }))
    .filter(({ key, digest }) => key !== '' && digest !== '');
}

/** `applies` is false if the daemon uses another config file than the changed one. */
async function makeSynonym({ word, means }: Params, values: SurveyValues, host: CliHost): Promise<object> {
  const words = [textOf(word), ...(Array.isArray(means) ? means.map(textOf) : [])];
  const { file, isChanged } = await addSynonyms(words, { config: values.config }, editingHostOf(host));
  if (isChanged) await reloadIfRunning(values, host);
  const { path } = await locate(values, host);
  const status = await askIfRunning(path, host, (client) => client.call('bridge/status'));
  return { file, changed: isChanged, applies: status === undefined ? null : status.configFile === file };
}
