// Directories that clients have left: their watches and what was read there are let go, and all others are followed on.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { NO_CONFIG } from '../../src/config/load.ts';
import { Events } from '../../src/core/events.ts';
import { ConfiguredClients } from '../../src/daemon/configured-clients.ts';
import { FollowedServers, LINGER_MS } from '../../src/daemon/followed-servers.ts';
import { ServerFinder } from '../../src/daemon/server-finder.ts';
import { ToolGates } from '../../src/daemon/tool-gates.ts';
import type { StdioServer } from '../../src/model/server-definition.ts';
import { NO_FILTER } from '../../src/model/tool-rules.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { temporaryDir } from '../support/temporary-dir.ts';
import { ROOT, untilGone } from '../support/test-daemon.ts';

const QUIET = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const EXAMPLE: StdioServer = {
  ...{ transport: 'stdio', name: 'example', description: '', command: 'none', args: [], env: {}, cwd: undefined },
  ...{ dir: undefined, timeoutMs: undefined, startTimeoutMs: undefined, idleMs: undefined, sharing: 'auto' },
  ...{ trustHints: false, tools: NO_FILTER },
};

function following() {
  const home = temporaryDir();
  const clock = new FakeClock();
  const inUse = new Set<string>();
  const pids: number[] = [];
  const finder = new ServerFinder({
    process: {
      platform: 'linux',
      environment: { XDG_STATE_HOME: join(home, '.state') },
      homedir: home,
      program: '/opt/mcp-bridge',
      socketPath: join(home, 'b.sock'),
    },
    ...{
      program: join(ROOT, 'dist/finder.cjs'),
      code: readFileSync(join(ROOT, 'dist/later/finder.cjs.gz')),
      config: NO_CONFIG,
      configFiles: [],
      example: EXAMPLE,
    },
    loadConfig: async () => NO_CONFIG,
    logger: {
      ...QUIET,
      debug: (_message: string, fields?: { readonly pid?: unknown }) => {
        if (fields?.pid !== undefined) pids.push(Number(fields.pid));
      },
    },
    clock,
  });
  let reloads = 0;
  const followed = new FollowedServers({
    ...{
      finder,
      home,
      gates: new ToolGates(),
      clients: new ConfiguredClients(),
      gatesChanged: () => undefined,
      events: new Events(() => undefined),
      clock,
      logger: QUIET,
    },
    dirsInUse: () => inUse,
    changed: () => reloads++,
    refreshed: () => undefined,
  });
  onTestFinished(() => followed.close());
  const dirAt = (name: string): string => {
    const dir = join(home, name);
    mkdirSync(join(dir, '.git'), { recursive: true });
    writeFileSync(join(dir, '.mcp.json'), '{"mcpServers": {"own": {"command": "run"}}}');
    return dir;
  };
  return {
    clock,
    followed,
    dirAt,
    async come(dir: string): Promise<void> {
      inUse.add(dir);
      await followed.definitions.prepare(dir);
    },
    leave: (dir: string) => inUse.delete(dir),
    /** Until every process that has looked for servers has ended, and its pipes are closed. */
    async atRest(): Promise<void> {
      await Promise.all(pids.map(untilGone));
      await sleep(0);
    },
    /** Until a change in the files has been followed. */
    async followedOnce(): Promise<void> {
      // The clock goes no faster than another process can answer before it is taken for dead.
      for (const before = reloads; reloads === before; clock.advance(20)) await sleep(5);
    },
  };
}

/** Those of this process, as the kernel counts them. */
function watches(): number {
  const infos = readdirSync('/proc/self/fdinfo').map((fd) => {
    try {
      return readFileSync(join('/proc/self/fdinfo', fd), 'utf8');
    } catch {
      return ''; // The descriptor by which the list was read.
    }
  });
  return infos.join('\n').match(/^inotify wd:/gm)?.length ?? 0;
}

const descriptors = (): number => readdirSync('/proc/self/fd').length;

test.skipIf(process.platform !== 'linux')(
  'when the clients have left, the number of watches is as before',
  async () => {
    const { clock, followed, dirAt, come, leave, atRest } = following();
    await come(dirAt('stays'));
    await atRest();
    const [watchesBefore, descriptorsBefore] = [watches(), descriptors()];
    const dirs = Array.from({ length: 30 }, (_, i) => dirAt(`p${i}`));
    for (const dir of dirs) await come(dir);
    expect(watches()).toBeGreaterThanOrEqual(watchesBefore + 30);
    for (const dir of dirs) leave(dir);
    clock.advance(LINGER_MS);
    expect(watches()).toBeGreaterThanOrEqual(watchesBefore + 30);
    clock.advance(LINGER_MS);
    await atRest();
    expect([watches(), descriptors()]).toEqual([watchesBefore, descriptorsBefore]);
    expect(followed.definitions.dirs).toHaveLength(1);
  },
);

test('a directory where somebody works on is followed, and so is one that is come back to', async () => {
  const { clock, followed, dirAt, come, leave, followedOnce } = following();
  const [stays, goes] = [dirAt('stays'), dirAt('goes')];
  await come(stays);
  await come(goes);
  leave(goes);
  clock.advance(2 * LINGER_MS);
  expect(followed.definitions.dirs).toEqual([stays]);
  mkdirSync(join(stays, '../.cursor'), { recursive: true });
  writeFileSync(join(stays, '../.cursor/mcp.json'), '{"mcpServers": {"young": {"command": "run"}}}');
  await followedOnce();
  expect([...followed.definitions.of(stays).keys()]).toEqual(['young']);
  await come(goes);
  expect([...followed.definitions.of(goes).keys()]).toEqual(['young']);
  writeFileSync(join(stays, '../.cursor/mcp.json'), '{"mcpServers": {"younger": {"command": "run"}}}');
  await followedOnce();
  expect([...followed.definitions.of(goes).keys()]).toEqual(['younger']);
});
