// Marks of paths: two equal marks of a path mean that nothing has changed there in between. A mark reads no content.

import { type BigIntStats, lstatSync, statSync } from 'node:fs';
import { systemCode } from '../util/bridge-error.ts';

/**
 * The mark of a path that has just changed: another change within the same tick of the file system's clock would not
 * show.
 */
export const UNCERTAIN = 'uncertain';
/** Twice the coarsest tick: the slowest clock that kernels stamp files with ticks every 10 ms. */
const TICK_NS = 20_000_000n;

/** Marks a path and the targets of its links. A path that cannot be inspected gets the reason as its mark. */
export function markOf(path: string): string {
  try {
    const link = lstatSync(path, { bigint: true });
    const file = link.isSymbolicLink() ? statSync(path, { bigint: true }) : link;
    const nowNs = BigInt(Date.now()) * 1_000_000n;
    if ([link, file].some(({ ctimeNs }) => nowNs - ctimeNs < TICK_NS)) return UNCERTAIN;
    return link === file ? textOf(file) : `${textOf(link)} ${textOf(file)}`;
  } catch (error) {
    const code = systemCode(error);
    if (code === undefined) throw error;
    return code;
  }
}

/** True if a path has surely not changed since it was marked. */
export function isAsMarked(path: string, mark: string): boolean {
  return mark !== UNCERTAIN && markOf(path) === mark;
}

function textOf({ dev, ino, mode, uid, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, mode, uid, size, mtimeNs, ctimeNs].join(' ');
}
