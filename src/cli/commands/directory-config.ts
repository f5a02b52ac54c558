// The config of the working directory, for a command that starts a daemon with it. That daemon serves all clients of
// its user, so a person must see the config and agree first. Nothing in it runs before that.

import { platform } from 'node:os';
import { dirname } from 'node:path';
import type { Located } from '../../client/locate.ts';
import { findConfigFile, isProgram } from '../../config/config-file.ts';
import { loadConfig } from '../../config/load.ts';
import { NOTHING_COVERED } from '../../discovery/approval.ts';
import { StoredApprovals } from '../../discovery/approval-file.ts';
import { maskedText } from '../../discovery/masked-text.ts';
import { discoverHere } from '../../discovery/own-discovery.ts';
import { BridgeError } from '../../util/bridge-error.ts';
import { isRecord, membersOf } from '../../util/json-value.ts';
import { lineFor } from '../exit-code.ts';
import type { CliHost } from '../host.ts';
import type { WhereValues } from '../locate.ts';
import { definitionLines, type Line, rendered, warningsOf } from '../render/definition-view.ts';
import { printable } from '../render/table.ts';
import { confirm, hasPerson, tilde } from '../render/terminal.ts';

interface Asked extends WhereValues {
  readonly json?: boolean | undefined;
}

/** True in the home directory. It is no repository, and a daemon that a client starts uses its config anyway. */
export function isAtHome({ cwd, homedir }: CliHost): boolean {
  return cwd === homedir;
}

/** The directory in which a daemon with the user's own config looks for that config. */
export function ownConfigDir({ loaded: { file, origin } }: Located, { homedir }: CliHost): string {
  return origin === 'user' && file !== undefined ? dirname(file) : homedir;
}

/** The directory's config, if there is one and the person at the terminal agrees. `command` is used in messages. */
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

/** Reads and shows the config. Rejects if the file cannot be read. */
async function shownConfig(file: string, host: CliHost): Promise<string> {
  const title = `${printable(tilde(file, host))} is in this directory.\n`;
  if (isProgram(file))
    return `${title}It is a program, which runs when the daemon starts and when the file changes. Look at it first.\n`;
  const { environment, homedir, program, cwd } = host;
  const loaded = await loadConfig({ named: file, cwd, homedir, xdgConfigHome: environment.XDG_CONFIG_HOME });
  const own = { platform: platform(), environment, homedir, program, socketPath: loaded.config.socketPath ?? '' };
  const { servers } = await discoverHere(own, {
    ...{ cwd, config: loaded, isOwnOnly: true },
    ...{ approvals: new StoredApprovals([]), seenApprovals: NOTHING_COVERED },
  });
  const shown = servers.map((server) => {
    const warnings = warningsOf(server).map((warning) => `  ! ${printable(warning)}\n`);
    return `${printable(server.name)}\n${rendered(definitionLines(server, host))}${warnings.join('')}`;
  });
  const settings = settingLines(loaded.content);
  const rest = settings.length === 0 ? [] : [`settings\n${rendered(settings)}`];
  const faults = loaded.faults.map((fault) => `! ${printable(fault)}\n`);
  return [title, ...shown, ...rest, ...faults].join('');
}

/** All settings except servers, with secrets masked. */
function settingLines(content: unknown): Line[] {
  const { mcpServers: _, ...sections } = membersOf(content);
  const settings = Object.entries(sections).flatMap(([section, value]): [string, unknown][] =>
    isRecord(value) ? Object.entries(value).map(([key, part]) => [`${section}.${key}`, part]) : [[section, value]],
  );
  return settings.map(([name, value]) => [printable(name), printable(maskedText(JSON.stringify(value)))]);
}
