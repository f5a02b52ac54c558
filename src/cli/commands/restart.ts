// `restart` and `upgrade`: replace the running daemon. Clients that can resume wait for the new one.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { StatusReport } from '../../client/control-client.ts';
import { compareVersions } from '../../client/daemon-build.ts';
import { startDaemon } from '../../client/start-daemon.ts';
import { withHttpAddress } from '../../config/http-settings.ts';
import { LastGoodConfigs } from '../../config/last-good.ts';
import { type LoadedConfig, loadConfig } from '../../config/load.ts';
import { stateDir } from '../../local/state-dir.ts';
import { BridgeError, messageOf } from '../../util/bridge-error.ts';
import { DONE, lineFor } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import { doubtOf, locate, placeOf, type WhereValues } from '../locate.ts';
import { askIfRunning, endDaemon } from '../running-daemon.ts';
import { httpArguments } from './daemon-commands.ts';
import { agreedConfig, ownConfigDir } from './directory-config.ts';

export interface RestartValues extends WhereValues {
  readonly 'if-older'?: boolean | undefined;
  readonly 'log-level'?: string | undefined;
  readonly http?: string | undefined;
}

interface Replaced {
  readonly pid: number | undefined;
  /** The location of its log, as the end of a sentence. */
  readonly log: string;
}

export async function restart(values: RestartValues, host: CliHost): Promise<number> {
  if (values['if-older'] === true) return upgrade(values, host);
  const { path } = await locate(values, host);
  const running = await statusAt(path, host);
  const agreed = running === undefined ? await agreedConfig('restart', values, host) : undefined;
  if (agreed !== undefined) return restart({ ...values, config: agreed }, host);
  const { pid, log } = await replace(values, host, { path, running });
  const before = running === undefined ? 'none ran' : `pid ${running.pid} before`;
  host.stdout.write(`mcp-bridge runs at ${path} (pid ${pid}, ${before}); ${log}\n`);
  return DONE;
}

export async function upgrade(values: RestartValues, host: CliHost): Promise<number> {
  const located = await locate(values, host);
  const { path } = located;
  const doubt = doubtOf(located);
  if (doubt !== undefined) throw doubt;
  const running = await statusAt(path, host);
  if (running === undefined) {
    host.stdout.write(`No mcp-bridge runs at ${path}\n`);
    return DONE;
  }
  // A daemon from before builds had names does not report one.
  const before = (running.build as string | undefined) ?? running.version;
  if (before === host.build) {
    host.stdout.write(`mcp-bridge at ${path} is of this build already: ${before}\n`);
    return DONE;
  }
  if (compareVersions(running.version, host.version) > 0)
    throw new BridgeError(
      'REQUEST_REFUSED',
      `mcp-bridge at ${path} is newer (${before}) than this program (${host.build})`,
      {
        hint: 'Upgrade this program. To have its daemon all the same: mcp-bridge restart',
      },
    );
  const { pid } = await replace(values, host, { path, running });
  host.stdout.write(`mcp-bridge at ${path} is ${host.build} now, and was ${before} (pid ${pid})\n`);
  return DONE;
}

function statusAt(path: string, host: CliHost): Promise<StatusReport | undefined> {
  return askIfRunning(path, host, (client) => client.call('bridge/status'));
}

/** The arguments of `serve` that choose the config: a named file, or the directory where the search for one begins. */
interface ConfigChoice {
  readonly named: string | undefined;
  readonly dir: string;
}

/**
 * The config that the daemon was given, unless the command line names one. A config that was found is searched for
 * again.
 */
