// The host as discovery uses it: paths of its platform, its environment, and the project of the working directory.

import { posix, win32 } from 'node:path';
import type { ProcessIdentity } from '../local/process-identity.ts';
import type { DiscoveryHost, Platform } from './host.ts';

/** Types of newer Node versions have no name for it. */
export type PathRules = typeof posix;

export interface Machine {
  readonly platform: Platform;
  readonly path: PathRules;
  readonly home: string;
  readonly cwd: string;
  /** The directory of the repository around the working directory; if there is none, the working directory. */
  readonly root: string;
  /** True if the working directory belongs to a project; a home directory does not. */
  readonly hasProject: boolean;
  env(name: string): string | undefined;
  /** The value of a variable for a definition; or a reference to it, if the definition will be written to a file. */
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

/** Makes a machine whose root is known. */
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

/** The value of a variable that is set, for a definition. */
export function suppliedVariable(name: string, { env, variable }: Machine): string | undefined {
  return env(name) === undefined ? undefined : variable(name);
}

/** The same key for equal places, whatever separators, case (on Windows) or trailing slash they are written with. */
export function pathKey({ platform, path }: Pick<Machine, 'platform' | 'path'>, text: string): string {
  const normal = path.normalize(text);
  const bare =
    normal.length > 1 && /[\\/]$/.test(normal) && !/^[A-Za-z]:[\\/]$/.test(normal) ? normal.slice(0, -1) : normal;
  return platform === 'win32' ? bare.toLowerCase() : bare;
}
