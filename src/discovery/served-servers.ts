// Selects the servers to serve from what discovery found: the bridge's own definitions, as in its config, and other
// programs' ready ones, under their ids. It starts nothing.

import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import type { ServerSettings } from '../config/server-schema.ts';
import type { ClientFilter, OAuthSettings, ServerDefinition } from '../model/server-definition.ts';
import { relativePrograms } from '../util/executed-words.ts';
import { textOf } from '../util/json-value.ts';
import { argsForClients } from './client-place.ts';
import type { DiscoveredServer } from './discovered-server.ts';
import { NO_VALUES, type ReferredValues, withReferences } from './inputs.ts';
import { isOfProject, isOwn } from './naming.ts';
import { natureOf } from './server-natures.ts';

/**
 * States in which the config's own definitions are not served. Their other faults are reported when the config is read.
 */
const REFUSED = new Set(['blocked-by-policy', 'self']);

/**
 * `home` is the directory for definitions that may not start in their project; `values` are for references in the
 * bridge's own definitions.
 */
export interface Serving {
  readonly home?: string;
  readonly values?: ReferredValues;
}

export function servedServers(
  servers: readonly DiscoveredServer[],
  config: Pick<Config, 'servers' | 'discovery' | 'serverSettings'>,
  { home, values = NO_VALUES }: Serving = {},
): Map<string, ServerDefinition> {
  const placed = home === undefined ? servers : servers.map((server) => outsideProject(server, home));
  const served = definitionsOf(placed, config, values);
  const { serverSettings } = config;
  for (const [name, definition] of served)
    served.set(name, settled(definition, Object.hasOwn(serverSettings, name) ? serverSettings[name] : {}));
  return served;
}

/**
 * A user's definition for one project in Claude Code starts outside the project, unless it has a `cwd`: inside, the
 * repository's author could choose what `npx` runs. Paths in it still mean files of the project. The same applies to
 * its headers command.
 */
function outsideProject(server: DiscoveredServer, home: string): DiscoveredServer {
  const { client, scope, transport, command, args, cwd: project, headersHelper, raw } = server;
  const isOfUser = client === 'claude-code' && scope === 'local';
  if (!isOfUser || project === undefined || raw.cwd !== undefined) return server;
  if (transport !== 'stdio')
    return headersHelper === undefined
      ? server
      : { ...server, headersHelper: scriptOutside(project, headersHelper), cwd: home };
  if (command === undefined) return server;
  const [program = command, ...rest] = wordsOutside(project, [command, ...args]);
  return { ...server, command: program, args: rest, cwd: home };
}

function wordsOutside(project: string, words: readonly string[], path = /^\.\.?(?:\/|$)/): string[] {
  const own = relativePrograms(words);
  const isPath = (word: string, at: number): boolean => own.has(at) || path.test(word);
  return words.map((word, at) => (isPath(word, at) ? resolve(project, word) : word));
}

/**
 * Makes a script's paths absolute. Words in quotes stay: their paths are then not found outside the project, and
 * nothing is run. A lone dot stays too, because it is a filter of `jq`.
 */
