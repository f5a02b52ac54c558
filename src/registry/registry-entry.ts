// The entry of a server in a registry: what it says of itself, checked, and what tells its process from others.

import { identityOf } from '../local/process-identity.ts';
import { isPid } from '../local/registered-server.ts';
import { BridgeError } from '../util/bridge-error.ts';

/** What a server says of itself. */
export interface ServerInfo {
  readonly name: string;
  /** The process that it lives and dies with; else this one. */
  readonly pid?: number | undefined;
  /** Where it takes requests over HTTP. */
  readonly url?: string | undefined;
  /** The address that it listens on, where that is not what the URL says. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** The path of a Unix socket that it listens on. */
  readonly socket?: string | undefined;
  /** Whether it speaks on its stdin and stdout too. */
  readonly isOnStdio?: boolean | undefined;
  readonly cwd?: string | undefined;
  readonly startedAt?: Date | undefined;
  readonly instanceId?: string | undefined;
  /** More members for the entry; those that the format has already are not changed by it. */
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
const SCHEMES = ['http:', 'https:'];

/** Throws a BridgeError if nobody could use it. */
export function entryOf(info: ServerInfo, own: OwnProcess): RegistryEntry {
  const { name, pid = own.pid, socket, instanceId, startedAt = new Date(), cwd = own.cwd } = info;
  const identity = identityOf(checkedPid(pid));
  const entry = {
    ...info.extra,
    name: checkedName(name),
    pid,
    stdio_active: info.isOnStdio === true,
    http: httpOf(info),
    started_at: startedAt.toISOString().replace(/\.\d+Z$/, 'Z'),
    cwd,
    ...given({ socket, instanceId }),
    ...given(identity),
  };
  return { id: idOf(name, pid), entry };
}

export function idOf(name: string, pid: number): string {
  return `${name}_${pid}`;
}

function given(members: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function httpOf({ url, host, port }: ServerInfo): Record<string, unknown> {
  if (url === undefined && port === undefined) return { enabled: false };
  if (port !== undefined && (!Number.isInteger(port) || port < 1 || port > 65_535))
    throw refusal(`${port} is no port`, 'It is a number from 1 to 65535.');
  const known = checkedUrl(url ?? `http://localhost:${port}`);
  const usualPort = known.protocol === 'https:' ? 443 : 80;
  return {
    enabled: true,
    host: host ?? known.hostname,
    port: port ?? (known.port === '' ? usualPort : Number(known.port)),
    url: url ?? known.origin,
  };
}

function checkedUrl(text: string): URL {
  if (!URL.canParse(text)) throw refusal(`${shown(text)} is no URL`, 'It looks like this: http://localhost:3000/mcp');
  const url = new URL(text);
  if (SCHEMES.includes(url.protocol)) return url;
  throw refusal(`${shown(text)} is no URL of a server`, 'It begins with http:// or https://.');
}

/** Without what may be a secret in it, be it a URL or not. */
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
