// `server/discover` for servers: the request that finds out if a server speaks 2026, and its result. The result is
// converted once to the form of an `initialize` result, so that readers of those work for both eras.

import { isRecord, membersOf } from '../util/json-value.ts';
import { skipSpace } from '../wire/json-grammar.ts';
import { findMembers, type Span } from '../wire/json-members.ts';
import { ERA_2026, SERVER_INFO } from './era-2026.ts';

export const DISCOVER = 'server/discover';

/** The version in each request of the bridge to a server of 2026. */
export const VERSION_2026: string = ERA_2026.versions[0] ?? '';

/** The bytes of the probe's id. It has no slash, which some servers would spell differently. */
export const PROBE_ID = '"mcp-bridge-discover"';
/** The id of the probe that confirms that a server is still in 2026. */
export const CONFIRMATION_ID = '"mcp-bridge-discover-2"';

/** True for the id of a probe. */
export function isProbeId(id: string | undefined): boolean {
  return id === PROBE_ID || id === CONFIRMATION_ID;
}

/** A server's answer to `server/discover`. */
export interface DiscoverAnswer {
  /** The versions that the server lists. */
  readonly versions: readonly string[];
  /** The original result, followed by a newline. */
  readonly discoverResult: Buffer;
  /** The same result in the form of `initialize`. */
  readonly initializeResult: Buffer;
}

/** Members that describe only this answer, or have another form in `initialize`. */
const OF_DISCOVER: ReadonlySet<string> = new Set([
  ...['resultType', 'ttlMs', 'cacheScope', 'supportedVersions'],
  ...['protocolVersion', 'capabilities', 'serverInfo', '_meta'],
]);

/**
 * Reads a result (an object followed by a newline); undefined if it is no DiscoverResult. Servers of 2025 may answer
 * every request with an empty object. `server` replaces a missing server name.
 */
export function readDiscovery(discoverResult: Buffer, server: string): DiscoverAnswer | undefined {
  const members = spansIn(discoverResult, skipSpace(discoverResult, 0));
  const listed = members?.get('supportedVersions');
  if (members === undefined || listed === undefined) return undefined;
  const versions: unknown = JSON.parse(textAt(discoverResult, listed));
  if (!isTextList(versions) || versions.length === 0) return undefined;
  return { versions, discoverResult, initializeResult: asInitializeResult(discoverResult, members, server) };
}

/** The versions in the `data` of the error -32022; undefined if it names none. */
export function supportedVersionsIn(error: unknown): readonly string[] | undefined {
  const { supported } = membersOf(membersOf(error).data);
  return isTextList(supported) && supported.length > 0 ? supported : undefined;
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

type Spans = ReadonlyMap<string, Span>;

/** The positions of all members of the object that opens at b[at]. */
function spansIn(b: Buffer, at: number): Spans | undefined {
  const names = findMembers(b, at, [])?.others;
  return names && findMembers(b, at, names)?.spans;
}

const textAt = (b: Buffer, { from, to }: Span): string => b.toString('utf8', from, to);

function asInitializeResult(b: Buffer, members: Spans, server: string): Buffer {
  const at = members.get('_meta');
  const meta: Spans = (at && spansIn(b, at.from)) ?? new Map();
  const texts = new Map([
    ['protocolVersion', JSON.stringify(VERSION_2026)],
    ['capabilities', objectAt(b, members.get('capabilities')) ?? '{}'],
    [
      'serverInfo',
      objectAt(b, meta.get(SERVER_INFO)) ??
        objectAt(b, members.get('serverInfo')) ??
        JSON.stringify({ name: server, version: '' }),
    ],
  ]);
  for (const [name, span] of members) if (!OF_DISCOVER.has(name)) texts.set(name, textAt(b, span));
  const others = [...meta]
    .filter(([name]) => name !== SERVER_INFO)
    .map(([name, span]) => [name, textAt(b, span)] as const);
  if (others.length > 0) texts.set('_meta', objectText(others));
  return Buffer.from(`${objectText(texts)}\n`);
}

function objectAt(b: Buffer, span: Span | undefined): string | undefined {
  const text = span && textAt(b, span);
  return text !== undefined && isRecord(JSON.parse(text)) ? text : undefined;
}

function objectText(members: Iterable<readonly [string, string]>): string {
  return `{${Array.from(members, ([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`;
}
