// `restart` and `upgrade`: another daemon in the place of the one that runs. Clients that can resume wait for it.

import { existsSync } from 'node:fs';
import type { StatusReport } from '../client/control-client.ts';
import { startDaemon } from '../client/start-daemon.ts';
import { DONE } from './exit-code.ts';
import type { CliHost } from './host.ts';
import { locate, placeOf, type WhereValues } from './locate.ts';
import { askIfRunning, endDaemon } from './running-daemon.ts';

export interface RestartValues extends WhereValues {
  readonly 'log-level'?: string | undefined;
}

export async function restart(values: RestartValues, host: CliHost): Promise<number> {
  const { path } = await locate(values, host);
  const running = await statusAt(path, host);
  const { pid, logFile } = await replace(values, host, { path, running });
  const before = running === undefined ? 'none ran' : `pid ${running.pid} before`;
  host.stdout.write(`mcp-bridge runs at ${path} (pid ${pid}, ${before}); its log is ${logFile}\n`);
  return DONE;
}

export async function upgrade(values: RestartValues, host: CliHost): Promise<number> {
  const { path } = await locate(values, host);
  const running = await statusAt(path, host);
  if (running === undefined) {
    host.stdout.write(`No mcp-bridge runs at ${path}\n`);
    return DONE;
  }
  // One of before builds had names says nothing of it.
  const before = (running.build as string | undefined) ?? running.version;
  if (before === host.build) {
    host.stdout.write(`mcp-bridge at ${path} is of this build already: ${before}\n`);
    return DONE;
  }
  const { pid } = await replace(values, host, { path, running });
  host.stdout.write(`mcp-bridge at ${path} is ${host.build} now, and was ${before} (pid ${pid})\n`);
  return DONE;
}

function statusAt(path: string, host: CliHost): Promise<StatusReport | undefined> {
  return askIfRunning(path, host, (client) => client.call<StatusReport>('bridge/status'));
}

/** It may have been deleted since; the daemon is then restarted with what is found, and that is said. */
function configOf(running: StatusReport | undefined, host: CliHost): string | undefined {
  const file = running?.configFile ?? undefined;
  if (file === undefined || existsSync(file)) return file;
  host.stderr.write(`mcp-bridge: the config file ${file} is gone, and is left out\n`);
  return undefined;
}

/** What the daemon was started with it is started with again, but for what the command line says. */
async function replace(
  values: RestartValues,
  host: CliHost,
  { path, running }: { readonly path: string; readonly running: StatusReport | undefined },
): Promise<{ readonly pid: number | undefined; readonly logFile: string }> {
  const config = values.config ?? configOf(running, host);
  // A config that is broken is said before anything is ended.
  const { configError } = await locate({ ...values, config }, host, true);
  if (configError !== undefined) throw configError;
  await endDaemon(path, host, 'restart');
  const level = values['log-level'];
  const serveArgs = [
    ...(config === undefined ? [] : ['--config', config]),
    ...(level === undefined ? [] : ['--log-level', level]),
    ...(running?.autostarted === true ? ['--autostarted'] : []),
  ];
  const { socket, logFile } = await startDaemon({ ...placeOf(host), path, serveArgs });
  socket.destroy();
  return { pid: (await statusAt(path, host))?.pid, logFile };
}
