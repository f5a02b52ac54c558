// Answers of the control methods, as data. The daemon writes them, the command and scripts read them, and `--json` prints
// them as they are: fields may be added, but never change their meaning.

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

/** The methods of the role `control`, each with its params and its answer. Any param may be left out. */
interface ControlMethods {
  'bridge/status': { params: InDirectory; answer: StatusReport };
  'bridge/connections': { params: object; answer: readonly ClientReport[] };
  'bridge/reload': { params: object; answer: ReloadReport };
  'bridge/running': { params: InDirectory; answer: RunningReport };
  /** Null if the daemon meets no other hosts. */
  'bridge/hosts': { params: object; answer: FederationReport | null };
  'bridge/refresh': { params: InDirectory & { readonly servers?: readonly string[] }; answer: RefreshReport };
  'bridge/changes': { params: OfServer; answer: ChangesReport };
  /** `tools` has the hash of each tool as it was shown. */
  'bridge/accept': { params: OfServer & { readonly tools?: Readonly<Record<string, string>> }; answer: AcceptReport };
  /** `after` has a position by pid; the text begins there. */
  'bridge/logs': { params: OfServer & { readonly after?: Readonly<Record<string, number>> }; answer: LogsReport };
  /** Answers, and sends notifications `bridge/event` on the same connection from then on. */
  'bridge/watch': { params: WatchParams; answer: WatchReport };
  'bridge/unwatch': { params: { readonly watch?: string }; answer: UnwatchReport };
  /** `last` is the number of events; else all that are kept. */
  'bridge/events': { params: EventConditions & { readonly last?: number }; answer: PastReport };
  'bridge/calls': { params: { readonly limit?: number }; answer: CallsReport };
  /** Ends a call by the name that events and `bridge/calls` give it. */
  'bridge/cancel': { params: { readonly call?: string }; answer: CancelReport };
  'bridge/messages': { params: object; answer: MessagesReport };
  'bridge/instances': { params: OfServer; answer: InstancesReport };
  'bridge/questions': { params: object; answer: QuestionsReport };
  /** With `server` the tools have their definitions. */
  'bridge/tools': { params: OfServer; answer: ToolsReport };
  'bridge/settings': { params: object; answer: SettingsReport };
  'bridge/search': { params: SearchParams; answer: SearchReport };
  /** All tools that have answered, the costliest first, or the first `limit`. */
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

/** A running copy of a server, or a server of which none runs. */
export interface InstanceReport {
  readonly server: string;
  readonly pid: number | null;
  /** `idle`, `starting`, `ready`, `stopping`, `stopped`, `failed`, or `broken` after too many failures. */
  readonly state: string;
  /** The version of MCP that was agreed on with it, now or the last time; null if it never ran. */
  readonly protocolVersion: string | null;
  readonly sessions: number;
  readonly restarts: number;
  /** `calls` counts calls of tools that it was sent; `requests` counts all requests, calls included. */
  readonly calls: number;
  readonly requests: number;
  /** Requests without an answer yet. */
  readonly inFlight: number;
  /** Joined lists are without it, because it has not answered. */
  readonly leftOut: boolean;
  /** The reason why it last failed to start, or ended. */
  readonly lastError: string | null;
  /** The code of that error, such as SERVER_START_FAILED. */
  readonly errorCode: string | null;
}

/** Memory of the daemon's own process. */
export interface MemoryReport {
  readonly residentBytes: number;
  readonly heapBytes: number;
}

/** The record of calls. */
export interface AuditReport {
  readonly file: string;
  /** Lines written and lost since the daemon started. */
  readonly lines: number;
  readonly lost: number;
  /** The reason why nothing can be written at present. */
  readonly failure: string | null;
  /** Calls are refused while nothing can be written. */
  readonly refuses: boolean;
}

/** A server that has connected by itself. */
export interface DialledInReport {
  readonly name: string;
  /** Its own name for its program. */
  readonly program: string;
  readonly version: string;
  readonly state: DialInState;
  /** The config has its name, so nobody has to decide about it. */
  readonly configured: boolean;
  /** The rule that blocks it, or null. */
  readonly blockedBy: string | null;
  readonly since: string;
}

/** The accounts of the answers of tools since the daemon started. */
interface AnswersReport {
  readonly tools: readonly ToolAnswers[];
  /** The way in which tokens are estimated, in words. */
  readonly estimate: string;
}

/** Results that are kept whole. */
export interface KeptReport {
  readonly count: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** The whole daemon. */
export interface StatusReport {
  readonly pid: number;
  readonly version: string;
  /** The version and a hash of the sources. */
  readonly build: string;
  /** A client has started it, so it ends when nobody uses it. */
  readonly autostarted: boolean;
  /** Its socket was handed over by a program, such as systemd, that also starts the next daemon. */
  readonly activated: boolean;
  readonly socketPath: string;
  readonly uptimeMs: number;
  readonly clients: number;
  /** How many of them speak each version of the protocol. */
  readonly protocolVersions: Readonly<Record<string, number>>;
  /** Clients without a connection that may come back. */
  readonly parked: number;
  /** Bytes that are kept for them. */
  readonly parkedBytes: number;
  /** Calls that were answered with questions, and that wait for the request that goes on with them. */
  readonly suspended: number;
  /** Programs of models whose clients are to come back with answers. A daemon of an earlier build does not say. */
  readonly waitingPrograms?: number;
  readonly memory: MemoryReport;
  readonly instances: readonly InstanceReport[];
  readonly latencies: readonly ServerLatency[];
  readonly latencyBoundsMs: readonly number[];
  /** The tools whose answers cost models most, the costliest first. Daemons before accounts say nothing of it. */
  readonly answers?: readonly ToolAnswers[];
  /** The results that were cut, and are kept whole. */
  readonly keptResults?: KeptReport;
  readonly dialledIn: readonly DialledInReport[];
  readonly counters: Readonly<Record<string, number>>;
  /** Errors that the bridge itself answered, by their code. */
  readonly errors: Readonly<Record<string, number>>;
  readonly configFile: string | null;
  /** The file was named by flag or environment. Otherwise it is looked for from `configDir` on. */
  readonly configNamed: boolean;
  readonly configDir: string;
  /** The address of `--http`, or null. Daemons before there was one say nothing of it. */
  readonly httpFlag?: string | null;
  /** The beginning of URLs where it listens for HTTP beside its socket, or null. */
  readonly httpOrigin?: string | null;
  /** MCP_SERVERS_CONFIG in its environment, or null. */
  readonly serversConfig: string | null;
  readonly configFaults: readonly string[];
  /** Faults in the files that define servers. */
  readonly definitionFaults: readonly string[];
  /** Missing inputs in the caller's directory, by server; null if they are not known. */
  readonly missingInputs?: Readonly<Record<string, readonly string[]>> | null;
  /** Definitions in the caller's directory that wait for approval; null if the daemon has not looked there. */
  readonly pendingApprovals: number | null;
  /** Null if calls are not recorded. */
  readonly audit: AuditReport | null;
  /** Null if no traces and metrics are sent. A daemon of an earlier build does not say. */
  readonly telemetry?: TelemetryReport | null;
}

/** A connected client, or one that may come back. */
export interface ClientReport {
  readonly clientId: string;
  readonly name: string;
  readonly version: string;
  /** The version of the protocol that it speaks; null before it is known. */
  readonly protocolVersion: string | null;
  readonly view: string;
  readonly state: string;
  readonly connectedAt: string;
  readonly inFlight: number;
  /** Its open requests `subscriptions/listen`. */
  readonly listening: number;
  /** The user whose process has connected. */
  readonly uid: number;
  /** The name of the token with which it has come over HTTP, or null. Daemons before tokens say nothing of it. */
  readonly token?: string | null;
  /** The user and the host of a client of another host, `USER@HOST`, or null. */
  readonly from?: string | null;
  /** Its process and working directory, as it says itself; null if it does not. */
  readonly pid: number | null;
  readonly cwd: string | null;
  /** Names of the servers that it uses. */
  readonly servers: readonly string[];
  /** Methods that it accepts from other clients: all, none, or these. */
  readonly accepts: boolean | readonly string[];
  /** Others may write letters to it. */
  readonly mailbox: boolean;
}

/** Names of servers that differ after a reload. */
export interface ReloadReport {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Faults in files and entries, and settings that apply only after a restart. */
  readonly faults: readonly string[];
}

/** An error, for people. */
interface Failure {
  readonly message: string;
  readonly hint: string;
  /** Existing names like the one that does not exist; not every daemon says. */
  readonly near?: readonly string[];
}

/** Numbers of what a server has after a refresh; null where it does not say. */
export interface ServerRefresh {
  readonly server: string;
  readonly tools: number | null;
  readonly prompts: number | null;
  readonly resources: number | null;
  readonly templates: number | null;
  /** Names of tools that differ from those known before. */
  readonly newTools: readonly string[];
  readonly goneTools: readonly string[];
  readonly changedTools: readonly string[];
  /** The reason why the refresh failed, or null. */
  readonly error: Failure | null;
}

export interface RefreshReport {
  readonly servers: readonly ServerRefresh[];
}

/** A tool's definition at one time. */
export interface ShownDefinition {
  readonly hash: string;
  /** Null for one that was too long to keep. */
  readonly definition: unknown;
}

/** A tool that is new, or has changed since it was accepted. */
export interface ChangedTool {
  readonly tool: string;
  readonly state: 'new' | 'changed';
  /** The definition that was first seen or accepted; null for a new tool, or if it is not known any more. */
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

/** Tools that were accepted. */
export interface AcceptReport {
  readonly accepted: readonly string[];
  /** Tools that have changed again since they were shown, and are not accepted. */
  readonly others: readonly string[];
  readonly unknown: Failure | null;
  /** False if the decision could not be written to its file. */
  readonly isKept: boolean;
}

/** The kept part of a process's stderr, without secrets. */
export interface ProcessLog {
  readonly pid: number | null;
  readonly running: boolean;
  /** The first and last byte of the text, counted from the start of the process. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface LogsReport {
  readonly server: string;
  /** The transport of the server, or null if there is no such server. Only `stdio` servers are processes of the bridge. */
  readonly transport: 'stdio' | 'http' | 'sse' | 'ws' | 'auto' | 'dial-in' | 'bus' | null;
  /** The last process of each instance. */
  readonly processes: readonly ProcessLog[];
  readonly unknown: Failure | null;
}

/** The servers that registries list, for programs other than the command. */
export interface RunningReport {
  readonly servers: readonly Omit<RunningServer, 'entry'>[];
  readonly warnings: readonly string[];
}

/** The answer to the end of a watch; false if this connection has none of that name. */
interface UnwatchReport {
  readonly ended: boolean;
}

/** The answer of a daemon that is about to stop. */
interface StopReport {
  readonly pid: number;
  readonly openCalls: number;
}

/** A copy of a server, in full. */
export interface InstanceDetail {
  /** The number that events name it by. */
  readonly instance: number;
  readonly pid: number | null;
  /** As in `status`. */
  readonly state: string;
  /** The clients that it is for, in words. */
  readonly for: string;
  /** The id of the one client that it is for, or null. */
  readonly dedicatedTo: string | null;
  /** The ids of its clients: the first 100 of `clientCount`. */
  readonly clients: readonly string[];
  readonly clientCount: number;
  readonly restarts: number;
  readonly inFlight: number;
  readonly calls: number;
  readonly requests: number;
  /** A call during which the server may ask something is under way; others may have to wait for it. */
  readonly isEngaged: boolean;
  readonly protocolVersion: string | null;
  readonly lastError: string | null;
  readonly errorCode: string | null;
}

export interface ServerInstances {
  readonly server: string;
  /** How clients share it: `auto`, `shared` or `dedicated`; null if nobody has needed it yet. */
  readonly sharing: string | null;
  /** The reason why it has several instances, or null. */
  readonly reason: string | null;
  readonly instances: readonly InstanceDetail[];
}

interface InstancesReport {
  readonly servers: readonly ServerInstances[];
  readonly unknown: Failure | null;
}

/** A question of a server that has no answer yet. */
export interface QuestionReport {
  readonly server: string;
  /** `sampling`, `elicitation`, `roots`, `tasks`; or `input`, for answers that a call waits for. */
  readonly about: string;
  /** Null while it is not certain which client it is for. */
  readonly client: string | null;
  readonly state: 'held' | 'asked';
}

interface QuestionsReport {
  readonly questions: readonly QuestionReport[];
}

export interface ToolReport {
  readonly name: string;
  readonly title: string | null;
  /** Cut, unless one server was asked for. */
  readonly description: string;
  /** The length of the definition, which a model reads. */
  readonly bytes: number;
  readonly hash: string;
  /** The rule that forbids it to all clients, or null. */
  readonly refusal: (Failure & { readonly code: string }) | null;
  /** It differs from what the user accepted. */
  readonly isChanged: boolean;
  readonly tags: readonly string[];
  /** The definition as its server gives it, if one server was asked for. */
  readonly definition?: Readonly<Record<string, unknown>>;
}

export interface KnownToolList {
  readonly server: string;
  /** False for a server that has never listed its tools. */
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

/** A search as clients get it, with the reasons for its order. */
export interface SearchReport {
  readonly hits: readonly SearchHit[];
  /** The words of the question that count, with the stems that each is taken for. `findsAny` is false for one that no tool has: a synonym may help. */
  readonly words: readonly { readonly word: string; readonly meant: readonly string[]; readonly findsAny: boolean }[];
  /** Servers whose tools are not known, and were not searched. */
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
  /** The words of the question that the tool has, the most important first. */
  readonly matches: readonly WordMatch[];
}

/** A word of a question, and where a tool or its server has it. */
interface WordMatch {
  readonly word: string;
  /** As it stands in the tool. */
  readonly matched: string;
  readonly field: 'name' | 'title' | 'tags' | 'description' | 'parameters' | 'server';
  readonly how: 'exact' | 'stem' | 'synonym' | 'beginning' | 'typo' | 'phrase';
  /** The part of the question that this answers, from 0 to 1. */
  readonly weight: number;
}

/** A setting as the daemon uses it. */
export interface SettingReport {
  /** Its place in a config file, such as `limits.maxClients`. */
  readonly name: string;
  readonly value: unknown;
  readonly default: unknown;
  /** `default` for one whose value is the default, wherever that stands. */
  readonly from: 'default' | 'config';
  /** Markdown. */
  readonly description: string;
}

interface SettingsReport {
  readonly configFile: string | null;
  readonly settings: readonly SettingReport[];
}
