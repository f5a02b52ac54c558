// A daemon whose package is removed while it runs, as npm does when it installs another one. What it needs later it has.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, expect, test } from 'vitest';
import { installGlobally, pack } from '../support/installed-package.ts';
import { RawClient, textOf } from '../support/raw-client.ts';
import { endFixtures, httpServer, webSocketServer } from '../support/remote-fixture.ts';
import { cleanUp, FIXTURE, runCommand, tempDir } from '../support/test-daemon.ts';

afterEach(endFixtures);
afterAll(() => expect(cleanUp()).toEqual([]));

const fixture = { command: process.execPath, args: [FIXTURE], env: {} };

function write(file: string, content: string | object): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
}

test('a daemon goes on without its package: control, discovery, checks, servers at URLs', {
  timeout: 240_000,
}, async () => {
  const dir = tempDir();
  const home = tempDir();
  const installed = await installGlobally((await pack(dir)).file, join(dir, 'prefix'));
  const config = join(home, 'config.json');
  const mcpServers = { one: fixture, http: { url: await httpServer('http') }, ws: { url: await webSocketServer() } };
  write(config, { mcpServers, client: { view: 'discover' } });
  const socket = join(home, 'b.sock');
  const environment = { PATH: process.env.PATH, HOME: home, MCP_BRIDGE_SOCKET: socket };
  const daemon = spawn(process.execPath, [join(installed, 'dist/mcp-bridge.cjs'), 'serve', '--config', config], {
    ...{ cwd: home, env: environment, stdio: ['ignore', 'ignore', 'pipe'] },
  });
  let log = '';
  daemon.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  try {
    while (!log.includes('listening on')) await once(daemon.stderr, 'data');
    rmSync(join(dir, 'prefix'), { recursive: true });

    const command = (...args: string[]) => runCommand(args, { env: environment, cwd: home });
    expect(await command('status', '--json')).toMatchObject({ code: 0, stdout: expect.stringContaining('"pid"') });
    expect(await command('clients')).toMatchObject({ code: 0 });
    // These are found by a process that is started now, with the parsers of each syntax.
    write(
      join(home, '.codex/config.toml'),
      `[mcp_servers.fromtoml]\ncommand = "${process.execPath}"\nargs = ["${FIXTURE}", "toml"]\n`,
    );
    write(
      join(home, '.config/goose/config.yaml'),
      `extensions:\n  fromyaml:\n    type: stdio\n    enabled: true\n    cmd: ${process.execPath}\n    args: ["${FIXTURE}", "yaml"]\n`,
    );
    write(
      join(home, '.cursor/mcp.json'),
      `{ "mcpServers": { /* a comment */ "fromjson": ${JSON.stringify({ ...fixture, args: [FIXTURE, 'json'] })} } }`,
    );
    write(config, `{ "mcpServers": ${JSON.stringify(mcpServers)}, /* read again */ "client": { "view": "discover" } }`);
    const reloaded = await command('reload');
    expect(reloaded).toMatchObject({ code: 0, stderr: '' });
    const { stdout } = await command('status');
    for (const name of ['one', 'fromtoml', 'fromyaml', 'fromjson']) expect(stdout).toContain(name);

    for (const server of ['http', 'ws', 'fromtoml', 'one']) {
      const client = await RawClient.connect(socket);
      expect((await client.initialize({ 'mcp-bridge/view': `server:${server}` })).error).toBeUndefined();
      const text = 'ü'.repeat(100_000);
      expect(textOf(await client.callTool(1, 'echo', { text }))).toBe(text);
      client.destroy();
    }
    // Its schema is compiled now.
    const client = await RawClient.connect(socket);
    await client.initialize({ 'mcp-bridge/view': 'discover' });
    const wrong = await client.callTool(1, 'execute_tool', { server: 'http', tool: 'echo', arguments: { text: 7 } });
    expect(JSON.stringify(wrong)).toContain('TOOL_ARGUMENTS_INVALID');
    client.destroy();
    expect(log).not.toMatch(/MODULE_NOT_FOUND|Cannot find module|ENOENT.*later/);
    expect(await command('stop')).toMatchObject({ code: 0 });
  } finally {
    daemon.kill();
    if (daemon.exitCode === null && daemon.signalCode === null) await once(daemon, 'exit');
  }
});
