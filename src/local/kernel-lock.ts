// The kernel's file lock, by the prebuilt addon of fs-native-extensions. Its own loader looks for the addon in a way that
// takes 4 MB of memory for good, so the file is loaded from where it is; the loader is asked only if it is not there.

import { openSync } from 'node:fs';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dlopen } from 'node:process';
import { systemCode } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';

interface Addon {
  /** Throws EAGAIN while another descriptor has the lock. */
  tryLock(fd: number, offset: number, length: number, isExclusive: boolean): void;
}

const PREBUILT = `fs-native-extensions/prebuilds/${platform()}-${arch()}/fs-native-extensions.node`;
const require = createRequire(import.meta.filename);

/** A descriptor of the addon, for a process whose package may have been removed. */
let opened: string | undefined;

function loadAddon(): Addon {
  if (opened !== undefined) return loadOpened(opened);
  try {
    return require(PREBUILT) as Addon;
  } catch (error) {
    if (systemCode(error) !== 'MODULE_NOT_FOUND') throw error;
    return require('fs-native-extensions/binding.js') as Addon;
  }
}

function loadOpened(path: string): Addon {
  const module = { exports: {} };
  dlopen(module, path);
  return module.exports as Addon;
}

/** Opens the addon's file, for processes that are started later; undefined where that says nothing to them. */
export function openAddon(): number | undefined {
  if (platform() !== 'linux') return undefined; // only there a descriptor has a name by which it can be loaded
  try {
    return openSync(require.resolve(PREBUILT), 'r');
  } catch (error) {
    expectSystemError(error);
    return undefined; // the addon is somewhere else: it is looked for when it is needed
  }
}

/** From here on the addon is the file that this descriptor is of. */
export function useOpenAddon(fd: number): void {
  opened = `/proc/self/fd/${fd}`;
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
