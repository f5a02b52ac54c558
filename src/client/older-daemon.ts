// Deals with the daemon of an older program. If nobody uses the daemon and a client has started it, the newer program
// ends it; otherwise the newer program reports it. A daemon that a person has started is never ended.

import { statSync } from 'node:fs';
import { LockFile } from '../local/lock-file.ts';
import { lockPathOf } from '../local/socket-path.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { ControlClient, type StatusReport } from './control-client.ts';
import { compareVersions } from './daemon-build.ts';

export interface OwnBuild {
  readonly version: string;
  readonly build: string;
  /** The file that runs `mcp-bridge`. */
  readonly program: string;
}

/** The part of a daemon's status that this file needs; an older daemon says less. */
type Status = Pick<StatusReport, 'version' | 'uptimeMs' | 'clients' | 'pid'> &
  Partial<Readonly<{ build: string; autostarted: boolean; parked: number }>>;

const GONE_MS = 10_000;
const LOOK_MS = 10;

/** Ends the daemon at `path` if it is an older one that may be ended; else returns a line about it, if one is due. */
export async function replaceOlder(path: string, own: OwnBuild): Promise<string | undefined> {
  let client: ControlClient;
  try {
    client = await ControlClient.open(path, own.version);
  } catch (error) {
    // There is no daemon, or none that answers; the next connection finds out.
    if (error instanceof BridgeError) return undefined;
    throw error;
  }
  try {
    const status: Status = await client.call('bridge/status');
    if (!isOlder(status, own, Date.now())) return undefined;
    const isUsed = status.clients > 0 || (status.parked ?? 0) > 0;
    if (isUsed || status.autostarted !== true) return inUse(path, status, own);
    await client.call('bridge/stop');
    await client.untilClosed();
    await untilFree(path);
    return undefined;
  } finally {
    client.close();
  }
}

/** True for an older daemon. If the versions are the same, it is older if it started before this program was made. */
export function isOlder({ version, build, uptimeMs }: Status, own: OwnBuild, nowMs: number): boolean {
  const difference = compareVersions(version, own.version);
  if (difference !== 0) return difference < 0;
  if ((build ?? version) === own.build) return false;
  return statSync(own.program).mtimeMs > nowMs - uptimeMs;
}

function inUse(path: string, { build, version, autostarted }: Status, own: OwnBuild): string {
  const why = autostarted === true ? 'is in use' : 'was started by hand';
  return (
    `The daemon at ${path} is an older one (${build ?? version}; this is ${own.build}), and goes on because it ${why}. ` +
    'Replace it with: mcp-bridge restart'
  );
}

/** Waits for the daemon's end: its lock is free then. */
async function untilFree(path: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < GONE_MS; waitedMs += LOOK_MS) {
    const lock = LockFile.take(lockPathOf(path));
    lock?.release();
    if (lock !== undefined) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
