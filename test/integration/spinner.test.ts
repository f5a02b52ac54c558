// A person who waits sees for what. A pipe sees nothing of it.

import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { onTerminal } from '../support/lasting-command.ts';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';

const SLOW = fixtureServer({ FIXTURE_SILENT: '1' });

test.each([
  [['tools'], 'Waiting for late and slow'],
  [['tools', 'slow'], 'Waiting for slow'],
  [['search', 'echo'], 'Waiting for late and slow'],
  [['describe', 'slow', 'echo'], 'Waiting for slow'],
  [['call', 'slow', 'echo', 'text=x'], 'Waiting for slow'],
  [['refresh', 'slow'], 'Waiting for slow'],
])('%j says on a terminal which servers it waits for', async (args, line) => {
  const daemon = await TestDaemon.start({ mcpServers: { quick: fixtureServer(), slow: SLOW, late: SLOW } });
  const shown = onTerminal(20, 60, ...args, '--mcp-bridge-socket', daemon.path);
  await shown.until(new RegExp(`␛\\[K[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] ${line}`));
  shown.child.stdin.write('type \\x03\n');
  await shown.ended;
  await daemon.stop();
});

test('what was waited for is gone from the terminal when the answer is there', async () => {
  const daemon = await TestDaemon.start({ mcpServers: { fixture: fixtureServer() } });
  const call = ['call', 'fixture', 'slow', 'ms=900', '--mcp-bridge-socket', daemon.path];
  const shown = onTerminal(20, 60, ...call);
  expect(await shown.ended).toBe(0);
  expect(shown.said()).toMatch(/Waiting for fixture/);
  expect(shown.said().split('␛[K').at(-1)).not.toContain('Waiting');
  expect((await runCommand(call)).stderr).toBe('');
  await daemon.stop();
});
