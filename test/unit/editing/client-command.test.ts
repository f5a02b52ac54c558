import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test, vi } from 'vitest';
import { findProgram, runClient } from '../../../src/editing/client-command.ts';
import { Home } from '../../support/editing-host.ts';

/** A zombie, which whoever is above it may leave, is none. */
function isAlive(pid: number): boolean {
  if (existsSync('/proc/self/stat'))
    return existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe("a client's own command", () => {
  test('that does not end is ended with its child processes', async () => {
    const home = new Home();
    const host = { ...home.host, timeoutMs: 500 };
    const script = `#!/bin/sh\n/bin/sleep 60 &\necho $! > ${home.path('pid')}\nwait\n`;
    home.write('bin/slow', script, 0o755);
    const outcome = await runClient(findProgram('slow', host) ?? '', [], host);
    expect(outcome).toEqual({ kind: 'failed', reason: 'it was ended by SIGKILL' });
    expect(existsSync(home.path('pid'))).toBe(true);
    const pid = Number(readFileSync(home.path('pid'), 'utf8'));
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false));
  });
});
