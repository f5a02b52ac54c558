// Reads one entry of a registry of running servers. Any program may have written it.

import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { parsedUrl } from '../util/parsed-url.ts';
import type { ProcessIdentity } from './process-identity.ts';

export interface RegisteredServer {
  readonly name: string;
  readonly process: ProcessIdentity;
  /** The URL at which it takes HTTP requests; undefined if it takes none. */
  readonly url: string | undefined;
  /** The transport at that URL; undefined if the entry does not name a known one. */
  readonly transport: 'http' | 'sse' | 'ws' | undefined;
  /** The path of a socket that it listens on. */
  readonly socket: string | undefined;
  readonly isOnStdio: boolean;
  readonly cwd: string | undefined;
  readonly startedAt: string | undefined;
  /** Its capabilities, in its own words. */
  readonly capabilities: readonly string[];
  /** The number of requests that it claims to have answered. */
  readonly requestCount: number | undefined;
  readonly heartbeatAt: string | undefined;
}

const TRANSPORTS = ['http', 'sse', 'ws'] as const;

/**
 * Reads an entry. Undefined without a process and a name: then nobody can tell whose entry it is, or if its server
 * still runs.
 */
export function registeredServer(entry: unknown): RegisteredServer | undefined {
  if (!isRecord(entry)) return undefined;
  const process = processOf(entry);
  const name = textOf(entry.name);
  if (process === undefined || name === '') return undefined;
  const { capabilities, request_count: requestCount } = entry;
  const url = urlOf(entry.http);
  const isWebSocket = url !== undefined && /^wss?:/i.test(url);
  return {
    name,
    process,
    url,
    transport: isWebSocket ? 'ws' : TRANSPORTS.find((transport) => transport === membersOf(entry.http).transport),
    socket: textOf(entry.socket) || undefined,
    isOnStdio: entry.stdio_active === true,
    cwd: textOf(entry.cwd) || undefined,
    startedAt: textOf(entry.started_at) || undefined,
    capabilities: Array.isArray(capabilities) ? capabilities.filter((one) => typeof one === 'string') : [],
    requestCount: Number.isSafeInteger(requestCount) ? Number(requestCount) : undefined,
    heartbeatAt: textOf(entry.last_heartbeat) || undefined,
  };
}

/** The process of an entry; undefined if the entry does not say. */
export function processOf(entry: unknown): ProcessIdentity | undefined {
  const { pid, bootId, processStartTime, pidNamespace } = membersOf(entry);
  if (!isPid(pid)) return undefined;
  return {
    pid,
    bootId: textOf(bootId) || undefined,
    processStartTime: typeof processStartTime === 'number' ? processStartTime : undefined,
    pidNamespace: textOf(pidNamespace) || undefined,
  };
}

/** True for a pid. Zero and below mean groups of processes. */
export function isPid(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value < 2 ** 31;
}

/**
 * The names of "all addresses". Servers that listen on all of them say so; a program on this machine reaches them at
 * its own address.
 */
const EVERY_ADDRESS = new Set(['0.0.0.0', '[::]']);

function urlOf(http: unknown): string | undefined {
  const { enabled, host, port, url } = membersOf(http);
  if (enabled === false || !isRecord(http)) return undefined;
  const written = textOf(url) || fromParts(textOf(host), port);
  const parsed = written === undefined ? undefined : parsedUrl(written);
  if (parsed === undefined || !EVERY_ADDRESS.has(parsed.hostname)) return written;
  parsed.hostname = 'localhost';
  return parsed.href;
}

function fromParts(host: string, port: unknown): string | undefined {
  if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return `http://${name === '' || EVERY_ADDRESS.has(name) ? 'localhost' : name}:${port}`;
}

/** True if a URL leads to this machine, whatever names the network has. */
export function isLoopback(url: string): boolean {
  const host = parsedUrl(url)?.hostname.replace(/\.$/, '') ?? '';
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
