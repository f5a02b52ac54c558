// The two service managers, and the commands for each: systemd, whose socket exists before the daemon, and launchd,
// whose sockets Node cannot take over, so that the daemon runs all the time. Also the unit files, with a mark that
// shows if a file is still as this program wrote it.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { xdgConfigDir } from '../../../local/home-dir.ts';
import { makeTree } from '../../../local/private-file.ts';
import { tryingFile } from '../../../local/whole-write.ts';
import { BridgeError, systemCode } from '../../../util/bridge-error.ts';
import type { UnitFormat } from './unit-texts.ts';

export interface ServiceManager {
  readonly format: UnitFormat;
  /** The program to call. */
  readonly program: string;
  readonly dir: string;
  /** The names of its files in config/. */
  readonly units: readonly string[];
  /** Commands that start the service when all units are in place; a failure stops the sequence. */
  readonly enable: readonly (readonly string[])[];
  /** Commands that stop the service while its units exist, and commands that make the manager forget it. */
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

/** Runs one of the commands above. `isMissing` tells a missing program from one that fails. */
export function tellerOf(environment: ServiceMachine['environment']): Tell {
  return ([program = '', ...args]) => {
    const { error, status, stderr } = spawnSync(program, args, { encoding: 'utf8', env: { ...environment } });
    if (error !== undefined) return { isDone: false, said: `${program} cannot be run: ${error.message}` };
    return { isDone: status === 0, said: stderr.trim().split('\n').at(-1) ?? '' };
  };
}

export type UnitState = 'absent' | 'ours' | 'changed' | 'foreign';

const MARK = 'Written by mcp-bridge service install; what is changed here by hand is not replaced. SHA-256:';
const MARKED = new RegExp(`${MARK.replace('.', '\\.')} ([0-9a-f]{64})`);

/** Fills in the mark. */
export function marked(text: string): string {
  return text.replace('@MARK@', `${MARK} ${digestOf(text)}`);
}

/** Reads a unit file; undefined if there is none. */
export function readUnit(path: string): string | undefined {
  return tryingFile(`Cannot read ${path}`, () => {
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  });
}

export function stateOf(text: string | undefined): UnitState {
  if (text === undefined) return 'absent';
  const digest = MARKED.exec(text)?.[1];
  if (digest === undefined) return 'foreign';
  return digestOf(text.replace(MARKED, '@MARK@')) === digest ? 'ours' : 'changed';
}

export function writeUnit(path: string, text: string): void {
  tryingFile(`Cannot write ${path}`, () => {
    makeTree(dirname(path), 0o755);
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  });
}

export function removeUnit(path: string): void {
  tryingFile(`Cannot remove ${path}`, () => rmSync(path, { force: true }));
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
