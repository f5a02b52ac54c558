// What `mcp-bridge connect` says to a person who has typed it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connect } from '../../../../src/cli/commands/connect.ts';
import { fakeHost } from '../../../support/cli-host.ts';
import { temporaryDir } from '../../../support/temporary-dir.ts';

const WAITS = 'mcp-bridge: connect waits for an MCP client on stdin';

test('at a terminal it says that it waits for a client, and to a program nothing', async () => {
  const home = temporaryDir();
  const [typed, started] = [fakeHost(home, home, { columns: 80 }), fakeHost(home, home)];
  const config = join(home, 'few.json');
  writeFileSync(config, JSON.stringify({ mcpBridge: { reconnect: { maxAttempts: 2, initialDelayMs: 1 } } }));
  const args = ['--no-autostart', '--config', config];
  for (const host of [typed, started]) expect(await connect(args, host)).toBe(1);
  expect(typed.complaints().startsWith(WAITS)).toBe(true);
  expect(started.complaints()).not.toContain(WAITS);
  expect(typed.said()).toBe('');
});
