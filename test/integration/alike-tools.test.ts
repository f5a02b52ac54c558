// Several servers that are the same program: what a search shows to tell them apart.

import { expect, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { fixtureServer, TestDaemon } from '../support/test-daemon.ts';

test('if several servers have the same tool, search describes the servers', async () => {
  const at = (dir: string): object => {
    const { command, args } = fixtureServer() as { command: string; args: string[] };
    return { command, args: [...args, dir] };
  };
  const daemon = await TestDaemon.start({
    mcpServers: { here: at('/srv/here'), there: { ...at('/srv/there'), description: 'Over there' } },
  });
  const where = ['--mcp-bridge-socket', daemon.path, '--config', `${daemon.dir}/config.json`];
  const { stdout } = await runCommand(['search', 'echo', ...where]);
  expect(stdout).toMatch(
    /\n\nSeveral of these have the same tool. What the servers are:\nSERVER +RUNS +IN +DESCRIPTION\n/,
  );
  expect(stdout).toMatch(/^here +.* \/srv\/here\b/m);
  expect(stdout).toMatch(/^there +.* \/srv\/there\b.* Over there$/m);
  await daemon.stop();
});
