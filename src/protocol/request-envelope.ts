// The `_meta` members by which a request of 2026 says who asks: their text, and their positions.

import { Field } from '../wire/envelope.ts';
import { ERA_2026, REQUEST_MEMBERS } from './era-2026.ts';
import type { ClientCapabilities } from './initialize.ts';

const keyOf = (field: Field): string => REQUEST_MEMBERS.find((member) => member.field === field)?.key ?? '';

/** The keys of these members. */
export const ENVELOPE_KEYS: readonly string[] = REQUEST_MEMBERS.map(({ key }) => key);
/** The fields of these members in a scanned request of 2026. */
export const ENVELOPE_FIELDS: readonly Field[] = REQUEST_MEMBERS.map(({ field }) => field);
/** The bridge's own `_meta` members, which no server gets. */
export const BRIDGE_KEYS: readonly string[] = ['mcp-bridge/view', 'mcp-bridge/clientId', 'mcp-bridge/cwd'];
export const BRIDGE_FIELDS: readonly Field[] = [Field.bridgeView, Field.bridgeClientId, Field.bridgeCwd];

/**
 * The maximum bytes of `clientInfo` in each request. A longer one is reduced to names and version, because icons may be
 * whole pictures.
 */
const MOST_INFO_BYTES = 1024;

interface Requester {
  /** Undefined if the client does not describe itself in the expected form. */
  readonly clientInfo: object | undefined;
  readonly capabilities: ClientCapabilities;
}

/** The members for a requester, as JSON in latin1 without braces. The log level is not included. */
export function requestEnvelopeOf({ clientInfo, capabilities }: Requester): string {
  const members = [
    memberOf(Field.protocolVersion, ERA_2026.versions[0]),
    ...(clientInfo === undefined ? [] : [memberOf(Field.clientInfo, shortInfo(clientInfo))]),
    memberOf(Field.clientCapabilities, capabilitiesOfRequest(capabilities)),
  ];
  return members.join();
}

/** The member by which a request asks for logs of this level, as JSON in latin1. */
export function logLevelMember(level: string): string {
  return memberOf(Field.logLevel, level);
}

function memberOf(field: Field, value: unknown): string {
  return Buffer.from(`${JSON.stringify(keyOf(field))}:${JSON.stringify(value)}`).toString('latin1');
}

function shortInfo(clientInfo: object): object {
  if (Buffer.byteLength(JSON.stringify(clientInfo)) <= MOST_INFO_BYTES) return clientInfo;
  const { name, title, version } = clientInfo as { name?: unknown; title?: unknown; version?: unknown };
  return { name: cut(name), title: cut(title), version: cut(version) };
}

function cut(text: unknown): string | undefined {
  return typeof text === 'string' ? text.slice(0, 256) : undefined;
}

/** 2026 has no tasks in its core, and no notice of changed roots. */
function capabilitiesOfRequest({ tasks: _, roots, ...others }: ClientCapabilities): object {
  if (roots === undefined) return others;
  const { listChanged: __, ...more } = roots as { listChanged?: unknown };
  return { roots: more, ...others };
}
