// What a config file may say, and what each word of it must look like. A fault names its place; faults of one server
// leave that server out and nothing else (server-schema.ts).

import { DEFAULT_LIMITS, type Limits } from '../model/limits.ts';
import { DEFAULT_LIVENESS, type LivenessSettings } from '../model/liveness-settings.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import { agentsOf } from './agents-schema.ts';
import { auditSettingsOf } from './audit-settings.ts';
import { clientSettingsOf } from './client-settings.ts';
import { clientsOf } from './clients-schema.ts';
import { type ClosingSection, closed, closingSectionsIn } from './closing-sections.ts';
import { type Config, type DaemonSettings, DEFAULT_DAEMON, type DiscoverySettings, HOUR_S } from './config.ts';
import { dialInOf } from './dial-in-schema.ts';
import { policyOf } from './policy-schema.ts';
import { type Finding, Reader } from './reader.ts';
import { synonymsOf } from './search-words.ts';
import { serverOf, serverSettingsOf } from './server-schema.ts';
import { NO_TOOL, type PatternBudget, toolRulesOf } from './tool-rules.ts';

export interface Validated {
  readonly config: Config;
  /** One line each, beginning with the place, such as `mcpServers.weather.args[1]`. */
  readonly faults: readonly string[];
  /** The same, for who looks for the places in the text. */
  readonly findings: readonly Finding[];
  /** Those with faults of the sections that keep somebody out; what they say then is the stricter reading. */
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
    limits: limitsOf(reader, root.limits),
    liveness: livenessOf(reader, root.liveness),
    daemon: daemonOf(reader, root.daemon),
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

/** Whether there is such a server is seen when somebody asks for it. */
function viewOf(reader: Reader, value: unknown): string | undefined {
  const view = reader.text(value, 'client.view');
  if (view === undefined || /^(?:discover|all|server:.+)$/s.test(view)) return view;
  reader.fault('client.view', 'is discover, all, or server:NAME');
  return undefined;
}

function limitsOf(reader: Reader, value: unknown): Limits {
  const fields = reader.section(value, 'limits');
  reader.keys(fields, 'limits', Object.keys(DEFAULT_LIMITS));
  const count = (key: Exclude<keyof Limits, 'progressExtendsTimeout'>, least: number, most?: number): number =>
    reader.count(fields[key], `limits.${key}`, { otherwise: DEFAULT_LIMITS[key], least, ...(most && { most }) });
  return {
    maxMessageBytes: count('maxMessageBytes', 1024, 1 << 30),
    maxDepth: count('maxDepth', 8, DEEPEST),
    maxClients: count('maxClients', 1),
    maxInFlightPerClient: count('maxInFlightPerClient', 1),
    maxInFlightPerServer: count('maxInFlightPerServer', 1),
    maxWaitingBytesPerClient: count('maxWaitingBytesPerClient', 0),
    maxWaitingBytesPerServer: count('maxWaitingBytesPerServer', 0),
    maxQueuedBytesPerClient: count('maxQueuedBytesPerClient', 65_536),
    maxQueuedBytesPerServer: count('maxQueuedBytesPerServer', 65_536),
    maxSubscribedBytesPerClient: count('maxSubscribedBytesPerClient', 0),
    stallTimeoutMs: count('stallTimeoutMs', 1),
    handshakeTimeoutMs: count('handshakeTimeoutMs', 1),
    startTimeoutMs: count('startTimeoutMs', 1),
    callTimeoutMs: count('callTimeoutMs', 0),
    progressExtendsTimeout: reader.flag(
      fields.progressExtendsTimeout,
      'limits.progressExtendsTimeout',
      DEFAULT_LIMITS.progressExtendsTimeout,
    ),
    maxCallMs: count('maxCallMs', 1),
    maxLaneMs: count('maxLaneMs', 1),
    maxQuestions: count('maxQuestions', 1),
    questionHeldMs: count('questionHeldMs', 1),
    questionTimeoutMs: count('questionTimeoutMs', 1),
    maxTasksPerServer: count('maxTasksPerServer', 1),
    maxInstancesPerServer: count('maxInstancesPerServer', 1),
    maxLocalStarts: count('maxLocalStarts', 1),
    maxRemoteStarts: count('maxRemoteStarts', 1),
    maxRemoteCalls: count('maxRemoteCalls', 1),
    maxDeathsPerMinute: count('maxDeathsPerMinute', 1),
    brokenMs: count('brokenMs', 1),
    termGraceMs: count('termGraceMs', 0),
    maxDialIns: count('maxDialIns', 0),
    idleMs: count('idleMs', 1),
    resumeGraceMs: count('resumeGraceMs', 0),
    maxParkedClients: count('maxParkedClients', 0),
    maxParkedBytes: count('maxParkedBytes', 0),
    maxResumeBytesPerClient: count('maxResumeBytesPerClient', 0),
    drainTimeoutMs: count('drainTimeoutMs', 0),
  };
}

function cacheOf(reader: Reader, value: unknown): Config['cache'] {
  const discovery = reader.section(value, 'discovery');
  const cache = reader.section(discovery.cache, 'discovery.cache');
  reader.keys(cache, 'discovery.cache', ['enabled', 'ttl']);
  return {
    isKept: reader.flag(cache.enabled, 'discovery.cache.enabled', true),
    ttlMs: reader.count(cache.ttl, 'discovery.cache.ttl', { otherwise: HOUR_S, least: 0 }) * 1000,
  };
}

const DISCOVERY_KEYS = [
  'agentPlugins',
  'cache',
  'enabled',
  'precedence',
  'registries',
  'registryHosts',
  'search',
  'timeoutMs',
  'sources',
  'toolRules',
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
  const { precedence = 'scope' } = discovery;
  const isKnown = precedence === 'scope' || precedence === 'first-wins';
  if (!isKnown) reader.fault('discovery.precedence', 'is one of scope, first-wins');
  const { registryHosts: hosts = 'loopback' } = discovery;
  if (hosts !== 'loopback' && hosts !== 'any') reader.fault('discovery.registryHosts', 'is one of loopback, any');
  return {
    isEnabled: reader.flag(discovery.enabled, 'discovery.enabled', true),
    precedence: isKnown ? precedence : 'scope',
    toolRules: isUnreadable ? [NO_TOOL] : toolRulesOf(reader, toolRules, 'discovery.toolRules', patterns),
    registries: {
      files: pathsOf(reader, discovery.registries, 'discovery.registries').map(resolvePath),
      mayBeRemote: hosts === 'any',
    },
    sources: pathsOf(reader, discovery.sources, 'discovery.sources').map(resolvePath),
    agentPlugins: pathsOf(reader, discovery.agentPlugins, 'discovery.agentPlugins').map(resolvePath),
    synonyms: synonymsOf(reader, discovery.search, 'discovery.search'),
    timeoutMs: reader.count(discovery.timeoutMs, 'discovery.timeoutMs', { otherwise: 0, least: 0 }),
  };
}

/** What is no text has been said, and is left out. */
function pathsOf(reader: Reader, value: unknown, place: string): string[] {
  const given: readonly unknown[] = reader.texts(value, place);
  return given.filter((path) => typeof path === 'string' && path !== '') as string[];
}

function daemonOf(reader: Reader, value: unknown): DaemonSettings {
  const fields = reader.section(value, 'daemon');
  reader.keys(fields, 'daemon', Object.keys(DEFAULT_DAEMON));
  return {
    idleExitMs: reader.count(fields.idleExitMs, 'daemon.idleExitMs', {
      otherwise: DEFAULT_DAEMON.idleExitMs,
      least: 0,
    }),
  };
}

function livenessOf(reader: Reader, value: unknown): LivenessSettings {
  const fields = reader.section(value, 'liveness');
  const otherwise = DEFAULT_LIVENESS;
  reader.keys(fields, 'liveness', Object.keys(DEFAULT_LIVENESS));
  return {
    pingPeriodMs: reader.count(fields.pingPeriodMs, 'liveness.pingPeriodMs', {
      otherwise: otherwise.pingPeriodMs,
      least: 0,
    }),
    maxMissedPings: reader.count(fields.maxMissedPings, 'liveness.maxMissedPings', {
      otherwise: otherwise.maxMissedPings,
      least: 1,
    }),
    cutOffSilentClients: reader.flag(
      fields.cutOffSilentClients,
      'liveness.cutOffSilentClients',
      otherwise.cutOffSilentClients,
    ),
  };
}
