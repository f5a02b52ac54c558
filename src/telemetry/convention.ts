// The names in OpenTelemetry's convention for MCP (docs/gen-ai/mcp.md of semantic-conventions-genai), and their values.
// The convention is a draft: if a name changes there, it must change here.

import type { ObservedClient, ObservedInstance } from '../core/events.ts';
import { parsedUrl } from '../util/parsed-url.ts';

export const Attribute = {
  method: 'mcp.method.name',
  protocolVersion: 'mcp.protocol.version',
  sessionId: 'mcp.session.id',
  resourceUri: 'mcp.resource.uri',
  tool: 'gen_ai.tool.name',
  prompt: 'gen_ai.prompt.name',
  operation: 'gen_ai.operation.name',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  requestId: 'jsonrpc.request.id',
  statusCode: 'rpc.response.status_code',
  errorType: 'error.type',
  transport: 'network.transport',
  protocolName: 'network.protocol.name',
  protocolNumber: 'network.protocol.version',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  // The bridge's own.
  bridgeServer: 'mcp_bridge.server',
  bridgeClient: 'mcp_bridge.client',
  bridgeView: 'mcp_bridge.view',
  bridgeError: 'mcp_bridge.error.code',
} as const;

/** The bucket bounds of all histograms, in seconds. */
export const DURATION_BOUNDS: readonly number[] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** The methods of requests in the protocol. Clients may invent others, which metrics do not distinguish. */
const METHODS: readonly string[] = [
  'completion/complete',
  'initialize',
  'logging/setLevel',
  'ping',
  'prompts/get',
  'prompts/list',
  'resources/list',
  'resources/read',
  'resources/subscribe',
  'resources/templates/list',
  'resources/unsubscribe',
  'server/discover',
  'subscriptions/listen',
  'tasks/cancel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'tools/call',
  'tools/list',
];

export const OTHER = '_OTHER';

/** A method as a request names it. */
export interface NamedMethod {
  readonly name: string;
  readonly isKnown: boolean;
  /** The attribute for the name in `params`, if the method has one. */
  readonly target: typeof Attribute.tool | typeof Attribute.prompt | undefined;
}

/** Keys are JSON spellings. */
const known = new Map<string, NamedMethod>(
  METHODS.map((name) => [JSON.stringify(name), { name, isKnown: true, target: targetOf(name) }]),
);

const LONGEST_NAME = 200;

/** The method that a frame names. */
export function methodIn(spelled: string): NamedMethod {
  const found = known.get(spelled);
  if (found !== undefined) return found;
  const name = decodedText(spelled);
  return known.get(JSON.stringify(name)) ?? { name: cut(name, LONGEST_NAME), isKnown: false, target: undefined };
}

function targetOf(method: string): NamedMethod['target'] {
  if (method === 'tools/call') return Attribute.tool;
  return method === 'prompts/get' ? Attribute.prompt : undefined;
}

/** Decodes a JSON text in latin1. A value that is no string stays as spelled. */
export function decodedText(spelled: string): string {
  const json = Buffer.from(spelled, 'latin1').toString();
  const value: unknown = JSON.parse(json);
  return typeof value === 'string' ? value : json;
}

/** One spelling for equal names, however a client spells them, because series are looked up by it. */
export function plainSpelling(spelled: string): string {
  if (!spelled.includes('\\') && spelled.length <= LONGEST_NAME) return spelled;
  return Buffer.from(JSON.stringify(targetIn(spelled))).toString('latin1');
}

/** The name of a tool or a prompt. */
export function targetIn(spelled: string): string {
  return cut(decodedText(spelled), LONGEST_NAME);
}

/** Cuts a text; half a surrogate pair is cut too. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
}

/** A URI without possible secrets: user and password, query, fragment. */
export function shownUri(uri: string): string {
  return uri.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1').replace(/[?#].*$/s, '');
}

export type Attributes = Record<string, string | number | boolean>;

/** The protocol over TCP, in the only version that the bridge speaks. */
const HTTP: Attributes = { [Attribute.protocolName]: 'http', [Attribute.protocolNumber]: '1.1' };
const WEB_SOCKET: Attributes = { [Attribute.protocolName]: 'websocket', [Attribute.protocolNumber]: '13' };

const OVER_HTTP: Attributes = { [Attribute.transport]: 'tcp', ...HTTP };
const OVER_SOCKET: Attributes = { [Attribute.transport]: 'unix' };

/** The network attributes of a client. */
export function clientNetwork({ principal }: ObservedClient): Attributes {
  return principal.kind === 'http' ? OVER_HTTP : OVER_SOCKET;
}

const networks = new WeakMap<ObservedInstance['reach'], Attributes>();

/** The network attributes of a server; only host and port of its URL. */
export function serverNetwork({ reach }: ObservedInstance): Attributes {
  const found = networks.get(reach) ?? networkOf(reach);
  networks.set(reach, found);
  return found;
}

function networkOf({ transport, url }: ObservedInstance['reach']): Attributes {
  if (transport === 'dial-in') return { [Attribute.transport]: 'unix' };
  if (transport === 'stdio' || url === undefined) return { [Attribute.transport]: 'pipe' };
  const { protocol, hostname, port } = parsedUrl(url) ?? { protocol: '', hostname: '', port: '' };
  const common = { [Attribute.transport]: 'tcp', ...(transport === 'ws' ? WEB_SOCKET : HTTP) };
  if (hostname === '') return common;
  const isSecure = protocol === 'https:' || protocol === 'wss:';
  return {
    ...common,
    [Attribute.serverAddress]: hostname.replace(/^\[(.*)\]$/, '$1'),
    [Attribute.serverPort]: port === '' ? (isSecure ? 443 : 80) : Number(port),
  };
}
