// Turns a server of a client's config into an entry of the bridge's own config. Environment variables and inputs stay
// references, so no secret is copied. Places that only the client knows are filled in, as in discovery. A server that
// the bridge's config cannot express is refused, with the reason.

import { Reader } from '../config/reader.ts';
import { serverOf } from '../config/server-schema.ts';
import { argsForClients, keptForClients } from '../discovery/client-place.ts';
import { traitsOf } from '../discovery/client-traits.ts';
import type { DiscoveredServer } from '../discovery/discovered-server.ts';
import { isMarked, isMistakable, unmarked } from '../discovery/inputs.ts';
import { namesFile } from '../discovery/text-variables.ts';
import { mapTexts, type Tree, treeAt, treeOf } from '../discovery/tree.ts';
import { nearest } from '../util/nearest.ts';

export type OwnEntry =
  | {
      readonly kind: 'entry';
      readonly entry: Tree;
      /** The client's own variables that were replaced by their current values. */
      readonly filled: readonly string[];
    }
  | { readonly kind: 'impossible'; readonly reason: string };

/** Makes the entry. With `keepsFilter`, the caller ensures that the client's lists of tools still apply. */
export function ownEntryOf(server: DiscoveredServer, keepsFilter = false): OwnEntry {
  const { allow, deny } = server.tools;
  const isFiltered = deny.length > 0 || (allow !== undefined && !allow.includes('*'));
  if (isFiltered && !keepsFilter)
    return impossible('it offers only some of its tools, which would hold for this client alone');
  const source = secondSource(server);
  if (source !== undefined) return impossible(source);
  const fields = server.transport === 'stdio' ? processFields(server) : remoteFields(server);
  if (fields === undefined) return impossible('it has a text in its headers that the bridge would take for a variable');
  if (textsIn(fields).some(isMistakable))
    return impossible('it has a text that the bridge would take for an input or a variable');
  const oauth = oauthFields(server.oauth);
  if (oauth === undefined) return impossible('its OAuth settings cannot be said in the config of the bridge');
  const { description, timeoutMs, startupTimeoutMs } = server;
  const entry = withoutGaps({
    ...treeAt(mapTexts(fields, unmarked)),
    oauth: Object.keys(oauth).length === 0 ? undefined : oauth,
    description: description === '' ? undefined : description,
    timeoutMs: wholeMs(timeoutMs),
    startTimeoutMs: wholeMs(startupTimeoutMs),
  });
  const fault = faultOf(server.name, entry);
  return fault === undefined ? { kind: 'entry', entry, filled: filledIn(server, entry) } : impossible(fault);
}

/**
 * The reason if values stand in a file that only the client reads: the bridge cannot refer to it, and copies no
 * secrets.
 */
function secondSource({ envFile, raw }: DiscoveredServer): string | undefined {
  if (envFile !== undefined) return `its variables stand in ${envFile}, which the config of the bridge cannot name`;
  return namesFile(raw) ? 'it has a value from a file, which the config of the bridge cannot name' : undefined;
}

function wholeMs(ms: number | undefined): number | undefined {
  return ms === undefined || ms < 1 ? undefined : Math.round(ms);
}

/**
 * The variables that were replaced by values. Environment variables stay references; a home directory does not count as
 * a variable.
 */
function filledIn({ raw, command, args, env, url, headers, scope }: DiscoveredServer, entry: Tree): string[] {
  const written = treeAt(entry, 'headers') ?? {};
  const pairs = [
    [raw.command, command],
    [raw.url, url],
    ...raw.args.map((arg, i) => [arg, keptForClients(arg, args[i] ?? '', scope)]),
    ...Object.entries(raw.env).map(([name, text]) => [text, keptForClients(text, env[name] ?? '', scope)]),
    ...Object.entries(raw.headers).map(([name, text]) => [
      text,
      written[name] === headers[name] ? headers[name] : text,
    ]),
  ];
  const changed = pairs.flatMap(([before, after]) =>
    before === undefined || after === undefined || before === unmarked(after) ? [] : [{ before, after }],
  );
  // An input is written as a reference, whatever its client calls it.
  return [...new Set(changed.flatMap(({ before, after }) => (isMarked(after) ? [] : variablesIn(before))))];
}

