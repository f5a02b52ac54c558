// What a token and an installed URL come to, from the command that makes them to what a server is asked.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCommand } from '../support/command.ts';
import { asking2026, HttpClient } from '../support/http-client.ts';
import { fixtureServer, TestDaemon, tempDir } from '../support/test-daemon.ts';

async function bridge(config: object) {
  const dir = tempDir();
  const env = {
    HOME: dir,
    XDG_CONFIG_HOME: join(dir, '.config'),
    XDG_STATE_HOME: join(dir, 'state'),
    XDG_CACHE_HOME: dir,
  };
  const whole = { discovery: { enabled: false }, mcpServers: { files: fixtureServer() }, ...config };
  const daemon = await TestDaemon.start(whole, { dir, env });
  onTestFinished(() => daemon.stop());
  const run = (...args: string[]) => runCommand(args, { env: { ...env, MCP_BRIDGE_SOCKET: daemon.path }, cwd: dir });
  return { daemon, dir, run };
}

const ECHO = asking2026('tools/call', { name: 'files__echo', arguments: { text: 'hi' } });

test('a call over TCP is held to the rules for its token, and recorded under its name', async () => {
  const { daemon, dir, run } = await bridge({
    client: { view: 'all' },
    clients: [{ match: { token: 'ci*' }, toolRules: [{ pattern: 'files:echo', enabled: false }] }],
    audit: { file: 'audit.jsonl' },
    http: { listen: '127.0.0.1:0' },
  });
  await daemon.untilLogged('listening for HTTP');
  const port = Number(/"listening for HTTP".*?"port":(\d+)/.exec(daemon.log)?.[1]);
  expect((await run('url')).stdout).toBe(`http://127.0.0.1:${port}/mcp\n`);
  const outcomes: unknown[] = [];
  for (const name of ['laptop', 'ci-1']) {
    const token = (await run('token', 'create', name)).stdout.trim();
    const client = new HttpClient({ host: '127.0.0.1', port }, { authorization: `Bearer ${token}` });
    onTestFinished(() => client.close());
    const { error } = (await (await client.ask(ECHO)).json()) as { error?: { data?: { code?: unknown } } };
    outcomes.push(error?.data?.code);
  }
  expect(outcomes).toEqual([undefined, 'TOOL_DISABLED']);
  daemon.kill('SIGTERM');
  await daemon.exited; // what was recorded is written by then
  const lines = readFileSync(join(dir, 'audit.jsonl'), 'utf8').trim().split('\n');
  const recorded = lines.map((line) => JSON.parse(line) as { token?: string; outcome: string });
  expect(recorded.map(({ token }) => token)).toEqual(['laptop', 'ci-1']);
});

test('the URL that install writes for VS Code reaches the bridge, without a port and a token', async () => {
  const { dir, run } = await bridge({ client: { view: 'all' } });
  expect(await run('install', 'vscode', '--http', '--no-client-cli')).toMatchObject({ code: 0, stderr: '' });
  const file = readFileSync(join(dir, '.config/Code/User/mcp.json'), 'utf8');
  const { servers } = JSON.parse(file) as { servers: Record<string, { type: string; url: string }> };
  const [, socketPath = '', path = ''] = /^unix:\/\/(.*)#(.*)$/.exec(servers['mcp-bridge']?.url ?? '') ?? [];
  const client = new HttpClient({ socketPath });
  onTestFinished(() => client.close());
  const { result } = await (await client.ask({ ...ECHO, path })).json();
  expect(JSON.stringify(result)).toContain('hi');
  expect((await run('uninstall', 'vscode', '--no-client-cli')).code).toBe(0);
});
