// What belongs to this user and what does not. Nothing of another user is ever trusted, followed or removed.

import { lstatSync, type Stats, statSync } from 'node:fs';
import { BridgeError, systemCode } from '../util/bridge-error.ts';

/** As the kernel has it: users of containers often have no name, and of those userInfo() can say nothing. */
export const ownUid: () => number = () => process.geteuid?.() ?? -1;

/** The stat of the path itself: a link is not followed. Undefined if nothing is there. */
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
 * True if another user has the file, or the link that leads to it. Root is none: it may do as it likes with this user's
 * processes and files anyway, and installs what containers and packages bring.
 */
export function isAnotherUsers(path: string): boolean {
  const own = ownUid();
  if (own < 0) return false;
  return [lstatSync, statSync].some((look) => {
    const uid = look(path, { throwIfNoEntry: false })?.uid;
    return uid !== undefined && uid !== own && uid !== 0;
  });
}
