// The names that shells offer while no daemon runs: the files say them, and nothing is started for that.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { offeredNames } from '../../../../../src/cli/commands/completion/completion.ts';
import { fakeHost } from '../../../../support/cli-host.ts';
import { writeFiles } from '../../../../support/file-tree.ts';
import { temporaryDir } from '../../../../support/temporary-dir.ts';

const server = { command: 'node', args: ['server.js'] };

test('servers of the config and of all clients are offered without a daemon', async () => {
  const home = temporaryDir();
  writeFiles(home, {
    '.config/mcp-bridge/config.json': {
      mcpServers: { memory: server, files: { command: 'node', args: ['files.js'] } },
    },
    '.cursor/mcp.json': { mcpServers: { drawings: { command: 'node', args: ['drawings.js'] } } },
    'work/.git/HEAD': '',
    'work/.mcp.json': { mcpServers: { waiting: { command: 'node', args: ['waiting.js'] } } },
  });
  const host = fakeHost(home, join(home, 'work'));
  expect(await offeredNames('servers', {}, host)).toBe('drawings\nfiles\nmemory\n');
  expect(existsSync(join(home, 'b.sock'))).toBe(false);
});

test('a config that cannot be read hides no other names', async () => {
  const home = temporaryDir();
  writeFiles(home, {
    '.config/mcp-bridge/config.json': '{',
    '.cursor/mcp.json': { mcpServers: { drawings: server } },
  });
  expect(await offeredNames('servers', {}, fakeHost(home, home))).toBe('drawings\n');
});
