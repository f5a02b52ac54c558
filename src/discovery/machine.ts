// The host as discovery asks it: paths of its platform, its environment, and the project that the working directory
// belongs to.

import { posix, win32 } from 'node:path';
import type { ProcessIdentity } from '../local/process-identity.ts';
import type { DiscoveryHost, Platform } from './host.ts';

/** The types of newer lines of Node have no name for it. */
export type PathRules = typeof posix;

export interface Machine {
  readonly platform: Platform;
  readonly path: PathRules;
  readonly home: string;
  readonly cwd: string;
  /** The directory of the repository around the working directory; without one, the working directory. */
  readonly root: string;
  /** True if the working directory is a project at all: a home directory is none. */
  readonly hasProject: boolean;
  env(name: string): string | undefined;
  /** The text for a variable in a definition: its value, or a reference to it where the definition is to be written down. */
  variable(name: string, otherwise?: string): string | undefined;
  isAlive(process: ProcessIdentity): boolean;
}

const FURTHEST = 64;

export async function machineOf(host: DiscoveryHost, isThere: (path: string) => Promise<boolean>): Promise<Machine> {
  const path = pathsOf(host);
  const cwd = path.resolve(host.cwd);
  const home = path.resolve(host.homedir);
  let dir = cwd;
  for (let n = 0; n < FURTHEST && dir !== home; n++) {
    if (await isThere(path.join(dir, '.git'))) return machineAt(host, dir);
    const above = path.dirname(dir);
    if (above === dir) break;
    dir = above;
  }
  return machineAt(host, cwd);
}

export function pathsOf({ platform }: Pick<DiscoveryHost, 'platform'>): PathRules {
  return platform === 'win32' ? win32 : posix;
}

/** For a root that is known. */
export function machineAt(host: Omit<DiscoveryHost, 'files' | 'self'>, root: string): Machine {
  const path = pathsOf(host);
  const cwd = path.resolve(host.cwd);
  const home = path.resolve(host.homedir);
  const hasProject = cwd !== home && path.dirname(cwd) !== cwd;
  const isAlive = (process: ProcessIdentity): boolean => host.isAlive?.(process) ?? false;
  const env = lookupIn(host);
  const variable: Machine['variable'] = (name, otherwise) => env(name) ?? otherwise;
  return { platform: host.platform, path, home, cwd, root, hasProject, env, variable, isAlive };
}

/** The directories from the working directory up to the project's root, nearest first. */
export function projectDirs({ path, cwd, root }: Machine): string[] {
  const dirs = [cwd];
  for (let dir = cwd; dir !== root && path.dirname(dir) !== dir; ) {
    dir = path.dirname(dir);
    dirs.push(dir);
  }
  return dirs;
}

function lookupIn({ platform, env }: Pick<DiscoveryHost, 'platform' | 'env'>): Machine['env'] {
  if (platform !== 'win32') return (name) => (Object.hasOwn(env, name) ? env[name] : undefined);
  const byUpperCase = new Map(Object.entries(env).map(([name, value]) => [name.toUpperCase(), value]));
  return (name) => byUpperCase.get(name.toUpperCase());
}

/** A variable that is set, as a definition gets it. */
export function suppliedVariable(name: string, { env, variable }: Machine): string | undefined {
  return env(name) === undefined ? undefined : variable(name);
}

/** The same place, whatever separators, case (on Windows) and trailing slash it is written with. */
export function pathKey({ platform, path }: Pick<Machine, 'platform' | 'path'>, text: string): string {
  const normal = path.normalize(text);
  const bare =
    normal.length > 1 && /[\\/]$/.test(normal) && !/^[A-Za-z]:[\\/]$/.test(normal) ? normal.slice(0, -1) : normal;
  return platform === 'win32' ? bare.toLowerCase() : bare;
}
