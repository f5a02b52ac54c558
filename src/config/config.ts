// The result of reading a config file, and the defaults without one. A program without a config file loads no other
// code for it.

import type { FederationSettings } from '../model/federation-settings.ts';
import { type HttpSettings, NO_HTTP } from '../model/http-settings.ts';
import { DEFAULT_LIMITS, type Limits } from '../model/limits.ts';
import { DEFAULT_LIVENESS, type LivenessSettings } from '../model/liveness-settings.ts';
import { DEFAULT_MESSAGING, type MessagingSettings } from '../model/messaging-settings.ts';
import type { DialInServer, ServerDefinition } from '../model/server-definition.ts';
import {
  CACHE,
  type CodeModeSettings,
  type DaemonSettings,
  DEFAULT_CODE_MODE,
  DEFAULT_DAEMON,
  DEFAULT_RESULTS,
  DISCOVERY,
  type ResultsSettings,
} from '../model/settings.ts';
import { NO_TELEMETRY, type TelemetrySettings } from '../model/telemetry-settings.ts';
import type { ToolChangePolicy, ToolRule } from '../model/tool-rules.ts';
import type { Toolset } from '../model/toolset.ts';
import { DEFAULT_RECONNECT } from '../util/backoff.ts';
import { type AuditSettings, NO_AUDIT } from './audit-settings.ts';
import type { OwnClientSettings } from './client-settings.ts';
import type { ClientEntry } from './clients-schema.ts';
import type { PolicyLists } from './policy-schema.ts';
import type { ConfiguredSynonyms } from './search-words.ts';
import type { ServerSettings } from './server-schema.ts';

export interface Config extends OwnClientSettings {
  readonly view: string | undefined;
  /** Settings for some clients only. */
  readonly clients: readonly ClientEntry[];
  readonly servers: readonly ServerDefinition[];
  /** Settings by server name, wherever the server is defined. */
  readonly serverSettings: Readonly<Record<string, ServerSettings>>;
  readonly toolsets: readonly Toolset[];
  /** Limits on the results of tools. */
  readonly results: ResultsSettings;
  readonly limits: Limits;
  readonly liveness: LivenessSettings;
  readonly daemon: DaemonSettings;
  /** Programs of models. */
  readonly codeMode: CodeModeSettings;
  /** True if answers of servers are kept between runs, and how long they stay valid. */
  readonly cache: { readonly isKept: boolean; readonly ttlMs: number };
  readonly discovery: DiscoverySettings;
  /** The policy for tools that have changed; undefined for the default. */
  readonly onToolChange: ToolChangePolicy | undefined;
  readonly audit: AuditSettings;
  /** The addresses at which clients connect over HTTP. */
  readonly http: HttpSettings;
  /** The destination of traces and metrics. */
  readonly telemetry: TelemetrySettings;
  /** The other hosts; undefined for none. */
  readonly federation: FederationSettings | undefined;
  /** The faults that make a section `federation` unusable. */
  readonly federationFaults: readonly string[];
  readonly agents: MessagingSettings;
  /** The file of the user's own ranker for searches. */
  readonly ranker: string | undefined;
  /** Servers that may connect to the bridge by themselves. */
  readonly dialIn: readonly DialInServer[];
}

/** The choice of servers from other programs' files. */
export interface DiscoverySettings {
  readonly isEnabled: boolean;
  readonly precedence: 'scope' | 'first-wins';
  readonly toolRules: readonly ToolRule[];
  /** More registries of running servers. `mayBeRemote`: true if their servers may run on other machines. */
  readonly registries: { readonly files: readonly string[]; readonly mayBeRemote: boolean };
  /** More files, and directories of files, that define servers. */
  readonly sources: readonly string[];
  /** The directories of Agent Plugins. */
  readonly agentPlugins: readonly string[];
  /** Groups of words that may stand for each other in a search. */
  readonly synonyms: ConfiguredSynonyms;
  /** The time limit for a tool run by `execute_tool`; 0 for the server's own limit. */
  readonly timeoutMs: number;
  readonly policy: PolicyLists;
}

const NO_REGISTRIES = { files: [], mayBeRemote: false };

export const EMPTY_CONFIG: Config = {
  // Each one is written out: the bundler cannot tell that nobody needs a spread object.
  socketPath: undefined,
  autoConnect: true,
  reconnect: DEFAULT_RECONNECT,
  clientId: undefined,
  view: undefined,
  clients: [],
  servers: [],
  serverSettings: {},
  toolsets: [],
  results: DEFAULT_RESULTS,
  limits: DEFAULT_LIMITS,
  liveness: DEFAULT_LIVENESS,
  daemon: DEFAULT_DAEMON,
  codeMode: DEFAULT_CODE_MODE,
  cache: { isKept: CACHE.enabled.default, ttlMs: CACHE.ttl.default * 1000 },
  discovery: {
    isEnabled: DISCOVERY.enabled.default,
    precedence: DISCOVERY.precedence.default,
    toolRules: [],
    registries: NO_REGISTRIES,
    sources: [],
    agentPlugins: [],
    synonyms: [],
    timeoutMs: DISCOVERY.timeoutMs.default,
    policy: {},
  },
  onToolChange: undefined,
  audit: NO_AUDIT,
  http: NO_HTTP,
  telemetry: NO_TELEMETRY,
  federation: undefined,
  federationFaults: [],
  agents: DEFAULT_MESSAGING,
  ranker: undefined,
  dialIn: [],
};
