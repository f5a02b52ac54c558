// The client's side of the handshake: reads `initialize` in both its forms, and writes the answer from the server's
// own, changing only what must differ.

import { invariant } from '../util/invariant.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import { skipSpace } from '../wire/json-grammar.ts';
import { findMembers } from '../wire/json-members.ts';
import type { Outbox } from '../wire/outbox.ts';
import type { Splice } from '../wire/splice.ts';
import { type AcceptedMethods, readAccepted } from './accepted-methods.ts';
import { CLIENT_ID_RULE, isClientId } from './client-id.ts';
import type { QuestionKind } from './era.ts';
import { isServerName, SERVER_NAME_RULE } from './inbound-server.ts';
import { BATCH_VERSION, LATEST_PROTOCOL_VERSION, negotiateVersion } from './versions.ts';

export type ClientRole = 'client' | 'server' | 'control';

export interface ClientInitialize {
  readonly name: string;
  readonly version: string;
  /** The client's full description of itself, if it has the form that servers expect. */
  readonly clientInfo: object | undefined;
  /** The protocol version to answer with. */
  readonly protocolVersion: string;
  readonly role: ClientRole;
  readonly view: string | undefined;
  readonly clientId: string | undefined;
  /** The client program, from its config; undefined if not given. */
  readonly program: string | undefined;
  /** The absolute directory that it works in; undefined if not given. */
  readonly cwd: string | undefined;
  /** Its process id if it gives one, else that of `connect` or the library; nothing may depend on it. */
  readonly pid: number | undefined;
  /** The capabilities to offer to servers. */
  readonly capabilities: ClientCapabilities;
  /** `can` if the client can resume a session, or the session to resume; undefined if it cannot. */
  readonly resume: 'can' | ResumeRequest | undefined;
  /** The methods that it accepts from other clients. */
  readonly accepted: AcceptedMethods;
  /** True if its results are never cut, because no model reads them. */
  readonly wantsWholeResults: boolean;
  /** The name that a server wants if it connects by itself. */
  readonly serverName: string | undefined;
}

/** A request to continue a session; `received` counts the bytes that arrived. */
export interface ResumeRequest {
  readonly token: string;
  readonly received: number;
}

/** Capabilities that may decide what a server shows. */
type Negotiated = 'extensions' | 'experimental' | 'tasks';

/** The client's capabilities for servers, as the client wrote them. */
export type ClientCapabilities = Readonly<Partial<Record<QuestionKind | Negotiated, object>>>;

const NEGOTIATED: readonly Negotiated[] = ['extensions', 'experimental', 'tasks'];
const OFFERABLE: readonly (keyof ClientCapabilities)[] = ['roots', 'sampling', 'elicitation', ...NEGOTIATED];

/**
 * The maximum length of capabilities in JSON, far more than real ones. They are compared with every instance's, kept
 * with a server's knowledge, and saved: megabytes of them blocked the daemon for seconds per server.
 */
export const MOST_CAPABILITY_BYTES = 16_384;

/** At most as long as file systems allow. */
const CWD = /^\/[^\0]{0,4095}$/;

export function isDirectory(value: unknown): value is string {
  return typeof value === 'string' && CWD.test(value);
}