async function configOf(
  values: RestartValues,
  running: StatusReport | undefined,
  host: CliHost,
): Promise<ConfigChoice> {
  const { cwd, homedir } = host;
  if (values.config !== undefined) return { named: resolve(cwd, values.config), dir: cwd };
  if (running === undefined) return { named: undefined, dir: ownConfigDir(await locate(values, host), host) };
  const { configFile: file, configNamed: isNamed, configDir: dir } = running as PerhapsOlder;
  // A daemon from before this was reported counts its config as named.
  const named = file !== null && (isNamed ?? existsSync(file)) ? file : undefined;
  if (named === undefined || existsSync(named)) return { named, dir: dir ?? homedir };
  throw new BridgeError('CONFIG_NOT_FOUND', `The config file ${named}, which the daemon was started with, is gone`, {
    hint: 'The daemon runs on. Put the file back, or name another one with --config.',
  });
}

type PerhapsOlder = Omit<StatusReport, 'configNamed' | 'configDir'> & {
  readonly configNamed?: boolean;
  readonly configDir?: string;
};

/** Replaces the daemon by one with the same arguments, except for changes on the command line. */
async function replace(
  values: RestartValues,
  host: CliHost,
  { path, running }: { readonly path: string; readonly running: StatusReport | undefined },
): Promise<Replaced> {
  const { named, dir } = await configOf(values, running, host);
  const isActivated = running?.activated === true;
  if (isActivated) refuseArguments(values, path);
  // A broken config is reported before anything is ended.
  const { file: checked, config } = await checkedConfig({ named, dir }, host);
  const http = httpArguments(values.http ?? running?.httpFlag, host);
  for (const address of http.slice(1)) withHttpAddress(config.http, address, String);
  await endDaemon(path, host, 'restart');
  if (isActivated) {
    const next = await nextForSocket(path, host);
    if (next !== undefined) return { pid: next.pid, log: 'its log is where its service logs' };
  }
  const level = values['log-level'];
  const serveArgs = [
    ...(named === undefined ? ['--config-dir', dir] : ['--config', named]),
    ...(checked === undefined ? [] : ['--config-checked', checked]),
    ...(level === undefined ? [] : ['--log-level', level]),
    ...http,
    ...(running?.autostarted === true ? ['--autostarted'] : []),
  ];
  const { socket, logFile } = await startDaemon({ ...placeOf(host), path, serveArgs });
  socket.destroy();
  return { pid: (await statusAt(path, host))?.pid, log: `its log is ${logFile}` };
}

/**
 * Reads the config as the next daemon would. Its content is passed on to that daemon, because the file may change while
 * the old daemon answers its last calls.
 */
async function checkedConfig({ named, dir }: ConfigChoice, host: CliHost): Promise<LoadedConfig> {
  const { environment, homedir } = host;
  const notKept = (error: unknown): void => {
    const hint = 'The daemon cannot go on with it if it is broken when that starts.';
    host.stderr.write(
      lineFor(new BridgeError('FILE_UNUSABLE', `The config is not kept: ${messageOf(error)}`, { hint })),
    );
  };
  const lastGood = new LastGoodConfigs(stateDir(environment, homedir), notKept);
  const place = { named, cwd: dir, homedir, xdgConfigHome: environment.XDG_CONFIG_HOME, runsPrograms: true };
  return await loadConfig(place, lastGood);
}

/** Refuses changes if another program starts the daemon for its socket, because that program chooses the arguments. */
function refuseArguments(values: RestartValues, path: string): void {
  const given = (['config', 'http', 'log-level'] as const).find((name) => values[name] !== undefined);
  if (given === undefined) return;
  throw new BridgeError('USAGE', `--${given} has no effect on the service that starts the daemon at ${path}`, {
    hint: 'Put it in the unit that starts it: mcp-bridge service install writes one.',
  });
}

/** The daemon that the holder of the socket starts when somebody connects; undefined if nobody holds it any more. */
async function nextForSocket(path: string, host: CliHost): Promise<StatusReport | undefined> {
  try {
    return await statusAt(path, host);
  } catch (error) {
    if (!(error instanceof BridgeError) || error.code !== 'DAEMON_UNRESPONSIVE') throw error;
    throw new BridgeError('DAEMON_START_FAILED', `The service that holds ${path} has started no daemon`, {
      cause: error,
      hint: 'See: systemctl --user status mcp-bridge.socket mcp-bridge.service',
    });
  }
}
