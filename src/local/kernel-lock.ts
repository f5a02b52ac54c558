// The kernel's file lock, by the prebuilt addon of fs-native-extensions. The package's own loader takes 4 MB of memory
// for good, so the addon's file is loaded directly; the loader is used only if the file is missing.

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

/** The name of an open descriptor of the addon, for a process whose package may have been removed. */
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

/** Opens the addon's file for processes that start later; undefined where they could not use it. */
export function openAddon(): number | undefined {
  if (platform() !== 'linux') return undefined; // only Linux can load a file by its descriptor
  try {
    return openSync(require.resolve(PREBUILT), 'r');
  } catch (error) {
    expectSystemError(error);
    return undefined; // the addon is somewhere else: the loader finds it when needed
  }
}

/** Loads the addon from this descriptor from now on. */
export function useOpenAddon(fd: number): void {
  opened = `/proc/self/fd/${fd}`;
}

let addon: Addon | undefined;

/** Takes an exclusive lock on a whole open file. Returns false at once if another descriptor has the lock. */
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
