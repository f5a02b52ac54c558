// Reads a whole config file. Most sections are rows of the table in model/settings.ts; sections with their own shape
// have a file here. Each fault names its place. A fault of one server leaves out that server and nothing else
// (server-schema.ts).

import type { MessagingSettings, PairRule } from '../model/messaging-settings.ts';
import type { DialInServer } from '../model/server-definition.ts';
import {
  AGENTS,
  CACHE,
  CODE_MODE,
  DAEMON,
  DIAL_IN,
  DISCOVERY,
  LIMITS,
  LIVENESS,
  MAILBOX,
  RESULTS,
} from '../model/settings.ts';
import { NO_FILTER } from '../model/tool-rules.ts';
import { isServerName, SERVER_NAME_RULE } from '../protocol/inbound-server.ts';
import { nearest } from '../util/nearest.ts';
import { auditSettingsOf } from './audit-settings.ts';
import { clientSettingsOf } from './client-settings.ts';
import { clientsOf } from './clients-schema.ts';
import { type ClosingSection, closed, closingSectionsIn } from './closing-sections.ts';
import type { Config, DiscoverySettings } from './config.ts';
import { federationOf } from './federation-settings.ts';
import { httpSettingsOf } from './http-settings.ts';
import { policyOf } from './policy-schema.ts';
import { type ConfigFinding, Reader, readSection, readSettings } from './reader.ts';
import { rankerOf, synonymsByWord, synonymsOf } from './search-words.ts';
import { serverOf, serverSettingsOf } from './server-schema.ts';
import { telemetrySettingsOf } from './telemetry-settings.ts';
import { NO_TOOL, type PatternBudget, toolRulesOf } from './tool-rules.ts';
import { toolsetsOf } from './toolsets-schema.ts';

export interface Validated {
  readonly config: Config;
  /** One line for each fault; it begins with the place, such as `mcpServers.weather.args[1]`. */
  readonly faults: readonly string[];
  /** The same faults, with their places for a search in the text. */
  readonly findings: readonly ConfigFinding[];
  /** Faulty sections that restrict access; they get the stricter reading. */
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
  'search',
  'policy',
  'codeMode',
  'toolsets',
  'results',
  'limits',
  'liveness',
  'daemon',
  'audit',
  'http',
  'telemetry',
  'federation',
  'agents',
  'dialIn',
];

/** Takes all usable parts of a parsed file, and reports the others. */
export function validate(file: unknown, resolvePath: (path: string) => string, patterns?: PatternBudget): Validated {
  const reader = new Reader(nearest);
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
  const discovery = discoveryOf(reader, meant.discovery, resolvePath, patterns);
  const config: Config = {
    ...clientSettingsOf(reader, root, resolvePath),
    view: viewOf(reader, client.view),
    clients: clientsOf(reader, meant.clients, { resolvePath, budget: patterns }),
    servers: Object.entries(servers).flatMap(([name, entry]) => serverOf(reader, name, entry, resolvePath) ?? []),
    serverSettings: serverSettingsOf(reader, root.serverSettings),
    toolsets: toolsetsOf(reader, meant.toolsets, patterns),
    results: readSection(reader, root.results, 'results', RESULTS),
    limits: readSection(reader, root.limits, 'limits', LIMITS),
    liveness: readSection(reader, root.liveness, 'liveness', LIVENESS),
    daemon: readSection(reader, root.daemon, 'daemon', DAEMON),
    codeMode: readSection(reader, root.codeMode, 'codeMode', CODE_MODE),
    cache: cacheOf(reader, root.discovery),
    discovery: {
      ...discovery,
      synonyms: [...discovery.synonyms, ...synonymsByWord(reader, root.search)],
      policy: lists,
    },
    onToolChange,
    audit: auditSettingsOf(reader, meant.audit, resolvePath),
    // These read `root`, not `meant`: a misspelled key must not open anything.
    http: httpSettingsOf(reader, root.http, resolvePath),
    telemetry: telemetrySettingsOf(reader, root.telemetry),
    ...federationOf(reader, root.federation, resolvePath),
    agents: agentsOf(reader, meant.agents),
    ranker: rankerOf(reader, root.search, resolvePath),
    dialIn: dialInOf(reader, root.dialIn, (name) => Object.hasOwn(servers, name)),
  };
  const whole = isUnreadable ? closed(config) : config;
  return { config: whole, faults: reader.faults, findings: reader.findings, inDoubt: closingSectionsIn(reader) };
}

