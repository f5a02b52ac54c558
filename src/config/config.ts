// What a config file comes to, and what holds without one. Whoever has none loads no more of its reading than this.

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
  /** By the names of servers, wherever these are defined. */
  readonly serverSettings: Readonly<Record<string, ServerSettings>>;
  readonly toolsets: readonly Toolset[];
  /** Results of tools that are cut. */
  readonly results: ResultsSettings;
  readonly limits: Limits;
  readonly liveness: LivenessSettings;
  readonly daemon: DaemonSettings;
  /** Programs of models. */
  readonly codeMode: CodeModeSettings;
  /** True if what servers say is kept from one run to the next, and how long it holds. */
  readonly cache: { readonly isKept: boolean; readonly ttlMs: number };
  readonly discovery: DiscoverySettings;
  /** Says what happens to tools that have changed; undefined for the default. */
  readonly onToolChange: ToolChangePolicy | undefined;
  readonly audit: AuditSettings;
  /** Where clients over HTTP are let in. */
  readonly http: HttpSettings;
  /** Where traces and metrics go. */
  readonly telemetry: TelemetrySettings;
  /** Other hosts; undefined for none. */
  readonly federation: FederationSettings | undefined;
  /** The faults for which a section `federation` is not used. */
  readonly federationFaults: readonly string[];
  readonly agents: MessagingSettings;
  /** The file of the user's own ranker for searches. */
  readonly ranker: string | undefined;
  /** Servers that may connect by themselves. */
  readonly dialIn: readonly DialInServer[];
}

/** Says which servers of other programs' files are offered. */
export interface DiscoverySettings {
  readonly isEnabled: boolean;
  readonly precedence: 'scope' | 'first-wins';
  readonly toolRules: readonly ToolRule[];
  /** More registries of running servers, and whether servers of any may be on other machines. */
  readonly registries: { readonly files: readonly string[]; readonly mayBeRemote: boolean };
  /** More files, and directories of files, in which servers are defined. */
  readonly sources: readonly string[];
  /** The directories of Agent Plugins. */
  readonly agentPlugins: readonly string[];
  /** Groups of words that may stand for each other in a search. */
  readonly synonyms: ConfiguredSynonyms;
  /** How long a tool that is run by `execute_tool` may take; 0 for as long as its server allows. */
  readonly timeoutMs: number;
  readonly policy: PolicyLists;
}

const NO_REGISTRIES = { files: [], mayBeRemote: false };

export const EMPTY_CONFIG: Config = {
  // Each by itself: of an object that is spread the bundler cannot know that nobody needs it.
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
