// `serve`: reads the settings, runs a daemon in this process, and ends it on a signal.

import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { type ConfigPlace, configFilesOf } from '../config/config-file.ts';
import { LastGoodConfigs } from '../config/last-good.ts';
import { loadConfig, loadOrLastGood } from '../config/load.ts';
import { takeActivatedFd } from '../local/activated-socket.ts';
import { boundedWriter, isOpenAs } from '../local/bounded-log.ts';
import { refuseBelowBridge } from '../local/bridge-depth.ts';
import { homeDir, xdgCacheDir } from '../local/home-dir.ts';
import { keepLaterCode, packedCode } from '../local/later-code.ts';
import { jsonLogger, lossyWriter, openLogFile } from '../local/log-sink.ts';
import { socketPath } from '../local/socket-path.ts';
import { daemonLogFile, stateDir } from '../local/state-dir.ts';
import { httpOrigin } from '../model/http-settings.ts';
import type { Limits } from '../model/limits.ts';
import type { StdioServer } from '../model/server-definition.ts';
import { type TelemetrySettings, wantsTelemetry } from '../model/telemetry-settings.ts';
import { NO_FILTER } from '../model/tool-rules.ts';
import { messageOf } from '../util/bridge-error.ts';
import { systemClock } from '../util/clock.ts';
import { deferred } from '../util/deferred.ts';
import { expectSystemError } from '../util/expected-error.ts';
import type { Logger, LogLevel } from '../util/logger.ts';
import type { LeavingReason } from '../wire/resume-notices.ts';
import { keepCollectionPace } from './collection-pace.ts';
import { Daemon, type DaemonTelemetry } from './daemon.ts';
import { SelfRegistration } from './self-registration.ts';
import { ServerFinder } from './server-finder.ts';

export interface ServeOptions {
  readonly socketFlag: string | undefined;
  readonly configFile: string | undefined;
  /** The directory to search for a config if none is named; undefined for the working directory. */
  readonly configDir: string | undefined;
  /** The config that `restart` read before it stopped the old daemon. */
  readonly checkedConfig: string | undefined;
  /** The HTTP address that replaces the config's. */
  readonly httpFlag: string | undefined;
  readonly logLevel: LogLevel;
  readonly logFile: string | undefined;
  readonly version: string;
  readonly build: string;
  /** True if a client started it because there was no daemon. */
  readonly isAutostarted: boolean;
  /** The files that run `mcp-bridge` and the example server. */
  readonly program: string;
  readonly exampleServer: string;
  /** The file of the program that looks for servers. */
  readonly finderProgram: string;
}

/** File descriptors that clients may not take: for servers, files, and one connection to refuse. */
const RESERVED_DESCRIPTORS = 64;

/** Runs a daemon until it is told to stop; resolves when it has ended. */
export async function serve(options: ServeOptions): Promise<void> {
  const sink = options.logFile === undefined ? undefined : openLogFile(options.logFile);
  // The reader of the log may have gone; the daemon goes on.
  process.stderr.on('error', () => undefined);
  keepCollectionPace();
  const home = homeDir(process.env);
  const logFile = daemonLogFile(process.env, home);
  const toStderr = boundedWriter(logFile, process.stderr.fd, lossyWriter(process.stderr));
  const isShared = isOpenAs(process.stderr.fd, logFile);
  const tag: { socket?: string } = {};
  if (isShared && options.socketFlag !== undefined) tag.socket = resolve(options.socketFlag);
  const logger = jsonLogger(options.logLevel, sink?.write ?? toStderr, tag);
  refuseBelowBridge(process.env);
  const place: ConfigPlace = {
    named: options.configFile,
    cwd: options.configDir ?? process.cwd(),
    homedir: home,
    xdgConfigHome: process.env.XDG_CONFIG_HOME,
    runsPrograms: true,
  };
  const packages = dirname(options.finderProgram);
  keepLaterCode(join(packages, 'later'));
  const lastGood = new LastGoodConfigs(stateDir(process.env, home), (error) =>
    logger.warn('config not kept', { reason: messageOf(error) }),
  );
  const loaded = await loadOrLastGood(place, lastGood, options.checkedConfig);
  for (const fault of loaded.faults) logger.warn('config', { file: loaded.file, fault });
  const config = await withHttpFlag(loaded.config, options.httpFlag);
  const { enabled: hasCodeMode } = config.codeMode;
  if (hasCodeMode) keepLaterCode(join(packages, 'code-mode'));
  if (config.federation !== undefined) keepLaterCode(join(packages, 'hosts'));
  if (wantsTelemetry(config.telemetry, process.env)) keepLaterCode(join(packages, 'telemetry'));
  const { path } = socketPath({
    flag: options.socketFlag,
    environment: process.env.MCP_BRIDGE_SOCKET,
    config: loaded.config.socketPath,
    cwd: process.cwd(),
    user: { environment: process.env, homedir: home },
  });
  if (isShared) tag.socket = path;
  const activatedFd = takeActivatedFd(process.env, process.pid);
  const stopRequested = deferred<LeavingReason>();
  const finder = new ServerFinder({
    process: {
      platform: process.platform,
      environment: process.env,
      homedir: home,
      program: options.program,
      socketPath: path,
      httpOrigin: httpOrigin(config.http),
    },
    program: options.finderProgram,
    code: packedCode('finder'),
    config: loaded,
    loadConfig: () => loadConfig(place, lastGood),
    configFiles: configFilesOf(place),
    clock: systemClock,
    example: exampleDefinition(options.exampleServer),
    logger,
  });
  const daemon = new Daemon({
    socketPath: path,
    activatedFd,
    config,
    httpFlag: options.httpFlag,
    configDir: place.cwd,
    limits: withinDescriptors(config.limits, logger),
    finder,
    homedir: home,
    environment: process.env,
    cwd: process.cwd(),
    catalogDir: config.cache.isKept
      ? join(xdgCacheDir(process.env.XDG_CACHE_HOME, home), 'mcp-bridge', 'catalog')
      : undefined,
    seenToolsDir: join(stateDir(process.env, home), 'seen-tools'),
    programs: hasCodeMode ? { code: packedCode, program: options.program } : undefined,
    resultsDir: join(stateDir(process.env, home), 'results'),
    auditFile: join(stateDir(process.env, home), 'audit.jsonl'),
    logger,
    logsCalls: options.logLevel === 'debug',
    version: options.version,
    build: options.build,
    isAutostarted: options.isAutostarted,
    pid: process.pid,
    memory: () => {
      const { rss, heapUsed } = process.memoryUsage();
      return { residentBytes: rss, heapBytes: heapUsed };
    },
    telemetry: await openTelemetry(config.telemetry, options.version, logger),
    onStopRequested: (reason) => stopRequested.resolve(reason),
  });
  // Without this, an error that concerns one client would end all clients and servers.
  process.on('uncaughtException', (error) => daemon.uncaught(error));
  process.on('unhandledRejection', (error) => daemon.uncaught(error));
  const signalled = untilSignal();
  await daemon.listen();
  finder.prepare();
  // For a person; in a shared log, the line with the socket says it already.
  if (!isShared) process.stderr.write(`mcp-bridge: listening on ${path}\n`);
  logger.info('listening', { path, pid: process.pid, config: loaded.file });
  const registration = new SelfRegistration({
    ...{ socketPath: path, version: options.version, pid: process.pid, cwd: process.cwd(), homedir: home },
    ...{ environment: process.env, clock: systemClock, logger },
  });
  const end = await Promise.race([stopRequested.promise, signalled]);
  logger.info('stopping', { reason: end });
  const unregistered = registration.end();
  try {
    await daemon.stop(end === 'idle' || end === 'restart' ? end : 'stop');
  } finally {
    await unregistered; // or the process could end while it writes the file
  }
  logger.info('stopped');
  sink?.close();
}

