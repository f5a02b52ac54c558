// The first client of a daemon on a real nats-server: the command that starts the daemon sees other hosts at once.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, expect, onTestFinished } from 'vitest';
import { type CommandResult, runCommand } from '../support/command.ts';
import { NatsServer, natsTest } from '../support/nats-server.ts';
import { cleanUp, tempDir } from '../support/test-daemon.ts';
import { endHosts, startHost, startOwner, untilKnown } from '../support/test-hosts.ts';

afterEach(endHosts);
afterAll(() => void cleanUp());

/** Commands of a host whose daemon is started by the first of them. */
function commandsOf(nats: NatsServer, host: string): (...args: string[]) => Promise<CommandResult> {
  const dir = tempDir();
  const federation = { tenant: 'acme', user: 'ann', host, offer: [], nats: { servers: [nats.url] } };
  mkdirSync(join(dir, 'mcp-bridge'), { mode: 0o700 }); // its files of hosts are there too
  writeFileSync(
    join(dir, 'mcp-bridge/config.json'),
    JSON.stringify({ discovery: { enabled: false }, federation, idleExitMs: 60_000 }),
  );
  const env = {
    ...{ MCP_BRIDGE_SOCKET: join(dir, 'b.sock'), HOME: dir },
    ...{ XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir, XDG_CACHE_HOME: dir },
  };
  const run = (...args: string[]): Promise<CommandResult> => runCommand(args, { env, cwd: dir });
  onTestFinished(async () => void (await run('stop')));
  return run;
}

/** Starts a host that offers the fixture, and waits until others see it. */
async function startBuild(nats: NatsServer): Promise<void> {
  await startOwner(nats, 'build');
  await untilKnown(await startHost(nats, 'watcher'), 'fixture@build');
}

natsTest('the command that starts the daemon lists and calls servers of other hosts', async () => {
  const nats = await NatsServer.start();
  await startBuild(nats);
  const run = commandsOf(nats, 'home');
  const listed = await run('servers');
  expect(listed.stdout).toMatch(/^fixture@build /m);
  await run('stop');
  for (const name of ['fixture@build', 'fixture']) {
    const called = await run('call', name, 'echo', 'text=at once');
    expect(called).toMatchObject({ code: 0, stdout: 'at once\n' });
    await run('stop');
  }
});

natsTest('the hosts of the last run are listed at once while NATS is away', async () => {
  const nats = await NatsServer.start();
  await startBuild(nats);
  const run = commandsOf(nats, 'home');
  expect((await run('servers')).stdout).toMatch(/^fixture@build /m);
  await run('stop');
  await nats.stop();
  expect((await run('servers')).stdout).toMatch(/^fixture@build /m);
});

natsTest('where no server is, commands point to the list of hosts', async () => {
  const nats = await NatsServer.start();
  const run = commandsOf(nats, 'home');
  for (const command of ['servers', 'tools'])
    expect((await run(command)).stdout).toMatch(
      /^The bridge has no server here\. .*\nServers of other hosts: mcp-bridge hosts\n$/,
    );
  expect(await run('call', 'fixture@build', 'echo', 'text=a')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'mcp-bridge: There is no server "fixture@build". See: mcp-bridge hosts\n',
  });
  expect((await run('call', 'fixture', 'echo', 'text=a')).stderr).toContain('See: mcp-bridge discover --all');
});
