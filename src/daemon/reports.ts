// What the daemon says of itself and of its clients, for the verbs that ask.

import type { Agents } from '../core/agents/agents.ts';
import { type CallMeters, LATENCY_BOUNDS_MS } from '../core/call-meter.ts';
import type { ConnectionManager } from '../core/connection-manager.ts';
import type { Counters } from '../core/counters.ts';
import type { Session } from '../core/session.ts';
import { systemClock } from '../util/clock.ts';
import type { ClientReport, StatusReport } from '../wire/control-report.ts';
import type { AuditLog } from './audit-log.ts';
import type { DaemonOptions } from './daemon-options.ts';
import type { Definitions } from './definitions.ts';
import type { DialIns } from './dial-ins.ts';
import type { ServerPool } from './server-pool.ts';

export interface Reported {
  readonly options: DaemonOptions;
  readonly startedMs: number;
  /** Whether its socket is somebody else's, who starts the next daemon for it. */
  readonly isActivated: boolean;
  readonly connections: ConnectionManager;
  readonly pool: ServerPool;
  readonly meters: CallMeters;
  readonly dialIns: DialIns;
  readonly counters: Counters;
  readonly definitions: Definitions;
  readonly audit: AuditLog | undefined;
}

/** `cwd` is where whoever asks works. */
export function statusReport(of: Reported, cwd: string | undefined): StatusReport {
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
    parked: of.connections.parkedCount,
    parkedBytes: of.connections.parkedBytes,
    memory: of.options.memory(),
    instances: of.pool.report(),
    latencies: of.meters.report(),
    latencyBoundsMs: LATENCY_BOUNDS_MS,
    dialledIn: of.dialIns.report(),
    counters: { ...of.counters },
    errors: of.counters.errorsByCode(),
    configFile: finder.config.file ?? null,
    configNamed: finder.config.origin === 'named',
    configDir: of.options.configDir,
    serversConfig: of.options.environment.MCP_SERVERS_CONFIG || null,
    configFaults: finder.configFaults,
    definitionFaults: of.definitions.faults,
    missingInputs: cwd === undefined ? null : (of.definitions.missingIn(cwd) ?? null),
    pendingApprovals: cwd === undefined ? null : (of.definitions.pendingIn(cwd) ?? null),
    audit: of.audit?.report() ?? null,
  };
}

export function clientReports(connections: ConnectionManager, agents: Agents): ClientReport[] {
  return connections.clients().map((session) => {
    const { accepts = false, mailbox = false } = agents.participants.describe(session) ?? {};
    return {
      clientId: session.clientId,
      name: session.name,
      version: session.version,
      view: session.role === 'control' ? 'control' : (session.view?.name ?? ''),
      state: connections.isParked(session) ? 'parked' : session.state,
      connectedAt: session.connectedAt.toISOString(),
      inFlight: session.calls.size,
      pid: session.pid ?? null,
      cwd: session.cwd ?? null,
      servers: serversOf(session),
      accepts,
      mailbox,
    };
  });
}

/** Those that it has an instance of; one that it has only seen in a list is none of them. */
function serversOf(session: Session): string[] {
  return [...new Set([...session.instances()].map(({ server }) => server))].toSorted();
}
