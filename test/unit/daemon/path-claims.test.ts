// A path is let go when the last directory that depends on it is left.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PathClaims } from '../../../src/daemon/server-finder.ts';

const DIRS = ['/p', '/q', '/r'];
const PATHS = ['/a', '/b', '/c', '/d'];

test('whatever is claimed and left, each path that has lost its last claim is told once, and no other', () => {
  const step = fc.record({
    dir: fc.constantFrom(...DIRS),
    paths: fc.option(fc.array(fc.constantFrom(...PATHS), { maxLength: 5 }), { nil: undefined }),
    isTaken: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const claims = new PathClaims();
      const claimed = new Map<string, readonly string[]>();
      const held = new Set<string>();
      for (const { dir, paths, isTaken } of steps) {
        if (paths === undefined) {
          claims.leave(dir);
          claimed.delete(dir);
        } else {
          claims.claim(dir, paths);
          claimed.set(dir, paths);
          for (const path of paths) held.add(path);
        }
        if (!isTaken) continue;
        const wanted = new Set([...claimed.values()].flat());
        const over = [...held].filter((path) => !wanted.has(path));
        expect(claims.takeUnclaimed().sort()).toEqual(over.sort());
        for (const path of over) held.delete(path);
      }
    }),
  );
});
