// The kernel's file lock, by the prebuilt addon of fs-native-extensions. Its own loader looks for the addon in a way that
// takes 4 MB of memory for good, so the file is loaded from where it is; the loader is asked only if it is not there.

import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { systemCode } from '../util/bridge-error.ts';

interface Addon {
  /** Throws EAGAIN while another descriptor has the lock. */
  tryLock(fd: number, offset: number, length: number, isExclusive: boolean): void;
}

function loadAddon(): Addon {
  const require = createRequire(import.meta.filename);
  try {
    return require(`fs-native-extensions/prebuilds/${platform()}-${arch()}/fs-native-extensions.node`) as Addon;
  } catch {
    return require('fs-native-extensions/binding.js') as Addon;
  }
}

let addon: Addon | undefined;

/** Takes an exclusive lock on the whole of an open file, or returns false at once if another descriptor has it. */
export function tryLock(fd: number): boolean {
  addon ??= loadAddon();
  try {
    addon.tryLock(fd, 0, 0, true);
    return true;
  } catch (error) {
    if (systemCode(error) === 'EAGAIN') return false;
    throw error;
  }
}
