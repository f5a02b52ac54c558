// `mcp-bridge servers --running`: the servers whose processes run, by all registries that are known here. It asks no
// daemon.

import { platform } from 'node:os';
import { maskedUrl } from '../../discovery/masked-text.ts';
import { placesHere } from '../../discovery/own-discovery.ts';
import { REGISTRY } from '../../discovery/places.ts';
import { knownRegistries, type RegistryPlace } from '../../registry/registry-places.ts';
import { type RunningServer, runningServers } from '../../registry/running-servers.ts';
import { DONE } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { type LocatedConfig, locate, type WhereValues } from '../locate.ts';
import { jsonText } from '../render/json-output.ts';
import { table } from '../render/table.ts';
import { tilde, widthOf } from '../render/terminal.ts';
import { wrappedLines } from '../render/wrapped-lines.ts';

export interface RunningValues extends WhereValues {
  readonly json?: boolean | undefined;
}

export async function listRunning(values: RunningValues, host: CliHost): Promise<number> {
  const located = await locate(values, host);
  const { configError } = located;
  const { servers, warnings } = await runningServers(await placesOf(located, host));
  const told = [...(configError === undefined ? [] : [configError.message]), ...warnings];
  if (values.json === true) {
    host.stdout.write(jsonText({ servers: servers.map(shown), warnings: told }));
    return DONE;
  }
  const rows = servers.map((server) => [
    server.name,
    `${server.pid}`,
    whereOf(server),
    tilde(server.cwd ?? '', host),
    server.startedAt ?? '',
    tilde(server.file, host),
  ]);
  const head = ['NAME', 'PID', 'WHERE', 'DIRECTORY', 'STARTED', 'REGISTRY'];
  host.stdout.write(
    rows.length === 0 ? 'No server is registered that runs\n' : table(head, rows, { width: widthOf(host) }),
  );
  for (const warning of told) host.stdout.write(`${wrappedLines(`! ${warning}`, { width: widthOf(host) })}\n`);
  return DONE;
}

/** As discovery looks for them: also in the directory of the repository around this one. */
async function placesOf({ path: socketPath, loaded }: LocatedConfig, host: CliHost): Promise<RegistryPlace[]> {
  const { environment, homedir, program, cwd } = host;
  const known = knownRegistries(host, loaded.config.discovery.registries.files);
  const places = await placesHere({ platform: platform(), environment, homedir, program, socketPath }, cwd);
  const around = places.filter(({ client, path }) => client === REGISTRY && !known.some(({ file }) => file === path));
  return [...known, ...around.map(({ path: file }) => ({ scope: 'project', file }) as const)];
}

function whereOf({ url, socket, isOnStdio }: RunningServer): string {
  return url === undefined ? (socket ?? (isOnStdio ? 'stdio' : '')) : maskedUrl(url);
}

function shown({ entry: _, url, ...server }: RunningServer) {
  const { socket, cwd, startedAt } = server;
  const orNull = { socket: socket ?? null, cwd: cwd ?? null, startedAt: startedAt ?? null };
  return { ...server, url: url === undefined ? null : maskedUrl(url), ...orNull };
}