function scriptOutside(project: string, script: string): string {
  return script
    .split(/([;&|\n()`]+)/)
    .map((command, i) => {
      if (i % 2 === 1) return command;
      const parts = command.split(/(\s+)/);
      const words = parts.filter((part) => part !== '' && part.trim() !== '');
      const moved = wordsOutside(project, words, /^\.\.?\//).map((word, at) =>
        word === words[at] ? word : quotedWord(word),
      );
      let next = 0;
      return parts.map((part) => (part.trim() === '' ? part : moved[next++])).join('');
    })
    .join('');
}

function quotedWord(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Adds known facts about the program, and the user's settings for the server. */
function settled(definition: ServerDefinition, settings: ServerSettings = {}): ServerDefinition {
  const { transport } = definition;
  const nature = transport === 'stdio' ? natureOf(definition.command, definition.args) : undefined;
  return { ...definition, ...settings, ...(nature && { nature }) };
}

function definitionsOf(
  servers: readonly DiscoveredServer[],
  config: Pick<Config, 'servers' | 'discovery'>,
  values: ReferredValues,
): Map<string, ServerDefinition> {
  const own = new Set(servers.filter(isOwn));
  const isRefused = ({ state, isOffHere }: DiscoveredServer): boolean => REFUSED.has(state) || isOffHere === true;
  const refused = new Set([...own].filter(isRefused).map(({ name }) => name));
  const sameAs = duplicatesOf(servers);
  const ownNamed = new Map([...own].map((server) => [server.name, server]));
  const served = new Map<string, ServerDefinition>(
    config.servers.flatMap((written) => {
      const definition = withReferences(written, values);
      if (definition === undefined) return [];
      const found = ownNamed.get(definition.name);
      const shared = found === undefined ? {} : sharedBy(found, sameAs(found));
      return [[definition.name, { ...definition, ...shared }] as const];
    }),
  );
  for (const name of refused) served.delete(name);
  if (!config.discovery.isEnabled) return served;
  // The user's own come first, because the first server gets a contested alias.
  const inTurn = [...servers.filter((server) => !isOfProject(server)), ...servers.filter(isOfProject)];
  for (const server of inTurn)
    if (server.state === 'ready' && !own.has(server) && !served.has(server.id))
      served.set(server.id, { ...definitionOf(server), ...sharedBy(server, sameAs(server)) });
  return served;
}

type Same = (server: DiscoveredServer) => readonly DiscoveredServer[];

/** Finds the definitions that another one replaces because they are equal. */
function duplicatesOf(servers: readonly DiscoveredServer[]): Same {
  const keyOf = ({ client, name, file }: Pick<DiscoveredServer, 'client' | 'name' | 'file'>): string =>
    JSON.stringify([client, name, file]);
  const duplicates = new Map(
    servers.filter(({ state }) => state === 'duplicate').map((server) => [keyOf(server), server]),
  );
  return ({ sources }) => sources.flatMap((source) => duplicates.get(keyOf(source)) ?? []);
}

/** The other names and tool filters that clients have for the same server. */
function sharedBy(
  server: DiscoveredServer,
  same: readonly DiscoveredServer[],
): Pick<ServerDefinition, 'alsoNamed' | 'filters'> {
  if (same.length === 0) return {};
  const filters: ClientFilter[] = [server, ...same].map(({ client, tools }) => ({ client, tools }));
  const areFiltered = filters.some(({ tools }) => tools.allow !== undefined || tools.deny.length > 0);
  return { alsoNamed: same.map(({ id }) => id), ...(areFiltered ? { filters } : {}) };
}

function definitionOf(server: DiscoveredServer): ServerDefinition {
  const { id: name, description, timeoutMs, startupTimeoutMs: startTimeoutMs } = server;
  const common = {
    name,
    description,
    timeoutMs,
    startTimeoutMs,
    tools: server.tools,
    isOfProject: isOfProject(server),
    ...SHARED,
  };
  const { transport, command = '', env, cwd, url = '', headers, headersHelper } = server;
  if (transport === 'stdio' || transport === 'unknown') {
    const args = argsForClients(server);
    // A client that names no directory counts as being in the process's own.
    const dir = args.some((arg, at) => arg !== server.args[at]) ? cwd : undefined;
    return { ...common, transport: 'stdio', command, args, env, cwd, dir, ...dataDirOf(server) };
  }
  return {
    ...common,
    ...{ transport, url, headers, isFilledIn: true },
    headersHelper: headersHelper === undefined ? undefined : { command: headersHelper, cwd },
    oauth: oauthOf(server.oauth),
  };
}

/** The data directory that Agent Plugins are promised. */
function dataDirOf({ client, env }: DiscoveredServer): { readonly dataDir?: string } {
  return client === 'agent-plugin' && env.PLUGIN_DATA !== undefined ? { dataDir: env.PLUGIN_DATA } : {};
}

const SHARED = { idleMs: undefined, sharing: undefined, trustHints: false } as const;

/** Reads the OAuth settings. Clients spell them differently; a scope may be a list. */
function oauthOf(oauth: DiscoveredServer['oauth'] = {}): OAuthSettings {
  const text = (...keys: string[]): string | undefined =>
    keys.map((key) => textOf(oauth[key])).find((found) => found !== '');
  const scopes = oauth.scopes ?? oauth.scope;
  const port = oauth.callbackPort;
  return {
    clientId: text('clientId', 'client_id', 'CLIENT_ID'),
    clientSecret: text('clientSecret', 'client_secret', 'CLIENT_SECRET'),
    scope: Array.isArray(scopes) ? scopes.map(textOf).join(' ') : textOf(scopes) || undefined,
    callbackPort: typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined,
  };
}
