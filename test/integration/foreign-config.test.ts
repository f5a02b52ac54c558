// Configs that belong to another user, who would decide what runs for this one. Only root can make such files.

import { chownSync, lchownSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { runCommand } from '../support/command.ts';
import { tempDir } from '../support/test-daemon.ts';

const isRoot = process.getuid?.() === 0;
const ANOTHER_UID = 54_321;

test.runIf(isRoot)('a config of another user is refused, and so is a link of theirs to your own', async () => {
  const dir = tempDir();
  const [theirs, link, mine] = ['theirs.json', 'link.json', 'mine.json'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  for (const file of [theirs, mine]) writeFileSync(file, '{}');
  chownSync(theirs, ANOTHER_UID, ANOTHER_UID);
  symlinkSync(mine, link);
  lchownSync(link, ANOTHER_UID, ANOTHER_UID);
  const env = { HOME: dir, MCP_BRIDGE_SOCKET: join(dir, 'b.sock') };
  for (const file of [theirs, link])
    for (const command of [['serve'], ['config', 'check']]) {
      const { code, stdout, stderr } = await runCommand([...command, '--config', file], { env, cwd: dir });
      expect([code, stdout + stderr]).toEqual([1, expect.stringContaining('belongs to another user')]);
    }
});

test.runIf(isRoot)('one in the working directory is passed over by commands, and refused by serve', async () => {
  const [dir, home] = [tempDir(), tempDir()];
  const file = join(dir, 'mcp-bridge.config.json');
  writeFileSync(file, JSON.stringify({ mcpBridge: { socketPath: '/theirs.sock' } }));
  chownSync(file, ANOTHER_UID, ANOTHER_UID);
  expect(await loadConfig({ cwd: dir, homedir: home })).toMatchObject({ origin: 'none', file: undefined });
  await expect(loadConfig({ cwd: dir, homedir: home, runsPrograms: true })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('belongs to another user') as string,
  });
});

test('a config of your own, or of root, is read', async () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'mine.json'), '{}');
  expect(await loadConfig({ named: 'mine.json', cwd: dir, homedir: dir })).toMatchObject({ origin: 'named' });
});
