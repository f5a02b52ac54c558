// The methods of the role `control`: what `status`, `clients`, `reload` and `stop` ask the daemon.

import { JSONRPCServer } from 'json-rpc-2.0';
import type { StopReport } from '../wire/control-report.ts';
import type { Daemon } from './daemon.ts';

/** Answers one request's bytes with a response as JSON; a notification gets none. */
export function controlMethods(daemon: Daemon): (request: Buffer) => Promise<string | undefined> {
  const methods = new JSONRPCServer({ errorListener: () => undefined });
  methods.addMethod('bridge/status', () => daemon.status());
  methods.addMethod('bridge/connections', () => daemon.clients());
  methods.addMethod('bridge/reload', () => daemon.reload());
  methods.addMethod('bridge/stop', (): StopReport => {
    setImmediate(() => daemon.requestStop()); // once the answer is on its way
    return { pid: daemon.pid, openCalls: daemon.clients().reduce((sum, { inFlight }) => sum + inFlight, 0) };
  });
  return async (request) => {
    const response = await methods.receiveJSON(request.toString());
    return response === null ? undefined : JSON.stringify(response);
  };
}
