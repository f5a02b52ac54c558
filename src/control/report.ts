// Answers of the control methods as data. The daemon writes them, commands and scripts read them, and `--json` prints
// them unchanged: fields may be added, but never change their meaning.

import type { FederationReport } from '../model/federation-report.ts';
import type { ServerLatency } from '../model/server-latency.ts';
import type { TelemetryReport } from '../model/telemetry-report.ts';
import type { ToolAnswers } from '../model/tool-answers.ts';
import type { DialInState } from '../protocol/inbound-server.ts';
import type { RunningServer } from '../registry/running-servers.ts';
import type {
  CallsReport,
  CancelReport,
  EventConditions,
  MessagesReport,
  PastReport,
  WatchParams,
  WatchReport,
} from './event-report.ts';

/** The methods of the role `control` with params and answers. Each param is optional. */
interface ControlMethods {
  'bridge/status': { params: InDirectory; answer: StatusReport };
  'bridge/connections': { params: object; answer: readonly ClientReport[] };
  'bridge/reload': { params: object; answer: ReloadReport };
  'bridge/running': { params: InDirectory; answer: RunningReport };
  /** Null if the daemon does not connect to other hosts. */
  'bridge/hosts': { params: object; answer: FederationReport | null };
  'bridge/refresh': { params: InDirectory & { readonly servers?: readonly string[] }; answer: RefreshReport };
  'bridge/changes': { params: OfServer; answer: ChangesReport };
  /** `tools` has the hash of each tool's shown definition. */
  'bridge/accept': { params: OfServer & { readonly tools?: Readonly<Record<string, string>> }; answer: AcceptReport };
  /** `after` has a start position for each pid. */
  'bridge/logs': { params: OfServer & { readonly after?: Readonly<Record<string, number>> }; answer: LogsReport };
  /** Answers, and then sends notifications `bridge/event` on the same connection. */
  'bridge/watch': { params: WatchParams; answer: WatchReport };
  'bridge/unwatch': { params: { readonly watch?: string }; answer: UnwatchReport };
  /** `last` is the number of events; without it, all kept events. */
  'bridge/events': { params: EventConditions & { readonly last?: number }; answer: PastReport };
  'bridge/calls': { params: { readonly limit?: number }; answer: CallsReport };
  /** Ends a call, given the name from events or `bridge/calls`. */
  'bridge/cancel': { params: { readonly call?: string }; answer: CancelReport };
  'bridge/messages': { params: object; answer: MessagesReport };
  'bridge/instances': { params: OfServer; answer: InstancesReport };
  'bridge/questions': { params: object; answer: QuestionsReport };
  /** With `server`, the tools include their definitions. */
  'bridge/tools': { params: OfServer; answer: ToolsReport };
  'bridge/settings': { params: object; answer: SettingsReport };
  'bridge/search': { params: SearchParams; answer: SearchReport };
  /** All tools that have answered, most expensive first, or the first `limit` of them. */
  'bridge/answers': { params: { readonly limit?: number }; answer: AnswersReport };
  'bridge/stop': { params: { readonly reason?: 'stop' | 'restart' }; answer: StopReport };
}

export type ControlMethod = keyof ControlMethods;
export type ControlParams<Method extends ControlMethod> = ControlMethods[Method]['params'];
export type ControlAnswer<Method extends ControlMethod> = ControlMethods[Method]['answer'];

/** `cwd` is the caller's working directory. */
interface InDirectory {
  readonly cwd?: string;
}

interface OfServer extends InDirectory {
  readonly server?: string;
}

/** An instance of a server, or a server without an instance. */
export interface InstanceReport {
  readonly server: string;
  /** The name without a host by which calls reach it too; absent for servers of this host, and where calls of that name go elsewhere now. */
  readonly alsoAs?: string;
  readonly pid: number | null;
  /** `idle`, `starting`, `ready`, `stopping`, `stopped`, `failed`, or `broken` after too many failures. */
  readonly state: string;
  /** The version of MCP that was agreed on, now or last time; null if it never ran. */
  readonly protocolVersion: string | null;
  readonly sessions: number;
  readonly restarts: number;
  /** `calls` counts tool calls sent to it; `requests` counts all requests, including those. */
  readonly calls: number;
  readonly requests: number;
  /** Requests without an answer yet. */
  readonly inFlight: number;
  /** True if joined lists omit it because it has not answered. */
  readonly leftOut: boolean;
  /** The reason why it last failed to start, or died. */
  readonly lastError: string | null;
  /** The code of that error, such as SERVER_START_FAILED. */
  readonly errorCode: string | null;
}

