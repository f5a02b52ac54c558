// The config of the working directory, for a command that starts a daemon there: that one is for all clients of its user, so
// somebody has to see the config and agree. Nothing of it is run before.

import { dirname } from 'node:path';
import type { Located } from '../../client/locate.ts';
import { findConfigFile } from '../../config/config-file.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { lineFor } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import type { WhereValues } from '../locate.ts';
import { printable } from '../render/table.ts';
import { confirm, hasPerson } from '../render/terminal.ts';

interface Asked extends WhereValues {
  readonly json?: boolean | undefined;
}

/** A home is no repository: a daemon that a client starts finds its config there too. */
export function isAtHome({ cwd, homedir }: CliHost): boolean {
  return cwd === homedir;
}

/** The directory in which a daemon of this user's own config looks for it. */
export function ownConfigDir({ loaded: { file, origin } }: Located, { homedir }: CliHost): string {
  return origin === 'user' && file !== undefined ? dirname(file) : homedir;
}

/** The directory's config, if there is one and the person at the terminal wants it. `command` is for what is said. */
export async function agreedConfig(command: string, values: Asked, host: CliHost): Promise<string | undefined> {
  const { cwd, homedir, environment } = host;
  if (values.config !== undefined || isAtHome(host)) return undefined;
  const place = { cwd, homedir, xdgConfigHome: environment.XDG_CONFIG_HOME, runsPrograms: true };
  const { file, origin } = findConfigFile(place);
  if (file === undefined || origin !== 'directory') return undefined;
  if (values.json === true || !hasPerson(host)) {
    host.stderr.write(lineFor(notUsed(file, 'there is no terminal to ask on', command)));
    return undefined;
  }
  const { shownConfig } = await import('../render/shown-config.ts');
  try {
    host.stdout.write(await shownConfig(file, host));
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error;
    host.stderr.write(lineFor(error));
    return undefined;
  }
  if (await confirm('Use it, as it is now and as it changes, for all of your clients?', host)) return file;
  host.stdout.write('It starts with your own config.\n');
  return undefined;
}

function notUsed(file: string, why: string, command: string): BridgeError {
  const told = printable(file);
  return new BridgeError('REQUEST_REFUSED', `${told} is not used: a daemon is for all of your clients, and ${why}`, {
    hint: `To use it: mcp-bridge ${command} --config ${told}`,
  });
}
