// The home of this user, and the directories in it that XDG names. No result depends on the working directory: else the
// author of a project could place files there that count as the user's own.

import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { BridgeError } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The home directory. An empty or relative HOME is ignored; the system's entry for this user is used instead. */
export function homeDir(environment: Environment, ofSystem = systemHome): string {
  const home = knownHome(environment, ofSystem);
  if (home !== undefined) return home;
  throw new BridgeError('HOME_UNKNOWN', 'Where your home directory is cannot be told: HOME names none', {
    hint: 'Set HOME to the absolute path of a directory of yours.',
  });
}

/** Sets HOME for everything that is started from here, if there is a home. */
export function settleHome(environment: Record<string, string | undefined>, ofSystem = systemHome): void {
  const home = knownHome(environment, ofSystem);
  if (home !== undefined) environment.HOME = home;
}

function knownHome({ HOME: named }: Environment, ofSystem: typeof systemHome): string | undefined {
  if (named !== undefined && isAbsolute(named)) return named;
  const known = ofSystem();
  return known !== undefined && isAbsolute(known) ? known : undefined;
}

function systemHome(): string | undefined {
  try {
    return userInfo().homedir;
  } catch (error) {
    expectSystemError(error);
    return undefined; // users of containers often have no entry
  }
}

/** The directory that an XDG variable names, or the usual one. The XDG specification ignores relative paths. */
export function xdgDir(named: string | undefined, usual: string): string {
  return named !== undefined && isAbsolute(named) ? named : usual;
}

export function xdgConfigDir(named: string | undefined, home: string): string {
  return xdgDir(named, join(home, '.config'));
}

export function xdgCacheDir(named: string | undefined, home: string): string {
  return xdgDir(named, join(home, '.cache'));
}
