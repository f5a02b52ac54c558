// The two programs that keep services for a user, and what each is told: systemd, with a socket that is there before the
// daemon, and launchd, whose sockets Node cannot take over, so that there the daemon runs all the time.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { xdgConfigDir } from '../../../local/home-dir.ts';
import { BridgeError } from '../../../util/bridge-error.ts';
import type { UnitFormat } from './unit-texts.ts';

export interface ServiceManager {
  readonly format: UnitFormat;
  /** The program that is told. */
  readonly program: string;
  readonly dir: string;
  /** The files in config/, by their names there. */
  readonly units: readonly string[];
  /** Commands that begin it, with every unit in place; one that fails ends it. */
  readonly enable: readonly (readonly string[])[];
  /** Commands that end it while the units are still there, and commands that make it forget them. */
  readonly disable: readonly (readonly string[])[];
  readonly forget: readonly (readonly string[])[];
  readonly isActive: readonly string[];
}

export interface ServiceMachine {
  readonly platform: string;
  readonly homedir: string;
  readonly uid: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function serviceManager(machine: ServiceMachine): ServiceManager {
  if (machine.platform === 'linux') return systemd(machine);
  if (machine.platform === 'darwin') return launchd(machine);
  throw new BridgeError('SERVICE_UNSUPPORTED', `There are no units for ${machine.platform}`, {
    hint: 'Clients start the daemon themselves, with mcp-bridge connect.',
  });
}

function systemd({ homedir, environment }: ServiceMachine): ServiceManager {
  const user = (...words: string[]): string[] => ['systemctl', '--user', ...words];
  return {
    format: 'systemd',
    program: 'systemctl',
    dir: join(xdgConfigDir(environment.XDG_CONFIG_HOME, homedir), 'systemd', 'user'),
    units: ['mcp-bridge.socket', 'mcp-bridge.service'],
    enable: [user('daemon-reload'), user('enable', '--now', 'mcp-bridge.socket')],
    disable: [user('disable', '--now', 'mcp-bridge.socket'), user('stop', 'mcp-bridge.service')],
    forget: [user('daemon-reload')],
    isActive: user('is-active', '--quiet', 'mcp-bridge.socket'),
  };
}

function launchd({ homedir, uid }: ServiceMachine): ServiceManager {
  const dir = join(homedir, 'Library', 'LaunchAgents');
  return {
    format: 'launchd',
    program: 'launchctl',
    dir,
    units: ['mcp-bridge.plist'],
    enable: [['launchctl', 'bootstrap', `gui/${uid}`, join(dir, 'mcp-bridge.plist')]],
    disable: [['launchctl', 'bootout', `gui/${uid}/mcp-bridge`]],
    forget: [],
    isActive: ['launchctl', 'print', `gui/${uid}/mcp-bridge`],
  };
}

interface ToldResult {
  readonly isDone: boolean;
  readonly said: string;
}

export type Tell = (command: readonly string[]) => ToldResult;

/** Runs one of the commands above. `isMissing` tells a program that is not there from one that fails. */
export function tellerOf(environment: ServiceMachine['environment']): Tell {
  return ([program = '', ...args]) => {
    const { error, status, stderr } = spawnSync(program, args, { encoding: 'utf8', env: { ...environment } });
    if (error !== undefined) return { isDone: false, said: `${program} cannot be run: ${error.message}` };
    return { isDone: status === 0, said: stderr.trim().split('\n').at(-1) ?? '' };
  };
}
