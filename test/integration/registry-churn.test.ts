// The registry under processes that come, go and are killed, all at once.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { churn } from '../../bench/registry-churn.mjs';
import { temporaryDir } from '../support/temporary-dir.ts';

test('the file is whole at every moment, and lists who is there and nobody else', async () => {
  const file = join(temporaryDir(), '.mcp-bridge', 'mcp_servers.json');
  const { counts, faults } = await churn({ processes: 12, durationMs: 4000, killPeriodMs: 60, file });
  expect(faults).toEqual([]);
  expect(counts.readings).toBeGreaterThan(20);
  expect(counts.registered).toBeGreaterThan(20);
  expect(counts.killed).toBeGreaterThan(20);
});