/** Memory of the daemon's process. */
export interface MemoryReport {
  readonly residentBytes: number;
  readonly heapBytes: number;
}

/** The audit log. */
export interface AuditReport {
  readonly file: string;
  /** Lines written and lost since the daemon started. */
  readonly lines: number;
  readonly lost: number;
  /** The reason why nothing can be written at present. */
  readonly failure: string | null;
  /** True if calls are refused while nothing can be written. */
  readonly refuses: boolean;
}

/** A server that has connected by itself. */
export interface DialledInReport {
  readonly name: string;
  /** The program's name for itself. */
  readonly program: string;
  readonly version: string;
  readonly state: DialInState;
  /** True if the config names it, so that nobody has to decide. */
  readonly configured: boolean;
  /** The rule that blocks it, or null. */
  readonly blockedBy: string | null;
  readonly since: string;
}

/** The accounts of tools' answers since the daemon started. */
interface AnswersReport {
  readonly tools: readonly ToolAnswers[];
  /** How tokens are estimated, in words. */
  readonly estimate: string;
}

/** Results that are kept in full. */
export interface KeptReport {
  readonly count: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** The daemon as a whole. */
export interface StatusReport {
  readonly pid: number;
  readonly version: string;
  /** The version and a hash of the sources. */
  readonly build: string;
  /** True if a client started it; then it ends when nobody uses it. */
  readonly autostarted: boolean;
  /** True if a program such as systemd holds its socket, and starts the next daemon too. */
  readonly activated: boolean;
  readonly socketPath: string;
  readonly uptimeMs: number;
  readonly clients: number;
  /** The number of clients per protocol version. */
  readonly protocolVersions: Readonly<Record<string, number>>;
  /** Clients without a connection that may come back. */
  readonly parked: number;
  /** Bytes that are kept for them. */
  readonly parkedBytes: number;
  /** Calls that were answered with questions and wait for a retry. */
  readonly suspended: number;
  /** Programs whose clients must come back with answers; missing from older daemons. */
  readonly waitingPrograms?: number;
  readonly memory: MemoryReport;
  readonly instances: readonly InstanceReport[];
  readonly latencies: readonly ServerLatency[];
  readonly latencyBoundsMs: readonly number[];
  /** The tools with the most expensive answers; missing from older daemons. */
  readonly answers?: readonly ToolAnswers[];
  /** The results that were cut and are kept in full. */
  readonly keptResults?: KeptReport;
  readonly dialledIn: readonly DialledInReport[];
  readonly counters: Readonly<Record<string, number>>;
  /** Errors that the bridge itself answered with, by code. */
  readonly errors: Readonly<Record<string, number>>;
  readonly configFile: string | null;
  /** True if a flag or the environment named the file. Otherwise it is searched for from `configDir` up. */
  readonly configNamed: boolean;
  readonly configDir: string;
  /** The address from `--http`, or null; missing from older daemons. */
  readonly httpFlag?: string | null;
  /** The beginning of URLs where it listens besides its socket, or null. */
  readonly httpOrigin?: string | null;
  /** MCP_SERVERS_CONFIG in its environment, or null. */
  readonly serversConfig: string | null;
  readonly configFaults: readonly string[];
  /** Faults in the files that define servers. */
  readonly definitionFaults: readonly string[];
  /** Missing inputs in the caller's directory, by server; null if unknown. */
  readonly missingInputs?: Readonly<Record<string, readonly string[]>> | null;
  /** Definitions in the caller's directory that wait for approval; null if that directory was not searched. */
  readonly pendingApprovals: number | null;
  /** Null if calls are not recorded. */
  readonly audit: AuditReport | null;
  /** Null if no traces and metrics are sent; missing from older daemons. */
  readonly telemetry?: TelemetryReport | null;
}

/** A connected client, or one that may come back. */
export interface ClientReport {
  readonly clientId: string;
  readonly name: string;
  readonly version: string;
  /** The protocol version that it speaks; null until known. */
  readonly protocolVersion: string | null;
  readonly view: string;
  readonly state: string;
  readonly connectedAt: string;
  readonly inFlight: number;
  /** The number of its open `subscriptions/listen` requests. */
  readonly listening: number;
  /** The user who owns the connecting process. */
  readonly uid: number;
  /** The name of its HTTP token, or null; missing from older daemons. */
  readonly token?: string | null;
  /** The user and host of a client of another host, as `USER@HOST`, or null. */
  readonly from?: string | null;
  /** Its process and working directory as it reports them; null if it does not. */
  readonly pid: number | null;
  readonly cwd: string | null;
  /** Names of the servers that it uses. */
  readonly servers: readonly string[];
  /** Methods that it accepts from other clients: true for all, false for none, or a list. */
  readonly accepts: boolean | readonly string[];
  /** True if others may write letters to it. */
  readonly mailbox: boolean;
}

/** Names of servers that changed in a reload. */
export interface ReloadReport {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Faults in files and entries, and settings that apply only after a restart. */
  readonly faults: readonly string[];
}

/** An error in words for people. */
interface Failure {
  readonly message: string;
  readonly hint: string;
  /** Existing names similar to the missing one; not every daemon reports them. */
  readonly near?: readonly string[];
}

/** The numbers of a server's items after a refresh; null if unknown. */
export interface ServerRefresh {
  readonly server: string;
  readonly tools: number | null;
  readonly prompts: number | null;
  readonly resources: number | null;
  readonly templates: number | null;
  /** Names of tools that have changed. */
  readonly newTools: readonly string[];
  readonly goneTools: readonly string[];
  readonly changedTools: readonly string[];
  /** The reason why the refresh failed, or null. */
  readonly error: Failure | null;
}

export interface RefreshReport {
  readonly servers: readonly ServerRefresh[];
}

/** A tool's definition at some time. */
export interface ShownDefinition {
  readonly hash: string;
  /** Null if it was too long to keep. */
  readonly definition: unknown;
}

/** A tool that is new, or has changed since it was accepted. */
export interface ChangedTool {
  readonly tool: string;
  readonly state: 'new' | 'changed';
  /** The definition first seen or last accepted; null for a new tool, or if it is no longer known. */
  readonly before: ShownDefinition | null;
  readonly now: ShownDefinition;
}

export interface ChangedServer {
  readonly server: string;
  /** The treatment of changed tools. */
  readonly policy: 'allow' | 'warn' | 'block';
  readonly tools: readonly ChangedTool[];
}

export interface ChangesReport {
  readonly servers: readonly ChangedServer[];
  /** The error for a server that does not exist, or null. */
  readonly unknown: Failure | null;
}

/** The result of accepting tools. */
export interface AcceptReport {
  readonly accepted: readonly string[];
  /** Tools that have changed again since they were shown, and are therefore not accepted. */
  readonly others: readonly string[];
  readonly unknown: Failure | null;
  /** False if the decision could not be written to its file. */
  readonly isKept: boolean;
}

/** The kept part of a process's stderr, without secrets. */
export interface ProcessLog {
  readonly pid: number | null;
  readonly running: boolean;
  /** The positions of the text's first and last byte, counted from the start of the process. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface LogsReport {
  readonly server: string;
  /** The transport of the server; null if there is no such server. Only `stdio` servers are processes of the bridge. */
  readonly transport: 'stdio' | 'http' | 'sse' | 'ws' | 'auto' | 'dial-in' | 'bus' | null;
  /** The last process of each instance. */
  readonly processes: readonly ProcessLog[];
  readonly unknown: Failure | null;
}

/** The servers in registries, for other programs. */
export interface RunningReport {
  readonly servers: readonly Omit<RunningServer, 'entry'>[];
  readonly warnings: readonly string[];
}

/** The answer to ending a watch; false if this connection has no watch of that name. */
interface UnwatchReport {
  readonly ended: boolean;
}

/** The answer of a daemon that is about to stop. */
interface StopReport {
  readonly pid: number;
  readonly openCalls: number;
}

/** An instance of a server in detail. */
export interface InstanceDetail {
  /** The number that identifies it in events. */
  readonly instance: number;
  readonly pid: number | null;
  /** As in `status`. */
  readonly state: string;
  /** The clients that it is for, in words. */
  readonly for: string;
  /** The id of its only client, if it is dedicated; else null. */
  readonly dedicatedTo: string | null;
  /** The ids of its clients, up to 100; `clientCount` counts all. */
  readonly clients: readonly string[];
  readonly clientCount: number;
  readonly restarts: number;
  readonly inFlight: number;
  readonly calls: number;
  readonly requests: number;
  /** True during a call in which the server may ask something; other clients may have to wait for it. */
  readonly isEngaged: boolean;
  readonly protocolVersion: string | null;
  readonly lastError: string | null;
  readonly errorCode: string | null;
}

export interface ServerInstances {
  readonly server: string;
  /** How clients share it: `auto`, `shared` or `dedicated`; null if nobody has used it yet. */
  readonly sharing: string | null;
  /** The reason why it has several instances, or null. */
  readonly reason: string | null;
  readonly instances: readonly InstanceDetail[];
}

interface InstancesReport {
  readonly servers: readonly ServerInstances[];
  readonly unknown: Failure | null;
}

/** An unanswered question of a server. */
export interface QuestionReport {
  readonly server: string;
  /** `sampling`, `elicitation`, `roots`, `tasks`; or `input`, if a call waits for answers. */
  readonly about: string;
  /** Null until it is certain which client it is for. */
  readonly client: string | null;
  readonly state: 'held' | 'asked';
}

interface QuestionsReport {
  readonly questions: readonly QuestionReport[];
}

export interface ToolReport {
  readonly name: string;
  readonly title: string | null;
  /** Shortened, unless a server was named. */
  readonly description: string;
  /** The length of the definition that a model reads. */
  readonly bytes: number;
  readonly hash: string;
  /** The rule that forbids it to all clients, or null. */
  readonly refusal: (Failure & { readonly code: string }) | null;
  /** True if it differs from what the user accepted. */
  readonly isChanged: boolean;
  readonly tags: readonly string[];
  /** The server's definition, if a server was named. */
  readonly definition?: Readonly<Record<string, unknown>>;
}

export interface KnownToolList {
  readonly server: string;
  /** False if the server has never listed its tools. */
  readonly isKnown: boolean;
  readonly tools: readonly ToolReport[];
}

export interface ToolsReport {
  readonly servers: readonly KnownToolList[];
  readonly unknown: Failure | null;
}

interface SearchParams extends OfServer {
  readonly query?: string;
  readonly limit?: number;
}

/** A search like those of clients, with the reasons for the order. */
export interface SearchReport {
  readonly hits: readonly SearchHit[];
  /**
   * The words of the query that count, with the stems they may mean. `findsAny` is false if no tool has the word: a
   * synonym may help.
   */
  readonly words: readonly { readonly word: string; readonly meant: readonly string[]; readonly findsAny: boolean }[];
  /** Servers whose tools are unknown and were not searched. */
  readonly notSearched: readonly string[];
  readonly unknown: Failure | null;
}

interface SearchHit {
  readonly server: string;
  readonly tool: string;
  readonly title: string | null;
  readonly description: string;
  /** From 0 to 1. */
  readonly relevance: number;
  /** The words of the query that the tool has, most important first. */
  readonly matches: readonly WordMatch[];
}

/** A word of a query, and where a tool or its server has it. */
interface WordMatch {
  readonly word: string;
  /** The word as the tool spells it. */
  readonly matched: string;
  readonly field: 'name' | 'title' | 'tags' | 'description' | 'parameters' | 'server';
  readonly how: 'exact' | 'stem' | 'synonym' | 'beginning' | 'typo' | 'phrase';
  /** The part of the query that this word covers, from 0 to 1. */
  readonly weight: number;
}

/** A setting as the daemon uses it. */
export interface SettingReport {
  /** Its path in a config file, such as `limits.maxClients`. */
  readonly name: string;
  readonly value: unknown;
  readonly default: unknown;
  /** `default` if the value equals the default, even if the config sets it. */
  readonly from: 'default' | 'config';
  /** Markdown. */
  readonly description: string;
}

interface SettingsReport {
  readonly configFile: string | null;
  readonly settings: readonly SettingReport[];
}
