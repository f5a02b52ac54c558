// The entry of a host: what the host says about itself and offers. It comes from another host, or from a file, so it is
// checked and bounded. Parts that cannot be read are left out.

import { isHostName } from '../model/host-name.ts';
import type { ServerNature, Sharing } from '../model/server-definition.ts';
import { expectSyntaxError } from '../util/expected-error.ts';
import { isRecord } from '../util/json-value.ts';
import { PROTOCOL_VERSION } from './frames.ts';
import { isToken } from './subject.ts';

const ENTRY_VERSION = 1;
/** The maximum number of servers that one host may offer. */
const MOST_SERVERS = 2000;
export const MOST_ENTRY_BYTES = 512 * 1024;
/** The maximum size of all entries together that are kept for the next run of the daemon. */
const MOST_KEPT_BYTES = 4 * 1024 * 1024;
const MOST_NAME = 128;
const MOST_DESCRIPTION = 500;

export interface OfferedServer {
  readonly name: string;
  readonly description: string;
  /** Marks the definition, without showing any of its content. */
  readonly mark: string;
  readonly sharing: Sharing | undefined;
  readonly nature: ServerNature | undefined;
}

export interface HostEntry {
  readonly host: string;
  /** Names one run of the daemon there. */
  readonly run: string;
  readonly version: string;
  readonly servers: readonly OfferedServer[];
  /** True if its agents exchange messages with agents of some other hosts. */
  readonly hasAgents?: boolean;
}

export function encodeEntry(entry: HostEntry): Buffer {
  const { host, run, version, servers, hasAgents } = entry;
  const agents = hasAgents === true ? { agents: true } : {};
  return Buffer.from(
    JSON.stringify({ v: ENTRY_VERSION, host, run, version, era: PROTOCOL_VERSION, ...agents, servers }),
  );
}

/** Encodes the entries of several hosts for a file. If the file would be too large, the largest hosts are left out. */
export function encodeEntries(entries: readonly HostEntry[]): string {
  const texts = entries.map((entry) => encodeEntry(entry).toString()).toSorted((a, b) => a.length - b.length);
  let bytes = 0;
  const kept = texts.filter((text) => {
    bytes += text.length;
    return bytes <= MOST_KEPT_BYTES;
  });
  return `[${kept.join(',')}]`;
}

/** Decodes the entries in a file. An entry that cannot be read is left out. */
export function decodeEntries(text: string): HostEntry[] {
  if (text.length > 2 * MOST_KEPT_BYTES) return [];
  try {
    const read: unknown = JSON.parse(text);
    return (Array.isArray(read) ? read : []).flatMap((value: unknown) => {
      const entry = entryIn(value);
      return typeof entry === 'string' ? [] : entry;
    });
  } catch (error) {
    expectSyntaxError(error);
    return [];
  }
}

/** Reads an entry. Returns a text with the reason if it cannot be used. */
export function decodeEntry(value: Uint8Array): HostEntry | string {
  if (value.length > MOST_ENTRY_BYTES) return `its entry has more than ${MOST_ENTRY_BYTES} bytes`;
  try {
    return entryIn(JSON.parse(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()));
  } catch (error) {
    return `its entry cannot be read: ${error instanceof SyntaxError ? 'it is not JSON' : 'its text is too long'}`;
  }
}

/** Reads the entry in a JSON value. Returns a text with the reason if there is none. */
function entryIn(read: unknown): HostEntry | string {
  if (!isRecord(read) || read.v !== ENTRY_VERSION) return 'its entry is of another version';
  const { host, run, version, servers, era, agents } = read;
  if (typeof host !== 'string' || !isHostName(host)) return 'its entry has no name of a host';
  if (typeof run !== 'string' || !isToken(run) || run.length > 64) return 'its entry names no run of its daemon';
  if (era !== PROTOCOL_VERSION) return `it speaks ${String(era).slice(0, 32)} on the bus`;
  if (!Array.isArray(servers) || servers.length > MOST_SERVERS)
    return `it offers more than ${MOST_SERVERS} servers, or no list`;
  return {
    ...{ host, run, version: typeof version === 'string' ? version.slice(0, 64) : '' },
    servers: firstOfEach(servers.flatMap((server: unknown) => serverOf(server))),
    hasAgents: agents === true,
  };
}

/** Keeps the first offer of each name: a host may offer a name only once. */
function firstOfEach(servers: readonly OfferedServer[]): OfferedServer[] {
  const names = new Set<string>();
  return servers.filter(({ name }) => !names.has(name) && names.add(name));
}

/** Reads an offer; returns nothing if it cannot be read. */
function serverOf(server: unknown): OfferedServer[] {
  if (!isRecord(server)) return [];
  const { name, description, mark, sharing, nature } = server;
  if (typeof name !== 'string' || name === '' || name.length > MOST_NAME || /[\p{Cc}@]/u.test(name)) return [];
  if (typeof mark !== 'string' || !isToken(mark) || mark.length > 64) return [];
  const text = typeof description === 'string' ? description.slice(0, MOST_DESCRIPTION) : '';
  const isSharing = sharing === 'auto' || sharing === 'shared' || sharing === 'dedicated';
  return [{ name, description: text, mark, sharing: isSharing ? sharing : undefined, nature: natureOf(nature) }];
}

function natureOf(nature: unknown): ServerNature | undefined {
  if (!isRecord(nature)) return undefined;
  const { keepsState, losesWrites } = nature;
  return {
    ...(typeof keepsState === 'string' && { keepsState: keepsState.slice(0, MOST_DESCRIPTION) }),
    ...(typeof losesWrites === 'string' && { losesWrites: losesWrites.slice(0, MOST_DESCRIPTION) }),
  };
}

/** True for a server that keeps state for one client, or must not run twice: each copy of it is a different server. */
export function isBound({ sharing, nature }: Pick<OfferedServer, 'sharing' | 'nature'>): boolean {
  return sharing === 'dedicated' || nature?.keepsState !== undefined || nature?.losesWrites !== undefined;
}

export function isSameOffer(a: HostEntry, b: HostEntry): boolean {
  return JSON.stringify(a.servers) === JSON.stringify(b.servers);
}
