// The methods of the role `control`: what `status`, `clients` and `stop` ask the daemon.

import { JSONRPCServer } from 'json-rpc-2.0';
import type { Daemon } from './daemon.ts';

export interface ClientReport {
  readonly clientId: string;
  readonly name: string;
  readonly version: string;
  readonly view: string;
  readonly state: string;
  readonly connectedAt: string;
  readonly inFlight: number;
}

export interface StatusReport {
  readonly pid: number;
  readonly version: string;
  readonly socketPath: string;
  readonly uptimeMs: number;
  readonly clients: number;
  readonly instances: readonly {
    readonly server: string;
    readonly pid: number | null;
    readonly state: string;
    readonly sessions: number;
    readonly restarts: number;
    readonly calls: number;
    /** Why it could not be started, or has gone, when that happened last. */
    readonly lastError: string | null;
  }[];
  readonly counters: Readonly<Record<string, number>>;
  readonly configFile: string | null;
  readonly configFaults: readonly string[];
}

/** Answers one request's bytes with a response as JSON; a notification gets none. */
export function controlMethods(daemon: Daemon): (request: Buffer) => Promise<string | undefined> {
  const methods = new JSONRPCServer({ errorListener: () => undefined });
  methods.addMethod('bridge/status', () => daemon.status());
  methods.addMethod('bridge/connections', () => daemon.clients());
  methods.addMethod('bridge/stop', () => {
    setImmediate(() => daemon.requestStop()); // once the answer is on its way
    return { pid: daemon.status().pid, openCalls: daemon.clients().reduce((sum, { inFlight }) => sum + inFlight, 0) };
  });
  return async (request) => {
    const response = await methods.receiveJSON(request.toString());
    return response === null ? undefined : JSON.stringify(response);
  };
}
