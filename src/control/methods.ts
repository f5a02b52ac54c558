// The methods of the role `control`, by which the command and others ask the daemon about itself and give it orders. They
// know the daemon by one interface only, and load when the first of them is called.

import { JSONRPCServer } from 'json-rpc-2.0';
import { type Limits, ownTimeoutMs } from '../model/limits.ts';
import type { RunningServer } from '../registry/running-servers.ts';
import { systemClock } from '../util/clock.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import type { LeavingReason } from '../wire/resume-notices.ts';
import { refresh } from './refresh.ts';
import type { ClientReport, ReloadReport, StatusReport, StopReport } from './report.ts';
import { logsOf, type ServersHere } from './servers-here.ts';
import { accept, changesIn } from './tool-changes.ts';

type Params = Readonly<Record<string, unknown>>;

/** The servers that registries list, for programs other than the command. */
export interface RunningReport {
  readonly servers: readonly Omit<RunningServer, 'entry'>[];
  readonly warnings: readonly string[];
}

/** The daemon as it is asked and told: by the command, and by whatever else watches it or gives it orders. */
export interface ControlledDaemon {
  readonly pid: number;
  readonly limits: Limits;
  status(cwd?: string): Promise<StatusReport>;
  clients(): ClientReport[];
  /** Lists the servers that registries say are running: the user's, and those of `cwd`. */
  running(cwd: string | undefined): Promise<RunningReport>;
  serversFor(cwd: string | undefined): Promise<ServersHere>;
  /** Reads the config and all definitions again. */
  reload(): Promise<ReloadReport>;
  requestStop(reason: LeavingReason): void;
}

/** Answers one request's bytes with a response as JSON; a notification gets none. */
export function controlMethods(daemon: ControlledDaemon): (request: Buffer) => Promise<string | undefined> {
  const methods = new JSONRPCServer({ errorListener: () => undefined });
  methods.addMethod('bridge/status', (params: unknown) => daemon.status(textOf(membersOf(params).cwd) || undefined));
  methods.addMethod('bridge/connections', () => daemon.clients());
  methods.addMethod('bridge/reload', () => daemon.reload());
  methods.addMethod('bridge/running', (params: unknown) => daemon.running(textOf(membersOf(params).cwd) || undefined));
  const here = (params: Params): Promise<ServersHere> => daemon.serversFor(textOf(params.cwd) || undefined);
  const withServers = (name: string, answer: (here: ServersHere, params: Params) => unknown): void =>
    methods.addMethod(name, async (given: unknown) => {
      const params = isRecord(given) ? given : {};
      return answer(await here(params), params);
    });
  const options = { clock: systemClock, timeoutMs: ownTimeoutMs(daemon.limits) };
  withServers('bridge/refresh', (servers, params) => refresh(servers, params.servers, options));
  withServers('bridge/changes', (servers, { server }) => changesIn(servers, server));
  withServers('bridge/accept', (servers, { server, tools }) => accept(servers, server, tools));
  withServers('bridge/logs', (servers, { server, after }) => logsOf(servers, server, after));
  methods.addMethod('bridge/stop', (params: unknown): StopReport => {
    const reason = membersOf(params).reason === 'restart' ? 'restart' : 'stop';
    setImmediate(() => daemon.requestStop(reason)); // after the answer is written
    return { pid: daemon.pid, openCalls: daemon.clients().reduce((sum, { inFlight }) => sum + inFlight, 0) };
  });
  return async (request) => {
    const response = await methods.receiveJSON(request.toString());
    return response === null ? undefined : JSON.stringify(response);
  };
}
