// Finds the build of the daemon at a path, at the price of reading one small file. The daemon itself decides nothing by
// it. A program that finds another build than its own asks the daemon (older-daemon.ts).

import { readFileSync } from 'node:fs';
import { lockPathOf } from '../local/socket-path.ts';
import { expectSystemError } from '../util/expected-error.ts';
import { membersOf, textOf } from '../util/json-value.ts';

/** Returns the build; undefined if no daemon has left a note there. */
export function notedBuild(path: string): string | undefined {
  try {
    const { build, version } = membersOf(JSON.parse(readFileSync(lockPathOf(path), 'utf8')));
    return textOf(build) || textOf(version) || undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) expectSystemError(error);
    return undefined; // no daemon, or one that says nothing
  }
}

/** Compares two versions by their numbers; 0 if these are the same. */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [one, other].map((text) => (text.split(/[+-]/)[0] ?? '').split('.').map(Number));
  for (let i = 0; i < 3; i++) {
    const difference = (a?.[i] ?? 0) - (b?.[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
