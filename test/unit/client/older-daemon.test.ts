import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { compareVersions, notedBuild } from '../../../src/client/daemon-build.ts';
import { isOlder } from '../../../src/client/older-daemon.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

test('versions are compared by their numbers', () => {
  expect(compareVersions('0.9.0', '0.10.0')).toBeLessThan(0);
  expect(compareVersions('1.0.0', '0.99.99')).toBeGreaterThan(0);
  expect(compareVersions('1.2.3+abc', '1.2.3+def')).toBe(0);
});

describe('a daemon is older', () => {
  const builtMs = 1_000_000_000_000;
  const status = (version: string, build: string, startedMs: number) => ({
    ...{ version, build, pid: 1, clients: 0 },
    uptimeMs: builtMs + 5000 - startedMs,
  });
  const olderThan = (daemon: ReturnType<typeof status>): boolean => {
    const program = join(temporaryDir(), 'mcp-bridge.cjs');
    writeFileSync(program, '');
    utimesSync(program, builtMs / 1000, builtMs / 1000);
    return isOlder(daemon, { version: '1.1.0', build: '1.1.0+b', program }, builtMs + 5000);
  };

  test('if its version is', () => {
    expect(olderThan(status('1.0.0', '1.0.0+a', builtMs + 1000))).toBe(true);
    expect(olderThan(status('1.2.0', '1.2.0+c', builtMs - 1000))).toBe(false);
  });

  test('if it is another build of the same version, and began before this one was made', () => {
    expect(olderThan(status('1.1.0', '1.1.0+a', builtMs - 1000))).toBe(true);
    expect(olderThan(status('1.1.0', '1.1.0+a', builtMs + 1000))).toBe(false);
    expect(olderThan(status('1.1.0', '1.1.0+b', builtMs - 1000))).toBe(false);
  });
});

test('the build of a daemon is read from its note, or unknown', () => {
  const path = join(temporaryDir(), 'b.sock');
  expect(notedBuild(path)).toBeUndefined();
  writeFileSync(`${path}.lock`, '{"pid":1,"version":"1.0.0"}\n');
  expect(notedBuild(path)).toBe('1.0.0');
  writeFileSync(`${path}.lock`, '{"pid":1,"version":"1.0.0","build":"1.0.0+x"}\n');
  expect(notedBuild(path)).toBe('1.0.0+x');
  writeFileSync(`${path}.lock`, '{');
  expect(notedBuild(path)).toBeUndefined();
});
