// A person who waits sees for what. A pipe sees nothing of it.

import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { onTerminal } from '../support/lasting-command.ts';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';

const SLOW = fixtureServer({ FIXTURE_SILENT: '1' });

let daemon: TestDaemon;
beforeAll(async () => {
  const mcpServers = { quick: fixtureServer(), slow: SLOW, late: SLOW };
  const limits = { startTimeoutMs: 600_000 };
  daemon = await TestDaemon.start({ client: { view: 'all' }, limits, mcpServers });
});
afterAll(() => daemon.stop());

test.each([
  [['tools'], 'Waiting for late and slow'],
  [['tools', 'slow'], 'Waiting for slow'],
  [['search', 'echo'], 'Waiting for late and slow'],
  [['describe', 'slow', 'echo'], 'Waiting for slow'],
  [['call', 'slow', 'echo', 'text=x'], 'Waiting for slow'],
  [['refresh', 'slow'], 'Waiting for slow'],
])('%j says on a terminal which servers it waits for', async (args, line) => {
  const shown = onTerminal(20, 60, ...args, '--mcp-bridge-socket', daemon.path);
  await shown.until(new RegExp(`␛\\[K[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] ${line}`));
  shown.child.stdin.write('type \\x03\n');
  await shown.ended;
});

test('the waiting line is gone from the terminal when the answer is there', async () => {
  const call = ['call', 'quick', 'slow', 'ms=900', '--mcp-bridge-socket', daemon.path];
  const shown = onTerminal(20, 60, ...call);
  expect(await shown.ended).toBe(0);
  expect(shown.said()).toMatch(/Waiting for quick/);
  expect(shown.said().split('␛[K').at(-1)).not.toContain('Waiting');
  expect((await runCommand(call)).stderr).toBe('');
});
