// Tells this user's paths from others'. Nothing of another user is ever trusted, followed or removed.

import { lstatSync, type Stats, statSync } from 'node:fs';
import { BridgeError, systemCode } from '../util/bridge-error.ts';

/** The uid as the kernel has it. Users of containers often have no name, and then userInfo() fails. */
export const ownUid: () => number = () => process.geteuid?.() ?? -1;

/** The stat of the path itself, without following a link. Undefined if nothing is there. */
export function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT' || systemCode(error) === 'ENOTDIR') return undefined;
    throw new BridgeError('SOCKET_UNUSABLE', `Cannot look at ${path}: ${systemCode(error) ?? 'unknown error'}`, {
      cause: error,
    });
  }
}

export function isForeign(path: string): boolean {
  const stat = statOf(path);
  return stat !== undefined && stat.uid !== ownUid();
}

/**
 * True if another user owns the file, or the link to it. Root does not count as another user: it controls this user's
 * processes and files anyway, and installs the files of containers and packages.
 */
export function isAnotherUsers(path: string): boolean {
  const own = ownUid();
  if (own < 0) return false;
  return [lstatSync, statSync].some((look) => {
    const uid = look(path, { throwIfNoEntry: false })?.uid;
    return uid !== undefined && uid !== own && uid !== 0;
  });
}
