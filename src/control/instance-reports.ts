// What runs of the servers, for who asks: a line for each instance, and one for each server of which none is there.

import type { Instance } from '../core/instance.ts';
import type { Server } from '../core/server.ts';
import type { InstanceRunner } from '../downstream/instance-runner.ts';
import type { InstanceReport } from './report.ts';

type RunnerOf = (instance: Instance) => InstanceRunner | undefined;

/** `names` are those of all that are defined, in their order. */
export function instanceReports(names: readonly string[], all: Iterable<Server>, runnerOf: RunnerOf): InstanceReport[] {
  const servers = new Map<string, Server[]>(names.map((name) => [name, []]));
  for (const server of all) servers.set(server.name, [...(servers.get(server.name) ?? []), server]);
  return [...servers].flatMap(([name, namesakes]) => {
    const own = namesakes.flatMap((server) =>
      [...server.instances].flatMap((instance) => reportOf(server, instance, runnerOf(instance))),
    );
    const leftOut = namesakes.some(({ isLeftOut }) => isLeftOut);
    return own.length > 0 ? own : [{ ...NOTHING_RUNS, leftOut, server: name }];
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

/** Who could not be started, or has died, has failed until it is tried again, whichever pause it is in. */
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
  leftOut: false,
  lastError: null,
  errorCode: null,
};
