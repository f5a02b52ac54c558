// What `mcp-bridge add` has to say of a server that it has added, and `remove` of several.

import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCommand } from '../../../../src/cli/dispatch.ts';
import { fakeHost } from '../../../support/cli-host.ts';
import { temporaryDir } from '../../../support/temporary-dir.ts';

async function said(home: string, ...args: string[]): Promise<string> {
  const host = fakeHost(home, home, undefined, { XDG_CONFIG_HOME: join(home, 'config'), PATH: '/usr/bin:/bin' });
  expect(await runCommand(args, host)).toBe(0);
  return host.said();
}

test.each([
  [['a', '--', '/no/such/bin'], 'There is no program /no/such/bin\n'],
  [['a', '--', '~/no-such-bin'], 'There is no program ~/no-such-bin\n'],
  [['a', '--cwd', '/usr', '--', './no-such-bin'], 'There is no program /usr/no-such-bin\n'],
  [
    ['a', '--', './server.sh'],
    './server.sh is looked for beside the config file, not where a client works: give the whole',
  ],
  [['a', '--', 'no-such-bin'], 'There is no no-such-bin on the PATH of this shell\n'],
  [['bad name', '--', '/bin/sh'], 'A name is better made of 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter'],
])('a server is added, with a warning about possible faults: %j', async (args, remark) => {
  const home = temporaryDir();
  const text = await said(home, 'add', ...args);
  expect(text).toContain(`"${args[0]}" was added to ~/`);
  expect(text).toContain(remark);
});

test('nothing is said of one that is there, whole or below its home or its directory', async () => {
  const home = temporaryDir();
  writeFileSync(join(home, 'server'), '#!/bin/sh\n');
  chmodSync(join(home, 'server'), 0o700);
  for (const [i, command] of [['/bin/sh'], ['~/server'], ['--cwd', home, './server'], ['$HOME/x']].entries()) {
    const line = command.length > 1 ? [...command.slice(0, 2), '--', ...command.slice(2)] : ['--', ...command];
    expect((await said(home, 'add', `a${i}`, ...line)).split('\n')).toHaveLength(3);
  }
});

test('a name that is empty is said to be that', async () => {
  const home = temporaryDir();
  await expect(runCommand(['add', '', '--', 'x'], fakeHost(home, home))).rejects.toMatchObject({
    code: 'USAGE',
    message: 'The name of the server is empty',
  });
});

test('several are removed at once, or none if one of them is not there', async () => {
  const home = temporaryDir();
  for (const name of ['a', 'b', 'c']) await said(home, 'add', name, '--', '/bin/sh');
  const file = join(home, 'config/mcp-bridge/config.json');
  const before = readFileSync(file, 'utf8');
  await expect(said(home, 'remove', 'a', 'x')).rejects.toMatchObject({ code: 'SERVER_NOT_FOUND' });
  expect(readFileSync(file, 'utf8')).toBe(before);
  expect(await said(home, 'remove', 'a', 'b', 'a')).toBe(
    `"a" was removed from ~/config/mcp-bridge/config.json\n"b" was removed from ~/config/mcp-bridge/config.json\n`,
  );
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ mcpServers: { c: { command: '/bin/sh' } } });
});