const ANY_VARIABLE = /\$\{(?:env:)?([\w.]+)|\{env:(\w+)\}|\$([A-Za-z_]\w*)|%([A-Za-z_]\w*)%/g;

function variablesIn(text: string): string[] {
  const names = [...text.matchAll(ANY_VARIABLE)].map(
    (match) => match.slice(1).find((name) => name !== undefined) ?? '',
  );
  return names.length > 0 || text.startsWith('~') ? names : ['a variable'];
}

function textsIn(fields: Fields): string[] {
  const texts: string[] = [];
  mapTexts(fields, (text) => {
    texts.push(text);
    return text;
  });
  return texts;
}

function impossible(reason: string): OwnEntry {
  return { kind: 'impossible', reason };
}

/** True if the entry may hold a secret: the value of a variable or of a header. */
export function holdsSecrets(entry: unknown): boolean {
  const maps = [treeAt(entry, 'env'), treeAt(entry, 'headers'), treeAt(entry, 'oauth')];
  return maps.some((map) => map !== undefined && Object.keys(map).length > 0);
}

/** A note about variables that were replaced by values; empty if there are none. */
export function filledWords(filled: readonly string[]): string {
  return filled.length === 0 ? '' : `, with ${filled.join(', ')} written out as now`;
}

/** The fault that the bridge itself finds in the entry; the sentence quotes no value. */
export function faultOf(name: string, entry: Tree): string | undefined {
  const reader = new Reader(nearest);
  serverOf(reader, name, entry, (path) => path);
  return reader.faults[0];
}

type Fields = Readonly<Record<string, unknown>>;

function withoutGaps(fields: Fields): Tree {
  return treeOf(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/**
 * Builds the fields, always with the directory: without it, `./run.sh` would mean a file in each client's directory.
 */
function processFields(server: DiscoveredServer): Fields {
  const { command, cwd, raw, scope } = server;
  const args = argsForClients(server).map((arg, at) => keptForClients(raw.args[at], arg, scope));
  const env = Object.fromEntries(
    Object.entries(server.env).map(([name, text]) => [name, keptForClients(raw.env[name], text, scope)]),
  );
  return {
    command,
    args: args.length === 0 ? undefined : args,
    env: Object.keys(env).length === 0 ? undefined : env,
    cwd,
  };
}

function remoteFields(server: DiscoveredServer): Fields | undefined {
  const headers = headersOf(server);
  if (headers === undefined) return undefined;
  return {
    url: server.url,
    type: server.transport === 'auto' ? undefined : server.transport,
    headers: headers.length === 0 ? undefined : treeOf(headers),
    headersHelper: server.headersHelper,
  };
}

const BRIDGE_VARIABLE = /\$\{[A-Za-z_]\w*(?::-[^}]*)?\}/;

/** The headers; undefined if the bridge's config cannot express one of them. */
function headersOf(server: DiscoveredServer): [string, string][] | undefined {
  const headers: [string, string][] = [];
  for (const name of Object.keys({ ...server.raw.headers, ...server.headers })) {
    const [raw, filled] = [server.raw.headers[name], server.headers[name]];
    const text = (raw === undefined ? undefined : inBridgeWords(raw, filled, server.client)) ?? filled;
    if (text === undefined) continue;
    if (text === filled && text !== bridgeText(raw, server.client) && BRIDGE_VARIABLE.test(text)) return undefined;
    headers.push([name, text]);
  }
  return headers;
}

function inBridgeWords(raw: string, filled: string | undefined, client: string): string | undefined {
  const text = bridgeText(raw, client);
  if (text !== undefined) return text;
  // Some clients name a variable in a field of its own; discovery has written it in the bridge's words already.
  return raw !== filled && traitsOf(client).dialect === 'none' && BRIDGE_VARIABLE.test(raw) ? raw : undefined;
}

const VARIABLES: Readonly<Record<string, RegExp>> = {
  claude: /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g,
  braces: /\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}/g,
  vscode: /\$\{env:([A-Za-z_]\w*)\}/g,
  cursor: /\$\{env:([A-Za-z_]\w*)\}/g,
  'env-colon': /\$\{env:([A-Za-z_]\w*)\}/g,
  gemini: /\$(?:\{([A-Za-z_]\w*)(?::-([^}]*))?\}|([A-Za-z_]\w*))/g,
  copilot: /\$(?:\{([A-Za-z_]\w*)(?::-([^}]*))?\}|([A-Za-z_]\w*))/g,
  opencode: /\{env:([A-Za-z_]\w*)\}/g,
};

/** Rewrites a text with this client's variables in the bridge's words; undefined if it has none, or has others too. */
function bridgeText(raw: string | undefined, client: string): string | undefined {
  const pattern = VARIABLES[client === 'opencode' || client === 'kilo' ? 'opencode' : traitsOf(client).dialect];
  if (raw === undefined || pattern === undefined) return undefined;
  const rest = raw.replace(pattern, '');
  if (rest === raw || /\$\{|\{(?:env|file):/.test(rest)) return undefined;
  return raw.replace(pattern, (_, name: string | undefined, otherwise: string | undefined, bare: unknown) => {
    const variable = name ?? (typeof bare === 'string' ? bare : '');
    return typeof otherwise === 'string' ? `\${${variable}:-${otherwise}}` : `\${${variable}}`;
  });
}

const OAUTH_KEYS = ['clientId', 'clientSecret', 'scope', 'callbackPort'];

/** The OAuth fields; undefined if they say more than the bridge understands. */
function oauthFields(oauth: DiscoveredServer['oauth']): Fields | undefined {
  const { scopes, ...rest } = oauth ?? {};
  if (scopes !== undefined && typeof scopes !== 'string') return undefined;
  if (Object.keys(rest).some((key) => !OAUTH_KEYS.includes(key))) return undefined;
  return scopes === undefined ? rest : { scope: scopes, ...rest };
}
