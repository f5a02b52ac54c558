// Reads a whole config file. The settings of most sections are rows of the table in model/settings.ts; sections with a
// shape of their own have a file here. A fault names its place; faults of one server leave that server out and nothing
// else (server-schema.ts).

import { CACHE, DAEMON, DISCOVERY, LIMITS, LIVENESS } from '../model/settings.ts';
import { agentsOf } from './agents-schema.ts';
import { auditSettingsOf } from './audit-settings.ts';
import { clientSettingsOf } from './client-settings.ts';
import { clientsOf } from './clients-schema.ts';
import { type ClosingSection, closed, closingSectionsIn } from './closing-sections.ts';
import type { Config, DiscoverySettings } from './config.ts';
import { dialInOf } from './dial-in-schema.ts';
import { policyOf } from './policy-schema.ts';
import { type ConfigFinding, Reader } from './reader.ts';
import { synonymsOf } from './search-words.ts';
import { readSection, readSettings } from './section.ts';
import { serverOf, serverSettingsOf } from './server-schema.ts';
import { NO_TOOL, type PatternBudget, toolRulesOf } from './tool-rules.ts';

export interface Validated {
  readonly config: Config;
  /** One line each, beginning with the place, such as `mcpServers.weather.args[1]`. */
  readonly faults: readonly string[];
  /** The same, for who looks for the places in the text. */
  readonly findings: readonly ConfigFinding[];
  /** Sections with faults that keep somebody out; they get the stricter reading. */
  readonly inDoubt: readonly ClosingSection[];
}

const SECTIONS = [
  '$schema',
  'mcpBridge',
  'client',
  'clients',
  'mcpServers',
  'serverSettings',
  'discovery',
  'policy',
  'limits',
  'liveness',
  'daemon',
  'audit',
  'agents',
  'dialIn',
];

/** Takes what it can use of a parsed file, and says what it could not. */
export function validate(file: unknown, resolvePath: (path: string) => string, patterns?: PatternBudget): Validated {
  const reader = new Reader();
  const root = reader.section(file, '');
  reader.keys(root, '', SECTIONS);
  const isUnreadable = reader.errors > 0;
  const meant = reader.meant(root, '', SECTIONS);
  const bridge = reader.section(root.mcpBridge, 'mcpBridge');
  const client = reader.section(root.client, 'client');
  const servers = reader.section(root.mcpServers, 'mcpServers');
  reader.keys(bridge, 'mcpBridge', ['socketPath', 'autoConnect', 'reconnect']);
  reader.keys(client, 'client', ['id', 'view']);
  const { onToolChange, lists } = policyOf(reader, meant.policy);
  const config: Config = {
    ...clientSettingsOf(reader, root, resolvePath),
    view: viewOf(reader, client.view),
    clients: clientsOf(reader, meant.clients, patterns),
    servers: Object.entries(servers).flatMap(([name, entry]) => serverOf(reader, name, entry, resolvePath) ?? []),
    serverSettings: serverSettingsOf(reader, root.serverSettings),
    limits: readSection(reader, root.limits, 'limits', LIMITS),
    liveness: readSection(reader, root.liveness, 'liveness', LIVENESS),
    daemon: readSection(reader, root.daemon, 'daemon', DAEMON),
    cache: cacheOf(reader, root.discovery),
    discovery: { ...discoveryOf(reader, meant.discovery, resolvePath, patterns), policy: lists },
    onToolChange,
    audit: auditSettingsOf(reader, meant.audit, resolvePath),
    agents: agentsOf(reader, meant.agents),
    dialIn: dialInOf(reader, root.dialIn, (name) => Object.hasOwn(servers, name)),
  };
  const whole = isUnreadable ? closed(config) : config;
  return { config: whole, faults: reader.faults, findings: reader.findings, inDoubt: closingSectionsIn(reader) };
}

/** True if there is such a server is seen when somebody asks for it. */
function viewOf(reader: Reader, value: unknown): string | undefined {
  const view = reader.text(value, 'client.view');
  if (view === undefined || /^(?:discover|all|server:.+)$/s.test(view)) return view;
  reader.fault('client.view', 'is discover, all, or server:NAME');
  return undefined;
}

function cacheOf(reader: Reader, value: unknown): Config['cache'] {
  const { cache } = reader.section(value, 'discovery');
  const { enabled, ttl } = readSection(reader, cache, 'discovery.cache', CACHE);
  return { isKept: enabled, ttlMs: ttl * 1000 };
}

const DISCOVERY_KEYS = [
  ...Object.keys(DISCOVERY),
  ...['agentPlugins', 'cache', 'registries', 'search', 'sources', 'toolRules'],
];

function discoveryOf(
  reader: Reader,
  value: unknown,
  resolvePath: (path: string) => string,
  patterns: PatternBudget | undefined,
): Omit<DiscoverySettings, 'policy'> {
  const before = reader.errors;
  const discovery = reader.section(value, 'discovery');
  const isUnreadable = reader.errors > before;
  const { toolRules } = reader.meant(discovery, 'discovery', DISCOVERY_KEYS);
  reader.keys(discovery, 'discovery', DISCOVERY_KEYS);
  const { enabled, precedence, registryHosts, timeoutMs } = readSettings(reader, discovery, 'discovery', DISCOVERY);
  return {
    isEnabled: enabled,
    precedence,
    toolRules: isUnreadable ? [NO_TOOL] : toolRulesOf(reader, toolRules, 'discovery.toolRules', patterns),
    registries: {
      files: pathsOf(reader, discovery.registries, 'discovery.registries').map(resolvePath),
      mayBeRemote: registryHosts === 'any',
    },
    sources: pathsOf(reader, discovery.sources, 'discovery.sources').map(resolvePath),
    agentPlugins: pathsOf(reader, discovery.agentPlugins, 'discovery.agentPlugins').map(resolvePath),
    synonyms: synonymsOf(reader, discovery.search, 'discovery.search'),
    timeoutMs,
  };
}

/** An item that is no text has been reported, and is left out. */
function pathsOf(reader: Reader, value: unknown, place: string): string[] {
  const given: readonly unknown[] = reader.texts(value, place);
  return given.filter((path) => typeof path === 'string' && path !== '') as string[];
}
