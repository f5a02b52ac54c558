// Reads the envelope of a request of 2026, and refuses missing or wrong members. Everything is checked here; nothing is
// left to a server.

import { isRecord } from '../util/json-value.ts';
import { isAt } from '../wire/byte-table.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import { CLIENT_ID_RULE, isClientId } from './client-id.ts';
import { MESSAGE_LEVELS } from './era.ts';
import { ERA_2026 } from './era-2026.ts';
import {
  type ClientInitialize,
  clientCapabilitiesIn,
  isDirectory,
  MOST_CAPABILITY_BYTES,
  pidOf,
} from './initialize.ts';
import { INVALID_PARAMS, rpcError } from './rpc-error.ts';

const [VERSION = ''] = ERA_2026.versions;
const VERSION_BYTES = Buffer.from(JSON.stringify(VERSION));

/** The maximum bytes of `clientInfo`, which is kept as long as its connection. */
const MOST_NAME_BYTES = 16_384;

const LEVELS: ReadonlySet<unknown> = new Set(MESSAGE_LEVELS);

/** The members that distinguish requests of different clients. */
export const REQUESTER_FIELDS: readonly Field[] = [
  Field.clientCapabilities,
  Field.clientInfo,
  Field.bridgeView,
  Field.bridgeClientId,
  Field.bridgeCwd,
];

/** `_meta` members that a connection sets for all its requests. A request may override them. */
export type RequesterDefaults = Readonly<Record<string, unknown>>;

/** The error for a request with another version than its era has; undefined if it is right. */
export function versionRefusal(b: Buffer, envelope: Envelope): string | undefined {
  if (!envelope.has(Field.protocolVersion))
    return rpcError(INVALID_PARAMS, `_meta["io.modelcontextprotocol/protocolVersion"] is missing`);
  const from = envelope.from(Field.protocolVersion);
  const length = envelope.to(Field.protocolVersion) - from;
  if (length === VERSION_BYTES.length && isAt(b, from, VERSION_BYTES)) return undefined;
  const requested = envelope.decode(b, Field.protocolVersion);
  if (requested === VERSION) return undefined;
  if (typeof requested !== 'string')
    return rpcError(INVALID_PARAMS, '_meta["io.modelcontextprotocol/protocolVersion"] is a string');
  return rpcError(ERA_2026.errors.unsupportedVersion ?? 0, `Unsupported protocol version: ${requested.slice(0, 64)}`, {
    supported: ERA_2026.versions,
    requested: requested.slice(0, 256),
  });
}

/** The error for an unknown log level; undefined if there is none. */
export function levelRefusal(b: Buffer, envelope: Envelope): string | undefined {
  if (!envelope.has(Field.logLevel) || LEVELS.has(envelope.decode(b, Field.logLevel))) return undefined;
  return rpcError(INVALID_PARAMS, `_meta["io.modelcontextprotocol/logLevel"] is one of ${MESSAGE_LEVELS.join(', ')}`);
}

/** Reads who asks; a string result is the error in JSON. */
export function readRequester(b: Buffer, envelope: Envelope, defaults: RequesterDefaults): ClientInitialize | string {
  const capabilities = envelope.decode(b, Field.clientCapabilities);
  if (capabilities === undefined) return wrong('clientCapabilities', 'is missing');
  if (!isRecord(capabilities)) return wrong('clientCapabilities', 'is an object');
  if (lengthOf(envelope, Field.clientCapabilities) > MOST_CAPABILITY_BYTES)
    return wrong('clientCapabilities', `has at most ${MOST_CAPABILITY_BYTES} bytes`);
  const info = envelope.decode(b, Field.clientInfo);
  if (info !== undefined && !isClientInfo(info)) return wrong('clientInfo', 'has a name and a version, both strings');
  if (lengthOf(envelope, Field.clientInfo) > MOST_NAME_BYTES)
    return wrong('clientInfo', `has at most ${MOST_NAME_BYTES} bytes`);
  const view = envelope.decode(b, Field.bridgeView) ?? defaults['mcp-bridge/view'];
  if (view !== undefined && typeof view !== 'string')
    return rpcError(INVALID_PARAMS, '_meta["mcp-bridge/view"] is a string');
  const clientId = envelope.decode(b, Field.bridgeClientId) ?? defaults['mcp-bridge/clientId'];
  if (clientId !== undefined && !isClientId(clientId))
    return rpcError(INVALID_PARAMS, `_meta["mcp-bridge/clientId"] is ${CLIENT_ID_RULE}`);
  const cwd = envelope.decode(b, Field.bridgeCwd) ?? defaults['mcp-bridge/cwd'];
  if (cwd !== undefined && !isDirectory(cwd))
    return rpcError(INVALID_PARAMS, '_meta["mcp-bridge/cwd"] is an absolute path');
  const program = defaults['mcp-bridge/client'];
  if (program !== undefined && !isClientId(program))
    return rpcError(INVALID_PARAMS, `_meta["mcp-bridge/client"] is ${CLIENT_ID_RULE}`);
  return {
    name: info?.name.slice(0, 256) ?? 'unknown',
    version: info?.version.slice(0, 256) ?? '',
    clientInfo: info,
    protocolVersion: VERSION,
    role: 'client',
    view,
    clientId,
    program,
    cwd,
    pid: pidOf(defaults['mcp-bridge/pid']),
    capabilities: clientCapabilitiesIn(capabilities),
    resume: undefined,
    accepted: [],
    wantsWholeResults: false,
    serverName: undefined,
  };
}

function lengthOf(envelope: Envelope, field: Field): number {
  return envelope.has(field) ? envelope.to(field) - envelope.from(field) : 0;
}

function wrong(member: string, rule: string): string {
  return rpcError(INVALID_PARAMS, `_meta["io.modelcontextprotocol/${member}"] ${rule}`);
}

function isClientInfo(info: unknown): info is { readonly name: string; readonly version: string } {
  return isRecord(info) && typeof info.name === 'string' && typeof info.version === 'string';
}
