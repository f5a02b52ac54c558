// Reports on the daemon, its clients and its instances. It only reads.

import { type CallMeters, LATENCY_BOUNDS_MS } from '../core/call-meter.ts';
import type { ConnectionManager } from '../core/connection-manager.ts';
import type { Counters } from '../core/counters.ts';
import type { Instance } from '../core/instance.ts';
import type { Server } from '../core/server.ts';
import type { Session } from '../core/session.ts';
import type { ToolAccounts } from '../core/tool-accounts.ts';
import type { InstanceRunner } from '../downstream/instance-runner.ts';
import type { ClientMessaging } from '../messaging/client-messaging.ts';
import { grantOf, type Principal } from '../model/principal.ts';
import type { TelemetryReport } from '../model/telemetry-report.ts';
import { systemClock } from '../util/clock.ts';
import type {
  AuditReport,
  ClientReport,
  DialledInReport,
  InstanceReport,
  KeptReport,
  MemoryReport,
  StatusReport,
} from './report.ts';

/** The maximum number of tools in `status`: those with the most expensive answers. */
const MOST_ANSWERS = 100;

/** The parts of a daemon that status is read from. */
export interface StatusSources {
  readonly options: DaemonFacts;
  readonly startedMs: number;
  /** True if another program holds the socket and starts the next daemon too. */
  readonly isActivated: boolean;
  readonly connections: ConnectionManager;
  readonly pool: { report(): InstanceReport[] };
  readonly suspended: { readonly size: number };
  readonly waitingPrograms: number;
  readonly meters: CallMeters;
  readonly accounts: ToolAccounts;
  readonly results: { readonly report: KeptReport };
  readonly dialIns: { report(): DialledInReport[] };
  readonly counters: Counters;
  readonly definitions: {
    readonly faults: readonly string[];
    /** Undefined for a directory that was not searched yet. */
    missingIn(cwd: string): Readonly<Record<string, readonly string[]>> | undefined;
    pendingIn(cwd: string): number | undefined;
  };
  readonly audit: { report(): AuditReport } | undefined;
  readonly http: { readonly origin: string | undefined };
  readonly telemetry: { report(): TelemetryReport } | undefined;
}

/** The settings and paths that a daemon was started with. */
interface DaemonFacts {
  readonly pid: number;
  readonly version: string;
  readonly build: string;
  readonly socketPath: string;
  readonly configDir: string;
  readonly httpFlag?: string | undefined;
  readonly isAutostarted: boolean;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly memory: () => MemoryReport;
  readonly finder: {
    readonly config: { readonly file?: string | undefined; readonly origin: string };
    readonly configFaults: readonly string[];
  };
}

/** Reports on the whole daemon; missing inputs and approvals are those of the directory `cwd`. */
export function statusReport(of: StatusSources, cwd: string | undefined): StatusReport {
  const { pid, version, build, socketPath, finder, isAutostarted } = of.options;
  return {
    pid,
    version,
    build,
    autostarted: isAutostarted,
    activated: of.isActivated,
    socketPath,
    uptimeMs: Math.round(systemClock.now() - of.startedMs),
    clients: of.connections.clients().length,
    protocolVersions: versionsOf(of.connections.clients()),
    parked: of.connections.parkedCount,
    parkedBytes: of.connections.parkedBytes,
    suspended: of.suspended.size,
    waitingPrograms: of.waitingPrograms,
    memory: of.options.memory(),
    instances: of.pool.report(),
    latencies: of.meters.report(),
    latencyBoundsMs: LATENCY_BOUNDS_MS,
    answers: of.accounts.report().slice(0, MOST_ANSWERS),
    keptResults: of.results.report,
    dialledIn: of.dialIns.report(),
    counters: { ...of.counters },
    errors: of.counters.errorsByCode(),
    configFile: finder.config.file ?? null,
    configNamed: finder.config.origin === 'named',
    configDir: of.options.configDir,
    httpFlag: of.options.httpFlag ?? null,
    httpOrigin: of.http.origin ?? null,
    serversConfig: of.options.environment.MCP_SERVERS_CONFIG || null,
    configFaults: finder.configFaults,
    definitionFaults: of.definitions.faults,
    missingInputs: cwd === undefined ? null : (of.definitions.missingIn(cwd) ?? null),
    pendingApprovals: cwd === undefined ? null : (of.definitions.pendingIn(cwd) ?? null),
    audit: of.audit?.report() ?? null,
    telemetry: of.telemetry?.report() ?? null,
  };
}

