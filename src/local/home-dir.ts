// Where this user's home is, and the directories in it that XDG names. Whoever asks gets no place that depends on the
// working directory: the author of a project could put there what counts as the user's own.

import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { BridgeError } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A HOME that is empty or relative is ignored; then it is what the system has for this user. */
export function homeDir(environment: Environment, ofSystem = systemHome): string {
  const home = knownHome(environment, ofSystem);
  if (home !== undefined) return home;
  throw new BridgeError('HOME_UNKNOWN', 'Where your home directory is cannot be told: HOME names none', {
    hint: 'Set HOME to the absolute path of a directory of yours.',
  });
}

/** Has HOME name the home for all that is started from here, if there is one. */
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

/** The directory that a variable of XDG names, or the usual one: its specification has relative ones ignored. */
export function xdgDir(named: string | undefined, usual: string): string {
  return named !== undefined && isAbsolute(named) ? named : usual;
}

export function xdgConfigDir(named: string | undefined, home: string): string {
  return xdgDir(named, join(home, '.config'));
}

export function xdgCacheDir(named: string | undefined, home: string): string {
  return xdgDir(named, join(home, '.cache'));
}
