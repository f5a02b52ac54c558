// The definitions that `approve` and `reject` can decide about, selected by name.

import { BridgeError } from '../util/bridge-error.ts';
import { type Approval, definitionHash } from './approval.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import { handleOf, isNamed, named } from './selection.ts';
import type { Survey } from './survey.ts';

export interface Wish {
  /** Empty for all definitions in the file. */
  readonly names: readonly string[];
  readonly file: string | undefined;
  readonly decision: Approval;
}

export interface Candidates {
  readonly servers: readonly DiscoveredServer[];
  /** Remarks on names that need no decision. */
  readonly settled: readonly string[];
}

export const isWaiting = ({ state }: DiscoveredServer): boolean => state === 'pending-approval';

export function candidatesFor({ names, file, decision }: Wish, found: Survey): Candidates {
  const { servers } = found.discovery;
  const inFile =
    file === undefined ? servers : servers.filter((server) => [server.file, server.realpath].includes(file));
  if (names.length === 0) return allOf(inFile.filter(isWaiting), file ?? '');
  const chosen = names.map((name) => candidatesNamed(name, inFile, decision, found));
  return {
    servers: [...new Set(chosen.flatMap((candidates) => candidates.servers))],
    settled: [...new Set(chosen.flatMap((candidates) => candidates.settled))],
  };
}

function allOf(servers: readonly DiscoveredServer[], file: string): Candidates {
  return { servers, settled: servers.length === 0 ? [`Nothing in ${file} waits for approval.`] : [] };
}

function candidatesNamed(
  name: string,
  servers: readonly DiscoveredServer[],
  decision: Approval,
  found: Survey,
): Candidates {
  const matching = named(servers, name);
  const open = matching.filter((server) => isOpen(server, decision, found));
  const [first] = open;
  if (first === undefined)
    return { servers: [], settled: matching.map((server) => settledAs(server, decision, found)) };
  // The same definition in files of several clients is one question, although each needs its own answer.
  if (new Set(open.map((server) => definitionHash({ ...server, client: '' }))).size > 1) throw ambiguous(name, open);
  return { servers: open, settled: [] };
}

/** True for a definition that waits, or that was decided differently here. */
function isOpen(server: DiscoveredServer, decision: Approval, { approvals }: Survey): boolean {
  const before = approvals.get(definitionHash(server));
  return before === undefined ? isWaiting(server) : before !== decision;
}

function settledAs(server: DiscoveredServer, decision: Approval, found: Survey): string {
  const { approvals } = found;
  const { client, name, state, reason, file } = server;
  const handle = `${client}:${name}`;
  if (approvals.get(definitionHash(server)) === decision) return `${handle} in ${file} is ${decision} already.`;
  if (state === 'rejected') return `${handle} in ${file} was rejected in its own client, and has to be approved there.`;
  if (state === 'ready') return `${handle} in ${file} needs no approval here.`;
  const other = state === 'duplicate' ? standsFor(server, found) : undefined;
  if (other !== undefined) return `${handle} in ${file} is the same as ${stateOf(other, decision, found)}`;
  return `${handle} in ${file} waits for no approval. It is ${state}: ${reason}.`;
}

/** The equal definition that is used instead. */
export function standsFor(
  { file, client, name }: DiscoveredServer,
  { discovery }: Survey,
): DiscoveredServer | undefined {
  return discovery.servers.find(
    ({ state, sources }) =>
      state !== 'duplicate' &&
      sources.some((source) => source.file === file && source.client === client && source.name === name),
  );
}

function stateOf(other: DiscoveredServer, decision: Approval, { approvals }: Survey): string {
  const handle = `${other.client}:${other.name}`;
  const which = `${handle} in ${other.file}, which stands for it`;
  const before = approvals.get(definitionHash(other));
  if (before === decision) return `${which} and is ${decision} already.`;
  if (before !== undefined || isWaiting(other))
    return `${which}. Decide about that one: mcp-bridge ${decision === 'approved' ? 'approve' : 'reject'} ${handle}`;
  return `${which} and needs no approval here.`;
}

function ambiguous(name: string, servers: readonly DiscoveredServer[]): BridgeError {
  const handles = servers.map((server) => handleOf(server, servers));
  const isClear = servers.every((_, i) => servers.filter((other) => isNamed(other, handles[i] ?? '')).length === 1);
  const listed = servers.map(({ file }, i) => `${handles[i]} in ${file}`).join('; ');
  return new BridgeError('USAGE', `Several definitions are called ${name}: ${listed}`, {
    hint: isClear ? `Name one: ${handles.join(' or ')}` : 'Name the file of one too, with --all-from FILE.',
  });
}