/** Reads the `params` of an `initialize`; a string result says what is wrong. */
export function readClientInitialize(params: unknown): ClientInitialize | string {
  if (!isRecord(params)) return 'initialize needs params, an object';
  const meta = isRecord(params._meta) ? params._meta : {};
  const info = isRecord(params.clientInfo) ? params.clientInfo : {};
  const role = meta['mcp-bridge/role'] ?? 'client';
  if (role !== 'client' && role !== 'server' && role !== 'control')
    return '_meta["mcp-bridge/role"] is one of "client", "server", "control"';
  const clientId = meta['mcp-bridge/clientId'];
  if (clientId !== undefined && !isClientId(clientId)) return `_meta["mcp-bridge/clientId"] is ${CLIENT_ID_RULE}`;
  const program = meta['mcp-bridge/client'];
  if (program !== undefined && !isClientId(program)) return `_meta["mcp-bridge/client"] is ${CLIENT_ID_RULE}`;
  const view = meta['mcp-bridge/view'];
  if (view !== undefined && typeof view !== 'string') return '_meta["mcp-bridge/view"] is a string';
  const cwd = meta['mcp-bridge/cwd'];
  if (cwd !== undefined && !isDirectory(cwd)) return '_meta["mcp-bridge/cwd"] is an absolute path';
  const resume = resumeOf(meta['mcp-bridge/resume']);
  if (resume === 'malformed') return '_meta["mcp-bridge/resume"] is true, or {"token": TEXT, "received": BYTES}';
  const accepted = readAccepted(meta['mcp-bridge/accepts']);
  if (accepted === undefined)
    return '_meta["mcp-bridge/accepts"] is true, false, or a list of at most 64 methods, such as "review/*"';
  const results = meta['mcp-bridge/results'];
  if (results !== undefined && results !== 'whole') return '_meta["mcp-bridge/results"] is "whole"';
  const serverName = meta['mcp-bridge/serverName'] ?? (role === 'server' ? info.name : undefined);
  if (role === 'server' && !isServerName(serverName))
    return `_meta["mcp-bridge/serverName"], else clientInfo.name, is the server's name: ${SERVER_NAME_RULE}`;
  const capabilities = clientCapabilitiesIn(params.capabilities);
  if (canonicalOf(capabilities).length > MOST_CAPABILITY_BYTES)
    return `capabilities are longer than ${MOST_CAPABILITY_BYTES} characters`;
  const asked = params.protocolVersion;
  return {
    name: textOr(info.name, 'unknown'),
    version: textOr(info.version, ''),
    clientInfo: typeof info.name === 'string' && typeof info.version === 'string' ? info : undefined,
    protocolVersion: typeof asked === 'string' ? negotiateVersion(asked) : LATEST_PROTOCOL_VERSION,
    role,
    view,
    clientId,
    program,
    cwd,
    pid: pidOf(params.processId) ?? pidOf(meta['mcp-bridge/pid']),
    capabilities,
    resume: role === 'client' ? resume : undefined, // other roles start a new session
    accepted,
    wantsWholeResults: results === 'whole',
    serverName: role === 'server' && typeof serverName === 'string' ? serverName : undefined,
  };
}

export function pidOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

function resumeOf(value: unknown): ClientInitialize['resume'] | 'malformed' {
  if (value === undefined || value === false) return undefined;
  if (value === true) return 'can';
  if (!isRecord(value)) return 'malformed';
  const { token, received } = value;
  const isCount = typeof received === 'number' && Number.isSafeInteger(received) && received >= 0;
  return typeof token === 'string' && isCount ? { token, received } : 'malformed';
}

export interface BridgeAnswer {
  readonly protocolVersion: string;
  /** The bridge's version. */
  readonly version: string;
  /** Capabilities besides passing messages. */
  readonly capabilities?: object;
  readonly instructions?: string | undefined;
  readonly meta: object;
}

/** The bridge's own answer, where it does not speak for a single server. */
export function bridgeInitializeResult({
  protocolVersion,
  version,
  capabilities,
  instructions,
  meta,
}: BridgeAnswer): string {
  return JSON.stringify({
    protocolVersion,
    capabilities: { ...capabilities, supportsMessageRouting: true },
    serverInfo: { name: 'mcp-bridge-server', version, protocols: ['mcp/1.0'] },
    instructions,
    _meta: meta,
  });
}

/** True if a server's answer (an object followed by a newline) agrees on the version with batches. */
export function settlesOnBatches(result: Buffer): boolean {
  const version = findMembers(result, skipSpace(result, 0), ['protocolVersion'])?.spans.get('protocolVersion');
  return version !== undefined && JSON.parse(result.toString('utf8', version.from, version.to)) === BATCH_VERSION;
}