function versionsOf(sessions: readonly Session[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { protocolVersion } of sessions)
    if (protocolVersion !== undefined) counts.set(protocolVersion, (counts.get(protocolVersion) ?? 0) + 1);
  return Object.fromEntries([...counts].toSorted());
}

/** Reports on each client. */
export function clientReports(connections: ConnectionManager, messaging: ClientMessaging): ClientReport[] {
  return connections.clients().map((session) => {
    const { accepts = false, mailbox = false } = messaging.participants.describe(session) ?? {};
    return {
      clientId: session.clientId,
      name: session.name,
      version: session.version,
      protocolVersion: session.protocolVersion ?? null,
      view: session.role === 'control' ? 'control' : (session.view?.name ?? ''),
      state: connections.isParked(session) ? 'parked' : session.state,
      connectedAt: session.connectedAt.toISOString(),
      inFlight: session.calls.size - (session.listens?.size ?? 0),
      listening: session.listens?.size ?? 0,
      uid: session.principal.uid,
      pid: session.principal.pid ?? null,
      token: grantOf(session.principal)?.name ?? null,
      from: originIn(session.principal),
      cwd: session.cwd ?? null,
      servers: serversOf(session),
      accepts,
      mailbox,
    };
  });
}

/** The user and the host of a client of another host. */
function originIn(principal: Principal): string | null {
  return principal.kind === 'bus' ? `${principal.user}@${principal.host}` : null;
}

/** Servers with an instance that the client uses; seeing one in a list does not count. */
function serversOf(session: Session): string[] {
  return [...new Set([...session.instances()].map(({ server }) => server))].toSorted();
}

// --- instances ---

type RunnerOf = (instance: Instance) => InstanceRunner | undefined;

/** Reports on each instance, and on each server without one. `names` are all defined servers, in order. */
export function instanceReports(names: readonly string[], all: Iterable<Server>, runnerOf: RunnerOf): InstanceReport[] {
  const servers = new Map<string, Server[]>(names.map((name) => [name, []]));
  for (const server of all) servers.set(server.name, [...(servers.get(server.name) ?? []), server]);
  return [...servers].flatMap(([name, namesakes]) => {
    const own = namesakes.flatMap((server) =>
      [...server.instances].flatMap((instance) => reportOf(server, instance, runnerOf(instance))),
    );
    const leftOut = namesakes.some(({ isLeftOut }) => isLeftOut);
    const protocolVersion = namesakes.find(({ known }) => known.era !== undefined)?.known.era?.version ?? null;
    return own.length > 0 ? own : [{ ...NOTHING_RUNS, leftOut, protocolVersion, server: name }];
  });
}

function reportOf(server: Server, instance: Instance, runner: InstanceRunner | undefined): InstanceReport[] {
  if (runner === undefined) return [];
  const { lastFailure } = runner;
  return [
    {
      server: server.name,
      pid: runner.pid ?? null,
      state: stateOf(runner),
      protocolVersion: instance.protocolVersion ?? null,
      sessions: instance.sessions.size,
      restarts: runner.restarts,
      calls: instance.toolCallsSent,
      requests: instance.requestsSent,
      inFlight: instance.openCalls,
      leftOut: server.isLeftOut,
      lastError: lastFailure?.message ?? null,
      errorCode: lastFailure?.code ?? null,
    },
  ];
}

/** The state; an instance that died or did not start counts as failed until the next attempt, in each of its pauses. */
function stateOf({ state, lastFailure }: InstanceRunner): string {
  return lastFailure !== undefined && (state === 'idle' || state === 'waiting') ? 'failed' : state;
}

const NOTHING_RUNS = {
  pid: null,
  state: 'idle',
  sessions: 0,
  restarts: 0,
  calls: 0,
  requests: 0,
  inFlight: 0,
  lastError: null,
  errorCode: null,
};
