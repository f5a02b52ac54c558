// `mcp-bridge service`: lets the machine's service manager run the daemon, or hold its socket.

import { accessSync, constants, readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { ownUid } from '../../../local/owned-path.ts';
import { daemonLogFile } from '../../../local/state-dir.ts';
import { BridgeError, messageOf, systemCode } from '../../../util/bridge-error.ts';
import { expectSystemError } from '../../../util/expected-error.ts';
import { DONE, FAILED } from '../../exit-code.ts';
import type { CliHost } from '../../host.ts';
import { locate, type WhereValues } from '../../locate.ts';
import { printable } from '../../render/table.ts';
import { daemonPid } from '../../running-daemon.ts';
import {
  marked,
  readUnit,
  removeUnit,
  type ServiceManager,
  serviceManager,
  stateOf,
  type Tell,
  tellerOf,
  type UnitState,
  writeUnit,
} from './service-manager.ts';
import { type ServiceWords, unitText } from './unit-texts.ts';

export interface ServiceValues extends WhereValues {
  readonly action: 'install' | 'uninstall' | 'status';
  readonly 'dry-run'?: boolean | undefined;
  readonly force?: boolean | undefined;
}

export interface ServicePorts {
  readonly platform: string;
  readonly tell: Tell;
}

interface Unit {
  readonly path: string;
  /** The text to write. */
  readonly text: string;
  readonly current: string | undefined;
  readonly state: UnitState;
}

interface Service {
  readonly manager: ServiceManager;
  readonly units: readonly Unit[];
  readonly socketPath: string;
  readonly host: CliHost;
  readonly ports: ServicePorts;
}

export function service(values: ServiceValues, host: CliHost): Promise<number> {
  return serviceWith(values, host, { platform: platform(), tell: tellerOf(host.environment) });
}

export async function serviceWith(values: ServiceValues, host: CliHost, ports: ServicePorts): Promise<number> {
  const found = await serviceOf(values, host, ports);
  switch (values.action) {
    case 'install':
      return install(found, values);
    case 'uninstall':
      return uninstall(found, values);
    case 'status':
      return status(found);
  }
}

async function serviceOf(values: ServiceValues, host: CliHost, ports: ServicePorts): Promise<Service> {
  const { homedir, environment } = host;
  const manager = serviceManager({ platform: ports.platform, homedir, environment, uid: ownUid() });
  const { path: socketPath, loaded } = await locate(values, host);
  const named = values.config === undefined || loaded.file === undefined ? [] : ['--config', loaded.file];
  const words: ServiceWords = {
    command: [host.node, host.program, 'serve', '--mcp-bridge-socket', socketPath, ...named],
    socketPath,
    environment: environmentOf(host),
    homedir,
    logFile: daemonLogFile(environment, homedir),
  };
  const units = manager.units.map((name) => unitAt(join(manager.dir, name), templateOf(name, host), words, manager));
  return { manager, units, socketPath, host, ports };
}

function unitAt(path: string, template: string, words: ServiceWords, { format }: ServiceManager): Unit {
  const current = readUnit(path);
  return { path, text: marked(unitText(template, words, format)), current, state: stateOf(current) };
}

function templateOf(name: string, { program }: CliHost): string {
  const file = join(dirname(program), '..', 'config', name);
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new BridgeError('FILE_UNUSABLE', `Cannot read ${file}: ${systemCode(error) ?? messageOf(error)}`, {
      cause: error,
      hint: 'Install mcp-bridge again.',
    });
  }
}

/** Variables for the paths of programs and files: without them a service could not find its servers. */
const PASSED_ON = ['PATH', 'XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME'];

function environmentOf({ environment }: CliHost): Record<string, string> {
  return Object.fromEntries(
    PASSED_ON.flatMap((name) => {
      const value = environment[name];
      return value ? [[name, value] as const] : [];
    }),
  );
}

// --- install ---

async function install(found: Service, values: ServiceValues): Promise<number> {
  const { manager, units, host, ports } = found;
  const stale = units.filter(({ current, text }) => current !== text);
  refuseOthers(stale, values, 'replace');
  if (values['dry-run'] === true) return showUnits(units, host);
  refuseWithout(manager, host);
  const isActive = ports.tell(manager.isActive).isDone;
  if (!isActive) await refuseBesideDaemon(found);
  for (const { path, text } of stale) writeUnit(path, text);
  for (const { path } of stale) host.stdout.write(`Wrote ${printable(path)}\n`);
  if (stale.length === 0 && isActive) {
    host.stdout.write('Everything is as it should be\n');
    return DONE;
  }
  // Neither manager reads a changed text while it holds the unit.
  if (isActive) for (const command of manager.disable) ports.tell(command);
  tellAll(manager.enable, found);
  host.stdout.write(`${READY[manager.format]} ${printable(found.socketPath)}\n`);
  return DONE;
}

