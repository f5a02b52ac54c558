// A newer `connect` and the daemon of an older build: the same program, copied and said to be another.

import { spawn } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { RawClient } from '../support/raw-client.ts';
import { isAlive, PROGRAM, ROOT, tempDir, untilGone } from '../support/test-daemon.ts';

const INITIALIZE =
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"script","version":"3"}}}\n';

interface Installed {
  readonly dir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly older: string;
}

/** A home in which an older build of this program is installed. */
function install(): Installed {
  const dir = tempDir();
  cpSync(join(ROOT, 'dist'), join(dir, 'dist'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  const older = join(dir, 'dist/mcp-bridge.cjs');
  writeFileSync(older, readFileSync(older, 'utf8').replaceAll(/"(\d+\.\d+\.\d+)\+[0-9a-f]{12}"/g, '"$1+000000000000"'));
  const env = { XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir, XDG_CACHE_HOME: dir, HOME: dir };
  return { dir, older, env: { ...env, MCP_BRIDGE_SOCKET: join(dir, 'b.sock') } };
}

/** The program of this build counts as made now: whatever ran before is older. */
function makeNew(): void {
  const now = Date.now() / 1000 + 1;
  utimesSync(PROGRAM, now, now);
}

async function startOlder(
  { older, env, dir }: Installed,
  args: readonly string[],
): Promise<{ pid: number; client?: RawClient }> {
  const child = spawn(process.execPath, [older, ...args], {
    env: { ...process.env, ...env },
    cwd: dir,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const client = new RawClient(child.stdout, child.stdin);
  if (args[0] === 'connect') await client.initialize();
  else await client.untilClosed();
  const { stdout } = await runCommand(['status', '--json'], { env });
  return { pid: (JSON.parse(stdout) as { pid: number }).pid, client };
}

/** Until the daemon has heard that its clients have gone. */
async function untilUnused({ env }: Installed): Promise<void> {
  for (;;) {
    const { stdout } = await runCommand(['status', '--json'], { env });
    const { clients, parked } = JSON.parse(stdout) as { clients: number; parked: number };
    if (clients + parked === 0) return;
  }
}

const connect = ({ env, dir }: Installed) => runCommand(['connect'], { env, cwd: dir, input: INITIALIZE });

test('an unused older daemon that a client has started is replaced', async () => {
  const installed = install();
  const { pid, client } = await startOlder(installed, ['connect']);
  client?.end();
  await client?.untilClosed();
  await untilUnused(installed);
  makeNew();
  const { code, stdout, stderr } = await connect(installed);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('"serverInfo"');
  await untilGone(pid);
  await runCommand(['stop'], { env: installed.env });
});

test('one that is in use goes on, and is named', async () => {
  const installed = install();
  const { pid, client } = await startOlder(installed, ['connect']);
  makeNew();
  const { code, stderr } = await connect(installed);
  expect(code).toBe(0);
  expect(stderr).toMatch(/is an older one \(.*\+000000000000; this is .*\), and goes on because it is in use/);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  expect(isAlive(pid)).toBe(true);
  client?.end();
  await client?.untilClosed();
  await runCommand(['stop'], { env: installed.env });
});

test('one that a person has started is theirs', async () => {
  const installed = install();
  const { pid } = await startOlder(installed, ['start']);
  makeNew();
  const { code, stderr } = await connect(installed);
  expect([code, stderr]).toEqual([0, expect.stringMatching(/goes on because it was started by hand/)]);
  expect(isAlive(pid)).toBe(true);
  await runCommand(['stop'], { env: installed.env });
});
