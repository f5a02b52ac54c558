// A daemon's refusal in words for people. It names commands instead of agents' tools; for a server that is not offered,
// it says if one exists anyway.

import type { DialledInReport } from '../client/control-client.ts';
import type { DiscoveredServer } from '../discovery/discovered-server.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import type { CliHost } from './host.ts';
import type { SurveyValues } from './survey.ts';

/** The data of the daemon's error; empty for other errors. */
export function factsOf(error: unknown): Readonly<Record<string, unknown>> {
  return membersOf(membersOf(membersOf(error).cause).data);
}

/** The stable code of the daemon's error; '' for other errors. */
export function daemonCodeOf(error: unknown): string {
  return textOf(factsOf(error).code);
}

function namesIn(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.map(textOf) : undefined;
}

export async function forPeople(
  error: unknown,
  { values, host }: { values: SurveyValues; host: CliHost },
): Promise<unknown> {
  if (!(error instanceof BridgeError) || error.hint === undefined) return error;
  const { code, message, cause } = error;
  const { server } = membersOf(membersOf(membersOf(cause).data).error);
  const told = (words: string): BridgeError => new BridgeError(code, message, { hint: words, cause });
  const refusal = daemonCodeOf(error);
  if (refusal === 'TOOL_CHANGED') return told(differenceOf(textOf(membersOf(membersOf(cause).data).server)));
  if (refusal === 'SERVER_NOT_FOUND') return absent(textOf(server), { error, values, host });
  const isLost = refusal === 'TOOL_NOT_FOUND' && namesIn(factsOf(error).near)?.length === 0;
  return isLost ? told(`See: mcp-bridge tools ${textOf(server)}`) : error;
}

/** The commands that show and accept a tool's changes. */
function differenceOf(server: string): string {
  return `To see the difference: mcp-bridge tools ${server} --changed; to accept it, the same with --accept.`;
}

interface Absence {
  /** The daemon's answer. */
  readonly error: BridgeError;
  readonly values: SurveyValues;
  readonly host: CliHost;
}

/** The error for a server that the daemon does not know: why it may not be used, or which servers exist. */
export async function absent(name: string, { error, values, host }: Absence): Promise<BridgeError> {
  const { code, message, cause } = error;
  const { survey } = await import('./survey.ts');
  const { isNamed } = await import('../discovery/selection.ts');
  const { discovery } = await survey(values, host);
  const unused = easiestToEnable(discovery.servers.filter((server) => isNamed(server, name)));
  if (unused !== undefined) return refusalOf(name, unused, cause);
  const connected = await connectedAs(name, { values, host, cause });
  if (connected !== undefined) return connected;
  const { elsewhereHint, hostsHere } = await import('./hosts-hint.ts');
  const elsewhere = name.includes('@') ? elsewhereHint(name, await hostsHere(values, host)) : undefined;
  if (elsewhere?.isAway === true) return new BridgeError(code, message, { hint: elsewhere.hint, cause });
  const { near, known, count } = { ...factsOf(error), ...error.facts };
  if (namesIn(near)?.length) return error;
  const listed = namesIn(known) ?? [];
  const isPart = typeof count === 'number' && count > listed.length;
  const names = listed.length > 0 ? [`There are: ${listed.join(', ')}${isPart ? ', …' : '.'}`] : [];
  if (elsewhere !== undefined) names.push(elsewhere.hint);
  return new BridgeError(code, message, { hint: names.join(' ') || 'See: mcp-bridge discover --all', cause });
}

/** The reason why a connected server of this name is not offered; undefined if none is connected. */
export async function connectedAs(
  name: string,
  { values, host, cause }: Pick<Absence, 'values' | 'host'> & { readonly cause: unknown },
): Promise<BridgeError | undefined> {
  const { dialledIn } = await import('./commands/dialled-in.ts');
  const { dialledIn: servers, configFile } = await dialledIn(values, host);
  const state = servers.find((server) => server.name === name)?.state;
  if (state === undefined) return undefined;
  const [words, hint] = wordsFor(state, { name, configFile: configFile ?? 'the config' });
  return new BridgeError('REQUEST_REFUSED', `Server ${name} ${words}`, { hint, cause });
}

function wordsFor(
  state: DialledInReport['state'],
  { name, configFile }: { name: string; configFile: string },
): [string, string] {
  switch (state) {
    case 'waiting':
      return ['has connected by itself, and waits for approval', `mcp-bridge approve ${name}`];
    case 'rejected':
      return ['has connected by itself, and was rejected', `To offer it after all: mcp-bridge approve ${name}`];
    case 'blocked':
      return ['has connected by itself, and is blocked by policy', `See policy in ${configFile}.`];
    case 'offered':
      return ['has connected by itself, and is offered', `See: mcp-bridge tools ${name}`];
  }
}

/** The definition that a person can most easily enable. */
function easiestToEnable(servers: readonly DiscoveredServer[]): DiscoveredServer | undefined {
  const unused = servers.filter(({ state }) => state !== 'ready');
  const inState = (wanted: DiscoveredServer['state']) => unused.find(({ state }) => state === wanted);
  return inState('pending-approval') ?? inState('blocked-by-policy') ?? unused[0];
}

function refusalOf(name: string, { state, reason }: DiscoveredServer, cause: unknown): BridgeError {
  const [words, hint] =
    state === 'pending-approval'
      ? ['waits for approval', `mcp-bridge approve ${name}`]
      : state === 'blocked-by-policy'
        ? ['is blocked by policy', `mcp-bridge policy explain ${name}`]
        : [`is not used: ${reason}`, `See: mcp-bridge discover --explain ${name}`];
  return new BridgeError('REQUEST_REFUSED', `Server ${name} ${words}`, { hint, cause });
}

/** An error as JSON for scripts, from the daemon or from this command. */
export function errorReport(error: unknown): object {
  const cause = error instanceof BridgeError ? error.cause : undefined;
  if (isRecord(cause) && typeof cause.code === 'number') {
    const { code, data } = cause;
    return { code, message: messageOf(error), data };
  }
  const { code, hint, server } = error instanceof BridgeError ? error : ({} as Partial<BridgeError>);
  return { code: code ?? 'FAILED', message: messageOf(error), data: { hint, server } };
}
