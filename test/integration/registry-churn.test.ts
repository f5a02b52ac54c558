// The registry under processes that come, go and are killed, all at once.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Counts, churn } from '../../bench/registry-churn.mjs';
import { temporaryDir } from '../support/temporary-dir.ts';
import { ROOT } from '../support/test-daemon.ts';

test('the file is complete at every moment, and lists exactly the running servers', async () => {
  const file = join(temporaryDir(), '.mcp-bridge', 'mcp_servers.json');
  const isEnough = ({ readings, registered, killed }: Counts): boolean => Math.min(readings, registered, killed) > 40;
  const { faults } = await churn({ processes: 12, isEnough, killPeriodMs: 60, file });
  expect(faults).toEqual([]);
});

test('a working directory that is gone is a warning', () => {
  const cwd = temporaryDir();
  const script = `
    import { rmdirSync } from 'node:fs';
    import { registerServer, unregisterServer } from ${JSON.stringify(join(ROOT, 'dist/registry.js'))};
    process.chdir(${JSON.stringify(cwd)});
    rmdirSync(${JSON.stringify(cwd)});
    console.log(JSON.stringify([await registerServer({ name: 'a' }), await unregisterServer('a_1')]));
  `;
  const args = ['--input-type=module', '-e', script];
  const said = execFileSync(process.execPath, args, { cwd, encoding: 'utf8' });
  const warnings = [expect.stringContaining('Where the registry is cannot be told: ENOENT')];
  expect(JSON.parse(said)).toEqual([
    { isDone: false, id: '', file: '', warnings },
    { isDone: false, id: 'a_1', file: '', warnings },
  ]);
});
