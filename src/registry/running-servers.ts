// The running servers, from the registries that list them.

import { registeredServer } from '../local/registered-server.ts';
import { RegistryFile } from '../local/registry-file.ts';
import type { RegistryPlace, RegistryScope } from './registry-places.ts';

export interface RunningServer {
  /** `name_pid`. */
  readonly id: string;
  readonly name: string;
  readonly pid: number;
  /** The URL at which it takes requests over HTTP. */
  readonly url: string | undefined;
  readonly socket: string | undefined;
  readonly isOnStdio: boolean;
  readonly cwd: string | undefined;
  readonly startedAt: string | undefined;
  readonly capabilities: readonly string[];
  readonly requestCount: number | undefined;
  readonly heartbeatAt: string | undefined;
  readonly scope: RegistryScope;
  readonly file: string;
  /** The entry as the registry has it. */
  readonly entry: unknown;
}

export interface RunningServers {
  readonly servers: readonly RunningServer[];
  /** The reasons why registries are left out. */
  readonly warnings: readonly string[];
}

/** Lists the running servers. If entries share an id, the first one counts. */
export async function runningServers(places: readonly RegistryPlace[]): Promise<RunningServers> {
  const readings = await Promise.all(places.map(({ file }) => new RegistryFile(file).read()));
  const servers = readings.flatMap(({ servers }, i) => {
    const place = places[i];
    return place === undefined ? [] : [...servers].flatMap(([id, entry]) => runningServer(id, entry, place));
  });
  const first = new Map([...servers].reverse().map((server) => [server.id, server]));
  return {
    servers: servers.filter((server) => first.get(server.id) === server),
    warnings: readings.flatMap(({ warning }) => warning ?? []),
  };
}

function runningServer(id: string, entry: unknown, { scope, file }: RegistryPlace): RunningServer[] {
  const server = registeredServer(entry);
  if (server === undefined) return [];
  const { process, ...said } = server;
  return [{ id, ...said, pid: process.pid, scope, file, entry }];
}
