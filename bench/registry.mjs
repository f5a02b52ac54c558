// The registry of running servers under fifty processes that come, go and are killed: node bench/registry.mjs [SECONDS]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { churn } from './registry-churn.mjs';

const seconds = Number(process.argv[2] ?? 20);
const dir = mkdtempSync(join(tmpdir(), 'mcpr-'));
const file = join(dir, '.mcp-bridge', 'mcp_servers.json');
try {
  const { counts, faults } = await churn({
    processes: 50,
    isEnough: (_, tookMs) => tookMs > seconds * 1000,
    killPeriodMs: 100,
    file,
  });
  console.log(counts);
  for (const fault of new Set(faults)) console.log(`FAULT ${fault}`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  rmSync(dir, { recursive: true, force: true });
}
