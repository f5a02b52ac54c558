// What runs of the servers, for who asks: a line for each instance, and one for each server of which none is there.

import type { Backend } from '../core/backend.ts';
import type { Server } from '../core/server.ts';
import type { Instance } from '../downstream/instance.ts';
import type { InstanceReport } from '../wire/control-report.ts';

type InstanceOf = (backend: Backend) => Instance | undefined;

/** `names` are those of all that are defined, in their order. */
export function instanceReports(
  names: readonly string[],
  all: Iterable<Server>,
  instanceOf: InstanceOf,
): InstanceReport[] {
  const servers = new Map<string, Server[]>(names.map((name) => [name, []]));
  for (const server of all) servers.set(server.name, [...(servers.get(server.name) ?? []), server]);
  return [...servers].flatMap(([name, namesakes]) => {
    const own = namesakes.flatMap((server) =>
      [...server.backends].flatMap((backend) => reportOf(server, backend, instanceOf(backend))),
    );
    const leftOut = namesakes.some(({ isLeftOut }) => isLeftOut);
    return own.length > 0 ? own : [{ ...NOTHING_RUNS, leftOut, server: name }];
  });
}

function reportOf(server: Server, backend: Backend, instance: Instance | undefined): InstanceReport[] {
  if (instance === undefined) return [];
  const { lastFailure } = instance;
  return [
    {
      server: server.name,
      pid: instance.pid ?? null,
      state: stateOf(instance),
      sessions: backend.sessions.size,
      restarts: instance.restarts,
      calls: backend.toolCallsSent,
      requests: backend.requestsSent,
      inFlight: backend.openCalls,
      leftOut: server.isLeftOut,
      lastError: lastFailure?.message ?? null,
      errorCode: lastFailure?.code ?? null,
    },
  ];
}

/** Who could not be started, or has died, has failed until it is tried again, whichever pause it is in. */
function stateOf({ state, lastFailure }: Instance): string {
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
  leftOut: false,
  lastError: null,
  errorCode: null,
};
