// The address for HTTP that a command line names: refused before anything happens, and kept from one daemon to the next.

import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { writeFiles } from '../support/file-tree.ts';
import { HttpClient } from '../support/http-client.ts';
import { tempDir } from '../support/test-daemon.ts';

let dir: string;
let env: Record<string, string>;

beforeEach(() => {
  dir = tempDir();
  const xdg = { XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir, XDG_CACHE_HOME: dir };
  env = { ...xdg, HOME: dir, MCP_BRIDGE_SOCKET: join(dir, 'b.sock') };
});
afterEach(async () => {
  await run('stop');
});

const run = (...args: string[]) => runCommand(args, { env, cwd: dir });
const status = async () => JSON.parse((await run('status', '--json')).stdout) as { pid: number; httpFlag: unknown };

test('serve and start refuse an address that other machines reach, in one line', async () => {
  const problem = 'mcp-bridge: --http 0.0.0.0:4810 is an address that other machines reach';
  const served = await run('serve', '--http', '0.0.0.0:4810');
  expect(served).toMatchObject({ code: 2, stderr: expect.stringMatching(`^${problem}.*\n$`) as string });
  const started = await run('start', '--http', '0.0.0.0:4810');
  expect(started.code).toBe(1);
  expect(started.stderr).toContain('--http 0.0.0.0:4810 is an address that other machines reach');
  expect((await run('status')).code).not.toBe(0);
});

test('a daemon keeps its address when it is restarted, and runs on if the new one is refused', async () => {
  expect(await run('start', '--http', 'unix:h.sock')).toMatchObject({ code: 0, stderr: '' });
  const first = await status();
  expect(first.httpFlag).toBe(`unix:${join(dir, 'h.sock')}`);
  expect((await run('start', '--http', 'unix:h.sock')).stdout).toContain('runs already');
  expect(await run('start', '--http', '127.0.0.1:0')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('mcp-bridge restart --http 127.0.0.1:0') as string,
  });
  expect(await run('restart', '--http', '[::]:1')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--http [::]:1 is an address that other machines reach') as string,
  });
  expect((await status()).pid).toBe(first.pid);
  expect(await run('restart')).toMatchObject({ code: 0 });
  const second = await status();
  expect([second.httpFlag, second.pid === first.pid]).toEqual([first.httpFlag, false]);
});

test('a session over HTTP ends with its daemon: the next one answers 404, and takes the client as a new one (I20)', async () => {
  expect(await run('start')).toMatchObject({ code: 0 });
  const http = new HttpClient({ socketPath: join(dir, 'b.sock') });
  onTestFinished(() => http.close());
  const session = await http.begin();
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  expect((await session.say(ping)).status).toBe(200);
  expect(await run('restart')).toMatchObject({ code: 0 });
  expect((await session.say(ping)).status).toBe(404);
  expect((await (await http.begin()).say(ping)).status).toBe(200);
});

test('an unsafe setting is reported, and the daemon runs without it', async () => {
  writeFiles(dir, { 'mcp-bridge/config.json': { http: { listen: '0.0.0.0:4810', allowRemote: true } } });
  const checked = await run('config', 'check');
  expect(checked.code).toBe(1);
  expect(checked.stdout).toContain('http.tls is missing: over plain HTTP anyone on the way reads the tokens');
  expect(await run('start')).toMatchObject({ code: 0 });
  expect((await run('status')).stdout).toContain('http.tls is missing');
});

test("the bridge's own URL in a client's file is no server of anybody", async () => {
  writeFiles(dir, {
    'mcp-bridge/config.json': { http: { listen: '127.0.0.1:4810' } },
    '.cursor/mcp.json': {
      mcpServers: { mine: { url: 'http://localhost:4810/mcp' }, other: { url: 'http://localhost:4811/mcp' } },
    },
  });
  const { servers } = JSON.parse((await run('discover', '--all', '--json')).stdout) as {
    servers: { name: string; state: string }[];
  };
  expect(servers.map(({ name, state }) => [name, state])).toEqual([
    ['mine', 'self'],
    ['other', 'ready'],
  ]);
});