/** Reads a view. Nobody checks here that its server exists: that shows when a client asks for the view. */
function viewOf(reader: Reader, value: unknown): string | undefined {
  const view = reader.text(value, 'client.view');
  if (view === undefined || /^(?:discover|all|code|server:.+)$/s.test(view)) return view;
  reader.fault('client.view', 'is discover, all, code, or server:NAME');
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

/** Reads paths. Leaves out items that are no text; those were reported already. */
function pathsOf(reader: Reader, value: unknown, place: string): string[] {
  const given: readonly unknown[] = reader.texts(value, place);
  return given.filter((path) => typeof path === 'string' && path !== '') as string[];
}

/** Reads `agents`: the rules for messages between clients. */
function agentsOf(reader: Reader, value: unknown): MessagingSettings {
  const section = reader.section(value, 'agents');
  const keys = [...Object.keys(AGENTS), 'mailbox', 'policy'];
  reader.keys(section, 'agents', keys);
  const { enabled, ...bounds } = readSettings(reader, section, 'agents', AGENTS);
  return {
    isEnabled: enabled,
    ...bounds,
    mailbox: readSection(reader, section.mailbox, 'agents.mailbox', MAILBOX),
    policy: pairRulesOf(reader, reader.meant(section, 'agents', keys).policy),
  };
}

/** Reads rules for pairs. If one rule is not understood, nobody may speak: that rule may have been a ban. */
function pairRulesOf(reader: Reader, value: unknown): readonly PairRule[] {
  if (value === undefined) return [];
  const before = reader.findings.length;
  const rules = Array.isArray(value)
    ? value.map((rule: unknown, i) => ruleOf(reader, rule, `agents.policy[${i}]`))
    : [];
  if (!Array.isArray(value)) reader.fault('agents.policy', 'must be a list of rules');
  return reader.findings.length > before ? [{ from: '*', to: '*', isAllowed: false }] : rules;
}

function ruleOf(reader: Reader, value: unknown, place: string): PairRule {
  const fields = reader.section(value, place);
  reader.keys(fields, place, ['from', 'to', 'allow']);
  if (typeof fields.allow !== 'boolean') reader.fault(`${place}.allow`, 'must be true or false');
  const from = reader.text(fields.from, `${place}.from`) ?? '*';
  const to = reader.text(fields.to, `${place}.to`) ?? '*';
  return { from, to, isAllowed: fields.allow === true };
}

/** Reads `dialIn`: the names under which programs that connect by themselves may offer tools to every client. */
function dialInOf(reader: Reader, value: unknown, isDefined: (name: string) => boolean): DialInServer[] {
  const entries = Object.entries(reader.section(value, 'dialIn'));
  return entries.flatMap(([name, entry]) => dialInServerOf(reader, name, entry, isDefined) ?? []);
}

function dialInServerOf(
  reader: Reader,
  name: string,
  entry: unknown,
  isDefined: (name: string) => boolean,
): DialInServer | undefined {
  const place = `dialIn.${name}`;
  const before = reader.errors;
  const settings = readSection(reader, entry, place, DIAL_IN);
  if (!isServerName(name)) reader.fault(place, `needs a name of ${SERVER_NAME_RULE}`);
  if (isDefined(name)) reader.fault(place, 'is in mcpServers too');
  const definition: DialInServer = {
    name,
    transport: 'dial-in',
    ...settings,
    idleMs: undefined,
    sharing: 'shared',
    tools: NO_FILTER,
  };
  return reader.errors > before ? undefined : definition;
}
