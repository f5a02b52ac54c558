// The bridge's own config file, opened to be changed: finds the file and reads it. It never changes a config that is a
// program: only its author does.

import { extname, join, resolve } from 'node:path';
import { xdgConfigDir } from '../local/home-dir.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { ConfigDocument } from './config-document.ts';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { type EditingHost, replace } from './editing-host.ts';
import { holdsSecrets } from './own-entry.ts';

export interface OpenOwnConfig {
  readonly file: ConfigFile;
  readonly document: ConfigDocument;
}

/** Opens the file that the user names, else the user's own file, which may not exist yet. */
export async function openOwnConfig(
  named: string | undefined,
  host: EditingHost,
  container: readonly string[] = ['mcpServers'],
): Promise<OpenOwnConfig> {
  const file = named === undefined ? usersConfig(host) : readConfigFile(resolve(host.cwd, named));
  if (!['.json', '.jsonc'].includes(extname(file.path))) {
    throw new BridgeError('CONFIG_INVALID', `${file.path} is a program, which is not changed for you`, {
      hint: `Change "${container.join('.')}" in it by hand, or name a .json file with --config.`,
    });
  }
  return { file, document: await ConfigDocument.parse(file.text, { path: file.path, syntax: 'json', container }) };
}

/** Looks for the user's config in the daemon's order. */
function usersConfig({ environment, homedir }: EditingHost): ConfigFile {
  const dir = join(xdgConfigDir(environment.XDG_CONFIG_HOME, homedir), 'mcp-bridge');
  const files = ['json', 'jsonc', 'js', 'mjs', 'ts'].map((ending) => join(dir, `config.${ending}`));
  const found = files.map(readConfigFile);
  return found.find(({ bytes }) => bytes !== undefined) ?? (found[0] as ConfigFile);
}

/** True if the entries hold possible secrets and others could read the file. */
export function isNarrowed({ mode }: ConfigFile, entries: readonly unknown[]): boolean {
  return mode !== undefined && (mode & 0o077) !== 0 && entries.some(holdsSecrets);
}

export function narrowedLine({ path }: ConfigFile, mood: 'did' | 'would'): string {
  return `${path} ${mood === 'did' ? 'is' : 'would be'} readable for you alone from now on: there are values in it that may be secrets`;
}

interface Change {
  readonly bytes: Buffer;
  /** The entries that are added to the file. */
  readonly entries: readonly unknown[];
}

/** Replaces the file. It narrows the permissions if needed: the bridge may do so with its own config. */
export function replaceOwn(file: ConfigFile, { bytes, entries }: Change, host: EditingHost): string[] {
  return replace(isNarrowed(file, entries) ? { ...file, mode: 0o600 } : file, bytes, host);
}
