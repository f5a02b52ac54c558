// Servers that nobody uses at the moment, and that what their clients' directory says has not changed about.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { textOf } from '../support/raw-client.ts';
import { isAlive, TestDaemon, tempDir, untilGone } from '../support/test-daemon.ts';

/** The process that answers, and how many calls it has answered. */
async function visit(daemon: TestDaemon, cwd: string): Promise<{ readonly pid: number; readonly calls: number }> {
  const client = await daemon.client({ 'mcp-bridge/view': 'server:example', 'mcp-bridge/cwd': cwd });
  const said = textOf(await client.callTool(1, 'visitors'));
  client.destroy();
  const [pid, calls] = (/process (\d+): (\d+)/.exec(said) ?? []).slice(1).map(Number);
  return { pid: Number(pid), calls: Number(calls) };
}

const reload = async (daemon: TestDaemon): Promise<string> =>
  (await runCommand(['reload', '--mcp-bridge-socket', daemon.path])).stdout;

test('the example goes on counting when its last client has left and files have changed; not when there is a config', async () => {
  const daemon = await TestDaemon.start();
  const project = tempDir();
  const first = await visit(daemon, project);
  expect(first.calls).toBe(1);
  for (let calls = 2; calls < 6; calls++) {
    // As clients write to their files all the time.
    writeFileSync(join(daemon.dir, '.claude.json'), JSON.stringify({ numStartups: calls }));
    expect(await reload(daemon)).toBe('Nothing has changed\n');
    expect(await visit(daemon, project)).toEqual({ pid: first.pid, calls });
  }
  expect(isAlive(first.pid)).toBe(true);
  mkdirSync(join(daemon.dir, 'mcp-bridge'), { recursive: true });
  writeFileSync(join(daemon.dir, 'mcp-bridge', 'config.json'), JSON.stringify({ mcpServers: {} }));
  await reload(daemon); // or the daemon has noticed by itself
  await untilGone(first.pid);
  await daemon.stop();
});
