// What the control methods answer: the daemon writes it, the command and scripts read it. `--json` prints it as it is.

import type { DialInState } from '../protocol/inbound-server.ts';

export interface InstanceReport {
  readonly server: string;
  readonly pid: number | null;
  /** `idle`, `starting`, `ready`, `stopping`, `stopped`; `failed`, or `broken` if that was too often. */
  readonly state: string;
  readonly sessions: number;
  readonly restarts: number;
  /** Calls of tools that it was sent, and requests of clients in all: those, lists, reads and so on. */
  readonly calls: number;
  readonly requests: number;
  /** Requests that are not answered yet. */
  readonly inFlight: number;
  /** Whether joined lists were made without it, because it has not answered. */
  readonly leftOut: boolean;
  /** Why it could not be started, or has gone, when that happened last. */
  readonly lastError: string | null;
  /** The code of that error, such as SERVER_START_FAILED. */
  readonly errorCode: string | null;
}

/** How long a server takes for its answers, since the daemon has started. */
export interface LatencyReport {
  readonly server: string;
  /** How many answers took as long as each of `latencyBoundsMs` at most, and longer than the one before; the last, longer. */
  readonly buckets: readonly number[];
  readonly sumMs: number;
  /** The longest that one of them took. */
  readonly maxMs: number;
  /** Answers among them that were errors. */
  readonly errors: number;
  /** Requests besides that were given up, or that the server has died over. */
  readonly unanswered: number;
}

/** Of the daemon's own process. */
export interface MemoryReport {
  readonly residentBytes: number;
  readonly heapBytes: number;
}

export interface AuditReport {
  readonly file: string;
  /** Since the daemon has started: what was written, and what never will be. */
  readonly lines: number;
  readonly lost: number;
  /** Why nothing can be written at present. */
  readonly failure: string | null;
  /** Whether calls are refused for that. */
  readonly refuses: boolean;
}

/** A server that has connected by itself. */
export interface DialledInReport {
  readonly name: string;
  /** What it says of itself. */
  readonly program: string;
  readonly version: string;
  readonly state: DialInState;
  /** Whether the config has its name, so that nobody has to decide about it. */
  readonly configured: boolean;
  /** Why policy blocks it; null if it does not. */
  readonly blockedBy: string | null;
  readonly since: string;
}

export interface StatusReport {
  readonly pid: number;
  readonly version: string;
  /** The version and what the program was made of. */
  readonly build: string;
  /** Whether a client has started it, so that it ends when nobody uses it. */
  readonly autostarted: boolean;
  /** Whether its socket was handed to it, by whoever starts the next daemon for it. */
  readonly activated: boolean;
  readonly socketPath: string;
  readonly uptimeMs: number;
  readonly clients: number;
  /** Those of them that are away, and may come back. */
  readonly parked: number;
  /** What is kept for them. */
  readonly parkedBytes: number;
  readonly memory: MemoryReport;
  readonly instances: readonly InstanceReport[];
  readonly latencies: readonly LatencyReport[];
  readonly latencyBoundsMs: readonly number[];
  readonly dialledIn: readonly DialledInReport[];
  readonly counters: Readonly<Record<string, number>>;
  /** Errors that clients got from the bridge itself, by their code. */
  readonly errors: Readonly<Record<string, number>>;
  readonly configFile: string | null;
  /** Whether that file was named; else it was found, and would be again, from this directory on. */
  readonly configNamed: boolean;
  readonly configDir: string;
  /** MCP_SERVERS_CONFIG in its environment; null if that is not set. */
  readonly serversConfig: string | null;
  readonly configFaults: readonly string[];
  /** What is wrong with the files that servers are looked for in. */
  readonly definitionFaults: readonly string[];
  /** The inputs that are missing where the client works, by servers; null if that is not known. */
  readonly missingInputs?: Readonly<Record<string, readonly string[]>> | null;
  /** How many definitions wait for approval in the directory of whoever asks; null if the daemon has not looked there. */
  readonly pendingApprovals: number | null;
  /** Null if calls are not recorded. */
  readonly audit: AuditReport | null;
}

export interface ClientReport {
  readonly clientId: string;
  readonly name: string;
  readonly version: string;
  readonly view: string;
  readonly state: string;
  readonly connectedAt: string;
  readonly inFlight: number;
  /** What it says of its own process, and of the directory that it works in; null if it has not said so. */
  readonly pid: number | null;
  readonly cwd: string | null;
  /** The servers that it uses, by name. */
  readonly servers: readonly string[];
  /** The methods that it takes from other clients: all, none, or these. */
  readonly accepts: boolean | readonly string[];
  /** Whether others may write to it. */
  readonly mailbox: boolean;
}

/** Of a daemon that has looked for its servers anew: names of those that are others now. */
export interface ReloadReport {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** What is wrong with files and entries, and what of the config counts from the next start only. */
  readonly faults: readonly string[];
}

interface Failure {
  readonly message: string;
  readonly hint: string;
}

/** What a server has; null where it has not said so. */
export interface ServerRefresh {
  readonly server: string;
  readonly tools: number | null;
  readonly prompts: number | null;
  readonly resources: number | null;
  readonly templates: number | null;
  /** Against what was known before; names. */
  readonly newTools: readonly string[];
  readonly goneTools: readonly string[];
  readonly changedTools: readonly string[];
  /** Why nothing is known of it. */
  readonly error: Failure | null;
}

export interface RefreshReport {
  readonly servers: readonly ServerRefresh[];
}

export interface ShownDefinition {
  readonly hash: string;
  /** Null if it was too long to keep. */
  readonly definition: unknown;
}

export interface ChangedTool {
  readonly tool: string;
  readonly state: 'new' | 'changed';
  /** What was first seen, or accepted; null for a new one, and where nobody knows any more. */
  readonly before: ShownDefinition | null;
  readonly now: ShownDefinition;
}

export interface ChangedServer {
  readonly server: string;
  /** What becomes of changed tools. */
  readonly policy: 'allow' | 'warn' | 'block';
  readonly tools: readonly ChangedTool[];
}

export interface ChangesReport {
  readonly servers: readonly ChangedServer[];
  /** That there is no such server. */
  readonly unknown: Failure | null;
}

export interface AcceptReport {
  readonly accepted: readonly string[];
  /** Those that are not what was shown any more. */
  readonly others: readonly string[];
  readonly unknown: Failure | null;
  /** Whether it could be written down. */
  readonly isKept: boolean;
}

/** What one process of a server has written on stderr, as far as it is still kept, without secrets. */
export interface ProcessLog {
  readonly pid: number | null;
  readonly running: boolean;
  /** Where the text begins and ends in all that the process has written, in bytes. */
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface LogsReport {
  readonly server: string;
  /** How it is reached; null if there is no such server. Only those of `stdio` have processes of the bridge's. */
  readonly transport: 'stdio' | 'http' | 'sse' | 'ws' | 'auto' | 'dial-in' | null;
  /** The last process of each instance. */
  readonly processes: readonly ProcessLog[];
  readonly unknown: Failure | null;
}

/** Of a daemon that was told to stop. */
export interface StopReport {
  readonly pid: number;
  readonly openCalls: number;
}