/** Writes the server's answer (an object followed by a newline) for one client. `meta` is ASCII. */
export function writeInitializeResult(
  outbox: Outbox,
  splice: Splice,
  answer: { result: Buffer; protocolVersion: string; meta: object },
): void {
  const { result } = answer;
  const start = skipSpace(result, 0);
  const members = findMembers(result, start, ['protocolVersion', '_meta']);
  invariant(members !== undefined, "a server's answer to initialize is an object");
  splice.clear();
  const version = members.spans.get('protocolVersion');
  if (version !== undefined) splice.replace(version.from, version.to, JSON.stringify(answer.protocolVersion));
  const ours = JSON.stringify(answer.meta);
  const meta = members.spans.get('_meta');
  const theirs = meta === undefined ? undefined : findMembers(result, meta.from, []);
  if (meta === undefined) splice.replace(members.close, members.close, `${members.isEmpty ? '' : ','}"_meta":${ours}`);
  else if (theirs === undefined) splice.replace(meta.from, meta.to, ours);
  else splice.replace(theirs.close, theirs.close, `${theirs.isEmpty ? '' : ','}${ours.slice(1, -1)}`);
  splice.write(outbox, result, start, result.length - 1);
}

export function clientCapabilitiesIn(capabilities: unknown): ClientCapabilities {
  if (!isRecord(capabilities)) return {};
  return Object.fromEntries(
    OFFERABLE.flatMap((role) => (isRecord(capabilities[role]) ? [[role, offerOf(role, capabilities[role])]] : [])),
  );
}

/** The bridge itself reports changed roots to servers, so clients that declare no `listChanged` offer it too. */
function offerOf(role: keyof ClientCapabilities, capability: object): object {
  if (role === 'tasks') return withoutList(capability);
  return role === 'roots' ? { ...capability, listChanged: true } : capability;
}

/** On a shared connection a list of tasks would mix clients, so it is not offered; single tasks are. */
function withoutList(tasks: object): object {
  return Object.fromEntries(Object.entries(tasks).filter(([key]) => key !== 'list'));
}

/** The capabilities in a server's answer to `initialize`. */
export function capabilitiesOf(initializeResult: Buffer): Readonly<Record<string, unknown>> {
  const { capabilities } = readInitializeResult(initializeResult);
  return isRecord(capabilities) ? capabilities : {};
}

export function instructionsOf(initializeResult: Buffer): string {
  const { instructions } = readInitializeResult(initializeResult);
  return typeof instructions === 'string' ? instructions : '';
}

/** The server's name, version and description. */
export function serverInfoOf(initializeResult: Buffer): Readonly<Record<string, unknown>> {
  return membersOf(readInitializeResult(initializeResult).serverInfo);
}

function readInitializeResult(initializeResult: Buffer): Record<string, unknown> {
  const content: unknown = JSON.parse(initializeResult.toString());
  return isRecord(content) ? content : {};
}

/** True if `started` includes all of `capabilities`, with details. */
export function capabilitiesCover(started: ClientCapabilities, capabilities: ClientCapabilities): boolean {
  return sameCapabilities(started, capabilities) || contains(started, capabilities);
}

/** True if both agree in the capabilities that decide what a server shows. */
export function sameNegotiated(a: ClientCapabilities, b: ClientCapabilities): boolean {
  return NEGOTIATED.every((key) => canonicalOf(a[key] ?? NOTHING) === canonicalOf(b[key] ?? NOTHING));
}

export function sameCapabilities(a: ClientCapabilities, b: ClientCapabilities): boolean {
  return canonicalOf(a) === canonicalOf(b);
}

const NOTHING = {};
/** Cached, because offers never change and are compared often. */
const canonical = new WeakMap<object, string>();

/** A damaged file may contain anything instead of capabilities. */
function canonicalOf(capabilities: unknown): string {
  if (!isRecord(capabilities)) return canonicalText(capabilities);
  const known = canonical.get(capabilities) ?? canonicalText(capabilities);
  canonical.set(capabilities, known);
  return known;
}

/** A text that is equal for objects that differ only in key order. */
function canonicalText(value: unknown): string {
  if (!isRecord(value)) return JSON.stringify(value) ?? '';
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonicalText(value[key])}`).join()}}`;
}

function contains(whole: unknown, part: unknown): boolean {
  if (!isRecord(part)) return JSON.stringify(whole) === JSON.stringify(part);
  return isRecord(whole) && Object.entries(part).every(([key, value]) => contains(whole[key], value));
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value.slice(0, 256) : otherwise;
}
