// The bridge's own config file as something to change: which one that is, and what is in it. A config that is a program
// is its author's to change.

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

/** The file named by the user, else the user's own, which need not be there yet. */
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

/** In the order in which the daemon looks for it. */
function usersConfig({ environment, homedir }: EditingHost): ConfigFile {
  const dir = join(xdgConfigDir(environment.XDG_CONFIG_HOME, homedir), 'mcp-bridge');
  const files = ['json', 'jsonc', 'js', 'mjs', 'ts'].map((ending) => join(dir, `config.${ending}`));
  const found = files.map(readConfigFile);
  return found.find(({ bytes }) => bytes !== undefined) ?? (found[0] as ConfigFile);
}

/** True if others could read these entries there, which hold what may be a secret. */
export function isNarrowed({ mode }: ConfigFile, entries: readonly unknown[]): boolean {
  return mode !== undefined && (mode & 0o077) !== 0 && entries.some(holdsSecrets);
}

export function narrowedLine({ path }: ConfigFile, mood: 'did' | 'would'): string {
  return `${path} ${mood === 'did' ? 'is' : 'would be'} readable for you alone from now on: there are values in it that may be secrets`;
}

interface Change {
  readonly bytes: Buffer;
  /** Entries that come into it. */
  readonly entries: readonly unknown[];
}

/** The bridge's own config is ours to narrow. */
export function replaceOwn(file: ConfigFile, { bytes, entries }: Change, host: EditingHost): string[] {
  return replace(isNarrowed(file, entries) ? { ...file, mode: 0o600 } : file, bytes, host);
}
