// The entry of a server in a registry: the server's own words, checked, and the identity of its process.

import { identityOf } from '../local/process-identity.ts';
import { isPid } from '../local/registered-server.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { parsedUrl } from '../util/parsed-url.ts';

/** The part of an entry that the server supplies. */
export interface ServerInfo {
  readonly name: string;
  /** The process that it lives and dies with; this process by default. */
  readonly pid?: number | undefined;
  /** The URL at which it takes requests, over HTTP or a WebSocket. */
  readonly url?: string | undefined;
  /** The address that it listens on, if the URL does not say it. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** The path of a Unix socket that it listens on. */
  readonly socket?: string | undefined;
  /** True if it also speaks on stdin and stdout. */
  readonly isOnStdio?: boolean | undefined;
  readonly cwd?: string | undefined;
  /** As a text, any form that JavaScript reads. */
  readonly startedAt?: Date | string | undefined;
  /** Its capabilities in words for other programs: `tools`, `resources`, the name of a skill. */
  readonly capabilities?: readonly string[] | undefined;
  /** The number of requests that it has answered. */
  readonly requestCount?: number | undefined;
  /** The time when it was last seen to work. */
  readonly heartbeatAt?: Date | string | undefined;
  readonly instanceId?: string | undefined;
  /** More members for the entry. They never replace members of the format. */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
}

export interface OwnProcess {
  readonly pid: number;
  readonly cwd: string;
}

export interface RegistryEntry {
  readonly id: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

const LONGEST_NAME = 200;
const SCHEMES = ['http:', 'https:', 'ws:', 'wss:'];

/** Makes the entry. Throws a BridgeError if nobody could use it. */
export function entryOf(info: ServerInfo, own: OwnProcess): RegistryEntry {
  const { name, pid = own.pid, socket, instanceId, startedAt = new Date(), heartbeatAt, cwd = own.cwd } = info;
  const identity = identityOf(checkedPid(pid));
  const entry = {
    ...info.extra,
    name: checkedName(name),
    pid,
    stdio_active: info.isOnStdio === true,
    http: httpOf(info),
    started_at: timeOf(startedAt),
    cwd,
    ...given({ socket, instanceId }),
    ...given({ capabilities: capabilitiesOf(info), request_count: countOf(info) }),
    ...(heartbeatAt !== undefined && { last_heartbeat: timeOf(heartbeatAt) }),
    ...given(identity),
  };
  return { id: idOf(name, pid), entry };
}

export function idOf(name: unknown, pid: unknown): string {
  return `${isText(name) ? name : ''}_${typeof pid === 'number' ? pid : ''}`;
}

function given(members: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** The time to the second, as other programs write it. */
function timeOf(given: unknown): string {
  const time = given instanceof Date ? given : new Date(typeof given === 'string' ? given : Number.NaN);
  if (Number.isNaN(time.getTime()))
    throw refusal('This is no time', 'It is a Date, or a text such as 2026-10-27T15:41:59Z.');
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}

function capabilitiesOf({ capabilities }: ServerInfo): readonly string[] | undefined {
  if (capabilities === undefined || (Array.isArray(capabilities) && capabilities.every(isText))) return capabilities;
  throw refusal('These are no capabilities', 'They are a list of texts.');
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function countOf({ requestCount }: ServerInfo): number | undefined {
  if (requestCount === undefined || (Number.isSafeInteger(requestCount) && requestCount >= 0)) return requestCount;
  throw refusal(`${String(requestCount)} is no number of requests`, 'It is a whole number from 0 up.');
}

function httpOf({ url, host, port }: ServerInfo): Record<string, unknown> {
  if (url === undefined && port === undefined) return { enabled: false };
  if (port !== undefined && (!Number.isInteger(port) || port < 1 || port > 65_535))
    throw refusal(`${port} is no port`, 'It is a number from 1 to 65535.');
  const known = checkedUrl(url ?? `http://localhost:${port}`);
  const usualPort = ['https:', 'wss:'].includes(known.protocol) ? 443 : 80;
  return {
    enabled: true,
    host: host ?? known.hostname,
    port: port ?? (known.port === '' ? usualPort : Number(known.port)),
    url: url ?? known.origin,
    ...(known.protocol.startsWith('ws') && { transport: 'ws' }),
  };
}

function checkedUrl(text: string): URL {
  const url = parsedUrl(text);
  if (url === undefined) throw refusal(`${shown(text)} is no URL`, 'It looks like this: http://localhost:3000/mcp');
  if (SCHEMES.includes(url.protocol)) return url;
  throw refusal(`${shown(text)} is no URL of a server`, 'It begins with http://, https://, ws:// or wss://.');
}

/** Removes possible secrets from a text, which may be a URL. */
function shown(text: string): string {
  return text.replace(/^(.*?\/\/)?.*@/s, '$1***@').replace(/[?#].*/s, '?***');
}

function checkedName(name: unknown): string {
  if (typeof name === 'string' && name !== '' && name.length <= LONGEST_NAME && !/\p{Cc}/u.test(name)) return name;
  const hint = `It is a text of at most ${LONGEST_NAME} characters, without line breaks.`;
  throw refusal('This is no name for a server', hint);
}

function checkedPid(pid: unknown): number {
  if (isPid(pid)) return pid;
  throw refusal(`${String(pid)} is no pid`, 'It is the number of the process that the server lives in.');
}

function refusal(message: string, hint: string): BridgeError {
  return new BridgeError('USAGE', message, { hint });
}
