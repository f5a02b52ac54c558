// What docs/http.md says to type, typed: on the daemon's socket, and from a place that has nothing of the machine but a directory
// with the socket in it, as a container has.

import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fixtureServer, ROOT, TestDaemon } from '../support/test-daemon.ts';

const run = promisify(execFile);
const page = readFileSync(join(ROOT, 'docs/http.md'), 'utf8');

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await TestDaemon.start({ mcpServers: { files: fixtureServer() } });
});
afterAll(() => daemon.stop());

/** The first block of shell commands below a heading. */
function commandsUnder(heading: string): string {
  const [, block] = new RegExp(`## ${heading}\\n[\\s\\S]*?\`\`\`sh\\n([\\s\\S]*?)\`\`\``).exec(page) ?? [];
  if (block === undefined) throw new Error(`There are no commands under ${heading}`);
  return block;
}

test('curl reaches the bridge over the socket, as the page says', async () => {
  const commands = commandsUnder('On the socket').replace('SOCKET=/tmp/mcp-bridge.sock', `SOCKET='${daemon.path}'`);
  const { stdout } = await run('bash', ['-ec', commands.replaceAll('curl ', 'curl -sS ')]);
  const [health, listed = ''] = stdout.split('\n');
  expect(health).toBe('{"status":"ok"}');
  const { result } = JSON.parse(listed) as { result: { tools: { name: string }[] } };
  expect(result.tools.map(({ name }) => name)).toContain('files__echo');
});

/** A user, a mount and a network namespace of its own: what a container has, without a container. */
const APART = ['--user', '--map-root-user', '--net', '--mount'];
const canBeApart = spawnSync('unshare', [...APART, 'mount', '--bind', '/tmp', '/mnt']).status === 0;

test.runIf(canBeApart)('a client without a network calls a tool by a directory that is mounted', async () => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: 'echo', arguments: { text: 'from afar' }, _meta: meta };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const headers = {
    ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' },
  };
  const given = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const script = `mount --bind "$1" /mnt; shift; exec curl -sS "$@"`;
  const url = 'http://localhost/mcp/server/files';
  const curl = ['--unix-socket', '/mnt/b.sock', url, ...given, '-d', body];
  const { stdout } = await run('unshare', [...APART, 'sh', '-ec', script, 'sh', daemon.dir, ...curl]);
  expect(stdout).toContain('from afar');
});
