// The servers of the config alone, which the daemon looks at itself: while policy cannot be looked at, nobody new comes in.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type LoadedConfig, loadConfig } from '../../../src/config/load.ts';
import { ServerFinder } from '../../../src/daemon/server-finder.ts';
import type { StdioServer } from '../../../src/model/server-definition.ts';
import { NO_FILTER } from '../../../src/model/tool-rules.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { temporaryDir } from '../../support/temporary-dir.ts';

const QUIET = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const EXAMPLE: StdioServer = {
  ...{ transport: 'stdio', name: 'example', description: '', command: 'none', args: [], env: {}, cwd: undefined },
  ...{ dir: undefined, timeoutMs: undefined, startTimeoutMs: undefined, idleMs: undefined, sharing: 'auto' },
  ...{ trustHints: false, tools: NO_FILTER },
};

/** A config without discovery, which offers one server. */
async function wholeConfig(): Promise<LoadedConfig> {
  const file = join(temporaryDir(), 'config.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { own: { command: 'run' } }, discovery: { enabled: false } }));
  return loadConfig({ named: file, cwd: '/', homedir: '/' });
}

/** The same, and an error of ours when its servers are looked at. */
function failing(config: LoadedConfig): LoadedConfig {
  const ownKeys = (): never => {
    throw new Error('no luck');
  };
  return { ...config, servers: new Proxy({}, { ownKeys }) };
}

function finderOf(first: LoadedConfig, next: LoadedConfig) {
  const home = temporaryDir();
  const finder = new ServerFinder({
    process: {
      ...{ platform: 'linux', environment: { XDG_STATE_HOME: home }, homedir: home },
      ...{ program: '/opt/mcp-bridge', socketPath: `${home}/b.sock` },
    },
    ...{ program: 'none', code: Buffer.alloc(0), config: first, configFiles: [], example: EXAMPLE },
    loadConfig: async () => next,
    ...{ clock: new FakeClock(), logger: QUIET },
  });
  onTestFinished(() => finder.close());
  return { finder, find: () => finder.find(home) };
}

test('the servers that were offered before stay, and the fault says why', async () => {
  const config = await wholeConfig();
  const { finder, find } = finderOf(config, failing(config));
  expect([...(await find()).servers.keys()]).toEqual(['own']);
  await finder.refresh();
  const { servers, faults } = await find();
  expect([...servers.keys()]).toEqual(['own']);
  expect(faults).toEqual(['The servers of the config stay as they were: policy could not be looked at: no luck']);
});

test('a daemon that has never known policy offers none of them', async () => {
  const config = failing(await wholeConfig());
  const { find } = finderOf(config, config);
  const { servers, faults } = await find();
  expect([[...servers.keys()], faults.length]).toEqual([[], 1]);
});
