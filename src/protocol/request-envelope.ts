// The members of `_meta` by which a request of the era without a handshake says who asks: their text, and the places where they stand.

import { Field } from '../wire/envelope.ts';
import { ERA_2026, REQUEST_MEMBERS } from './era-2026.ts';
import type { ClientCapabilities } from './initialize.ts';

const keyOf = (field: Field): string => REQUEST_MEMBERS.find((member) => member.field === field)?.key ?? '';

/** The keys of these members. */
export const ENVELOPE_KEYS: readonly string[] = REQUEST_MEMBERS.map(({ key }) => key);
/** The places of these members in a request that was scanned with the keys of its era. */
export const ENVELOPE_FIELDS: readonly Field[] = REQUEST_MEMBERS.map(({ field }) => field);
/** The bridge's own members of `_meta`, which no server gets. */
export const BRIDGE_KEYS: readonly string[] = ['mcp-bridge/view', 'mcp-bridge/clientId', 'mcp-bridge/cwd'];
export const BRIDGE_FIELDS: readonly Field[] = [Field.bridgeView, Field.bridgeClientId, Field.bridgeCwd];

/**
 * The longest `clientInfo` that goes along with each request, in bytes. Of a longer one only the names and the version do: icons in it
 * may be whole pictures.
 */
const MOST_INFO_BYTES = 1024;

interface Requester {
  /** Undefined if the client says nothing of itself that servers expect. */
  readonly clientInfo: object | undefined;
  readonly capabilities: ClientCapabilities;
}

/** The members for a requester, as JSON without braces, each character one byte. The level of its logs is not among them. */
export function requestEnvelopeOf({ clientInfo, capabilities }: Requester): string {
  const members = [
    memberOf(Field.protocolVersion, ERA_2026.versions[0]),
    ...(clientInfo === undefined ? [] : [memberOf(Field.clientInfo, shortInfo(clientInfo))]),
    memberOf(Field.clientCapabilities, capabilitiesOfRequest(capabilities)),
  ];
  return members.join();
}

/** The member by which a request asks for logs of this level, in the same form. */
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

/** The era has neither tasks in its core nor a notice that the roots have changed. */
function capabilitiesOfRequest({ tasks: _, roots, ...others }: ClientCapabilities): object {
  if (roots === undefined) return others;
  const { listChanged: __, ...more } = roots as { listChanged?: unknown };
  return { roots: more, ...others };
}
