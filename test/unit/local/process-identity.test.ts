import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { identityOf, livenessOf } from '../../../src/local/process-identity.ts';
import { deadPid, idleProcess, zombiePid } from '../../support/other-processes.ts';

/** On macOS nothing is known of a process but its pid. */
const onLinux = test.runIf(process.platform === 'linux');

test('a process is itself for as long as it runs', async () => {
  const child = idleProcess();
  const identity = identityOf(child.pid);
  expect(livenessOf(identity)).toBe('alive');
  expect(livenessOf({ pid: child.pid })).toBe('alive');
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  expect(livenessOf(identity)).toBe('gone');
  expect(livenessOf({ pid: child.pid })).toBe('gone');
});

onLinux('a pid that another process has now is not the one that was meant', () => {
  const own = identityOf(process.pid);
  expect(livenessOf({ ...own, processStartTime: (own.processStartTime ?? 0) - 1 })).toBe('gone');
  expect(livenessOf({ ...own, bootId: 'of-another-boot' })).toBe('gone');
});

onLinux('a pid of another namespace says nothing here', () => {
  expect(livenessOf({ ...identityOf(process.pid), pidNamespace: 'pid:[1]' })).toBe('elsewhere');
});

onLinux('one that has ended and is not asked for has ended', async () => {
  const pid = await zombiePid();
  while (!/\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))) await delay(1);
  expect(livenessOf({ pid })).toBe('gone');
});

test('of one that is gone there is nothing to know but its pid', () => {
  const pid = deadPid();
  expect(identityOf(pid)).toEqual({ pid });
});

test("another user's process runs", () => {
  expect(livenessOf(identityOf(1))).toBe('alive');
});