const READY = {
  systemd: 'systemd listens, and starts the daemon with the first client:',
  launchd: 'launchd runs the daemon:',
};

function showUnits(units: readonly Unit[], { stdout }: CliHost): number {
  for (const { path, text, current } of units)
    stdout.write(current === text ? `${path} stays as it is\n` : `${path} would be:\n\n${text}\n`);
  return DONE;
}

function refuseOthers(units: readonly Unit[], { force }: ServiceValues, action: 'replace' | 'remove'): void {
  if (force === true) return;
  const other = units.find(({ state }) => state === 'changed' || state === 'foreign');
  if (other === undefined) return;
  const what = other.state === 'changed' ? 'has been changed since it was written' : 'was not written by mcp-bridge';
  throw new BridgeError('FILE_CHANGED', `${other.path} ${what}`, {
    hint: `Look at it; --force will ${action} it.`,
  });
}

/** Refuses before anything is written, if the manager cannot be used. */
function refuseWithout({ program }: ServiceManager, { environment }: CliHost): void {
  const dirs = (environment.PATH ?? '').split(delimiter).filter((dir) => dir !== '');
  if (dirs.some((dir) => isProgram(join(dir, program)))) return;
  throw new BridgeError('SERVICE_UNSUPPORTED', `There is no ${program} on this machine`, {
    hint: 'Clients start the daemon themselves, with mcp-bridge connect. --dry-run shows the units.',
  });
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch (error) {
    expectSystemError(error);
    return false;
  }
}

/**
 * Refuses beside a running daemon: the manager would replace its socket, and old and new clients would be separated.
 */
async function refuseBesideDaemon({ socketPath, host }: Service): Promise<void> {
  const pid = await daemonPid(socketPath, host);
  if (pid === undefined) return;
  throw new BridgeError('DAEMON_ALREADY_RUNNING', `A daemon (pid ${pid}) has ${socketPath}`, {
    hint: 'End it with: mcp-bridge stop',
  });
}

function tellAll(commands: readonly (readonly string[])[], { manager, ports }: Service): void {
  for (const command of commands) {
    const { isDone, said } = ports.tell(command);
    if (isDone) continue;
    throw new BridgeError('SERVICE_FAILED', `${command.join(' ')} failed${said === '' ? '' : `: ${said}`}`, {
      hint: `The units are in ${manager.dir}.`,
    });
  }
}

// --- uninstall, status ---

function uninstall(found: Service, values: ServiceValues): number {
  const { manager, units, host, ports } = found;
  const there = units.filter(({ state }) => state !== 'absent');
  if (there.length === 0) {
    host.stdout.write('There is nothing to remove\n');
    return DONE;
  }
  refuseOthers(there, values, 'remove');
  if (values['dry-run'] === true) {
    for (const { path } of there) host.stdout.write(`${path} would be removed\n`);
    return DONE;
  }
  // Fails if it is not active, which is the goal.
  for (const command of manager.disable) ports.tell(command);
  for (const { path } of there) removeUnit(path);
  for (const command of manager.forget) ports.tell(command);
  for (const { path } of there) host.stdout.write(`Removed ${printable(path)}\n`);
  return DONE;
}

const STATES: Readonly<Record<UnitState, string>> = {
  absent: 'not there',
  ours: 'as it was written',
  changed: 'changed by hand',
  foreign: 'not written by mcp-bridge',
};

function status({ manager, units, host, ports }: Service): number {
  const isActive = ports.tell(manager.isActive).isDone;
  for (const { path, state, text, current } of units) {
    const isOld = state === 'ours' && text !== current;
    const word = isOld
      ? 'of another installation or other settings; mcp-bridge service install renews it'
      : STATES[state];
    host.stdout.write(`${printable(path)}: ${word}\n`);
  }
  host.stdout.write(isActive ? `${manager.format} keeps it\n` : `${manager.format} does not keep it\n`);
  return isActive ? DONE : FAILED;
}