/** Loads the exporters of traces and metrics if an address is configured. */
async function openTelemetry(
  settings: TelemetrySettings,
  version: string,
  logger: Logger,
): Promise<DaemonTelemetry | undefined> {
  if (!wantsTelemetry(settings, process.env)) return undefined;
  const { Telemetry } = await import('../telemetry/telemetry.ts');
  return new Telemetry({ settings, environment: process.env, version, clock: systemClock, date: Date.now, logger });
}

async function withHttpFlag(config: Config, flag: string | undefined): Promise<Config> {
  if (flag === undefined) return config;
  const { withHttpAddress } = await import('../config/http-settings.ts');
  return { ...config, http: withHttpAddress(config.http, flag, (path) => resolve(process.cwd(), path)) };
}

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** The first signal drains; any second signal ends the process at once. */
function untilSignal(): Promise<string> {
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals): void => {
      for (const name of STOP_SIGNALS) process.off(name, stop);
      resolve(signal);
    };
    for (const name of STOP_SIGNALS) process.on(name, stop);
  });
}

/** The program is read at the start: the package may have been removed when it is needed. */
function argumentsOf(program: string): string[] {
  try {
    return ['--input-type=module', '-e', readFileSync(program, 'utf8')];
  } catch (error) {
    expectSystemError(error);
    return [program]; // the start of it then fails with the reason
  }
}

function exampleDefinition(program: string): StdioServer {
  return {
    name: 'example',
    description: 'An example, offered while there is no other server',
    transport: 'stdio',
    command: process.execPath,
    args: argumentsOf(program),
    env: {},
    cwd: undefined,
    dir: undefined,
    timeoutMs: undefined,
    startTimeoutMs: undefined,
    idleMs: undefined,
    sharing: 'auto',
    trustHints: false,
    tools: NO_FILTER,
  };
}

/** Lowers the client limit to the available file descriptors: otherwise connections would open and then break. */
function withinDescriptors(limits: Limits, logger: Logger): Limits {
  const most = descriptorLimit();
  if (most === undefined) return limits;
  const free = most - Math.min(RESERVED_DESCRIPTORS, most >> 1);
  const maxClients = Math.min(limits.maxClients, Math.max(1, free));
  const maxRemoteCalls = Math.min(limits.maxRemoteCalls, Math.max(1, free >> 2));
  if (maxClients < limits.maxClients)
    logger.warn('fewer clients than configured, for want of descriptors', { maxClients, descriptors: most });
  return { ...limits, maxClients, maxRemoteCalls };
}

/** The descriptor limit. Node raises the soft limit to the hard one when it starts. */
function descriptorLimit(): number | undefined {
  try {
    const line = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return line?.[1] === undefined ? undefined : Number(line[1]);
  } catch (error) {
    expectSystemError(error);
    return undefined; // No /proc, as on macOS: the configured limit applies.
  }
}
