// Servers that are ready as they are written, and whose program is not on this machine. Looks at files, and runs nothing.

import { accessSync, constants, statSync } from 'node:fs';
import { platform } from 'node:os';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { expectSystemError } from '../util/expected-error.ts';
import type { DiscoveredServer } from './discovered-server.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The missing program or file, by server. A daemon with another PATH than this shell may find what is missing here. */
export function missingPrograms(
  servers: readonly DiscoveredServer[],
  environment: Environment,
): ReadonlyMap<DiscoveredServer, string> {
  const asked = new Map<string, boolean>();
  const isThere = (file: string): boolean => {
    const known = asked.get(file) ?? isProgram(file, environment);
    asked.set(file, known);
    return known;
  };
  return new Map(
    servers.flatMap((server) => {
      const missing = server.state === 'ready' ? missingOf(server, environment, isThere) : undefined;
      return missing === undefined ? [] : [[server, missing] as const];
    }),
  );
}

function missingOf(
  { transport, command = '', cwd, env }: DiscoveredServer,
  environment: Environment,
  isThere: (file: string) => boolean,
): string | undefined {
  if (transport !== 'stdio') return undefined;
  if (cwd !== undefined && isAbsolute(cwd) && !isDirectory(cwd)) return `there is no directory ${cwd}`;
  if (/[\\/]/.test(command)) {
    const isKnown = isAbsolute(command) || (cwd !== undefined && isAbsolute(cwd));
    return !isKnown || isThere(resolve(cwd ?? '.', command)) ? undefined : `there is no program ${command}`;
  }
  const path = env.PATH ?? environment.PATH;
  if (path === undefined) return undefined;
  const dirs = path.split(delimiter).filter((dir) => dir !== '');
  return dirs.some((dir) => isThere(join(dir, command))) ? undefined : `there is no program ${command} in PATH`;
}

function isProgram(file: string, { PATHEXT }: Environment): boolean {
  const endings = platform() === 'win32' ? ['', ...(PATHEXT ?? '.EXE;.CMD;.BAT;.COM').split(';')] : [''];
  return endings.some((ending) => {
    try {
      accessSync(`${file}${ending}`, constants.X_OK);
      return statSync(`${file}${ending}`).isFile();
    } catch (error) {
      expectSystemError(error);
      return false;
    }
  });
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
