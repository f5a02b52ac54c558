// Installs the bridge through the client's own command. It judges success by the file, never by the command's output.
// It keeps a copy of the old file, so that `uninstall` can restore it byte for byte.

import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { BridgeError } from '../util/bridge-error.ts';
import { findProgram, runClient } from './client-command.ts';
import { type ClientConfig, readClientConfig } from './client-config.ts';
import { type BridgeLaunch, type ClientCommand, type ClientTarget, ENTRY_NAME } from './client-targets.ts';
import { digestOf, readConfigFile } from './config-file.ts';
import { isEdit } from './edit-report.ts';
import type { EditingHost } from './editing-host.ts';
import { backUp, type Original, removeBackup, writeRecord } from './install-record.ts';

interface FoundCommand {
  readonly command: ClientCommand;
  readonly path: string;
}

/**
 * The command to run. Undefined if the client has none here, if the user does not want it, or if it cannot make the
 * whole change.
 */
export function commandFor(
  { target, record, stale }: ClientConfig,
  options: { readonly replace: boolean; readonly clientCommand: boolean },
  host: EditingHost,
): FoundCommand | undefined {
  const { command } = target;
  const isPlain = !options.replace && stale.length === 0 && (record?.moved.length ?? 0) === 0;
  if (command === undefined || !options.clientCommand || !isPlain) return undefined;
  const path = findProgram(command.program, host);
  return path === undefined ? undefined : { command, path };
}

type Outcome = { readonly kind: 'done' } | { readonly kind: 'not-done'; readonly note: string };

/** Runs the command. Throws if the command has changed the file and the bridge is not in it. */
export async function installByCommand(
  { target, file }: ClientConfig,
  { command, path, launch }: FoundCommand & { readonly launch: BridgeLaunch },
  host: EditingHost,
): Promise<Outcome> {
  const original: Original = { backup: backUp(file, target.client, host), left: '', dirs: missingDirs(file.realpath) };
  const record = { file: file.path, original, moved: [], ownFile: null, ownOriginal: null };
  writeRecord(target.client, record, host);
  const outcome = await runClient(path, command.add(ENTRY_NAME, launch), host);
  const now = readConfigFile(file.path);
  const isThere = await hasBridge(target, file.path, host);
  if (isThere && now.bytes !== undefined) {
    writeRecord(target.client, { ...record, original: { ...original, left: digestOf(now.bytes) } }, host);
    return { kind: 'done' };
  }
  const reason = outcome.kind === 'failed' ? outcome.reason : 'the bridge is not in the file';
  if (isEdit({ file, syntax: target.syntax, after: now.bytes && now.text })) {
    const copy = original.backup === null ? '' : ` ${original.backup} is what was there.`;
    throw new BridgeError('CLIENT_COMMAND_FAILED', `${command.program} has changed ${file.path}, but ${reason}`, {
      hint: `Look at the file.${copy} With --no-client-cli it is done without ${command.program}.`,
    });
  }
  removeBackup(original);
  return { kind: 'not-done', note: `${command.program} did not do it (${reason}), so the file was changed directly.` };
}

/** True if the file has the bridge. A file that the command has broken does not have it. */
async function hasBridge(target: ClientTarget, path: string, host: EditingHost): Promise<boolean> {
  try {
    return (await readClientConfig(target, path, host)).ours.length > 0;
  } catch (error) {
    if (error instanceof BridgeError && error.code === 'CONFIG_INVALID') return false;
    throw error;
  }
}

/** The missing directories above the path, the outermost first. */
function missingDirs(path: string): string[] {
  const missing: string[] = [];
  for (let dir = dirname(path); !existsSync(dir) && dirname(dir) !== dir; dir = dirname(dir)) missing.unshift(dir);
  return missing;
}
