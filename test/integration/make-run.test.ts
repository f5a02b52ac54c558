// `make run`'s script, with a bridge in the place of ours that says what a real one says only now and then.

import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isAlive, ROOT, tempDir } from '../support/test-daemon.ts';

/** Listens, says so, answers `initialize` itself, and the rest as `answer` says. It ends with its last client but one. */
const bridge = (answer: string, servers = ['example', 'example', 'mine']): string => `
const net = require('node:net');
const path = __dirname + '/b.sock';
let clients = 0;
if (!process.argv.join(' ').endsWith('serve --log-level warn')) console.error('{"level":"info"}');
net.createServer((socket) => {
  const say = (message) => socket.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  socket.on('data', (chunk) => {
    for (const line of chunk.toString().trim().split('\\n')) {
      const { id, method } = JSON.parse(line);
      if (method === 'initialize' && line.includes('server:broken')) say({ id, error: { message: 'It cannot start' } });
      else if (method === 'initialize') say({ id, result: {} });
      else if (method === 'bridge/status') say({ id, result: { instances: ${JSON.stringify(servers.map((server) => ({ server })))} } });
      else { ${answer} }
    }
  });
  socket.on('close', () => { if (++clients === ${servers.includes('broken') ? 3 : 2}) process.exit(0); });
}).listen(path, () => console.error('mcp-bridge: listening on ' + path + '\\npid ' + process.pid));
`;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(answer: string, servers?: string[], socket?: string): Promise<Ended> {
  const dir = tempDir();
  mkdirSync(join(dir, 'dist'));
  writeFileSync(join(dir, 'dist/mcp-bridge.cjs'), bridge(answer, servers));
  const env: NodeJS.ProcessEnv = { ...process.env, MCP_BRIDGE_SOCKET: socket };
  return new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, 'scripts/run.mjs')], { cwd: dir, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

test('a notification that comes before the answer is not taken for it', async () => {
  const { code, stdout, stderr } = await run(`
    say({ method: 'notifications/tools/list_changed' });
    say({ id: 7, method: 'ping' });
    say({ id, result: { tools: [{ name: 'visitors', description: 'How many' }] } });`);
  expect(stderr).not.toContain('Error');
  expect(stdout).toContain('visitors                 How many');
  expect(stdout.match(/asks the server/g)).toHaveLength(1);
  expect(stdout).toContain('Others are started when they are needed: mine\n');
  expect(stdout.match(/"command":"node"/g)).toHaveLength(1);
  expect(stdout).toMatch(/\{"mcp-bridge":\{"command":"node","args":\["\/.*\/dist\/mcp-bridge\.cjs","connect"\]\}\}/);
  expect(code).toBe(0);
});

test('the entry names the socket where a variable does', async () => {
  const { stdout } = await run('say({ id, result: { tools: [] } });', ['mine'], '/elsewhere/b.sock');
  expect(stdout).toMatch(/"connect","--mcp-bridge-socket","\/.*"\]\}\}/);
});

test('a conversation that breaks off ends the script, and the bridge with it', async () => {
  const { code, stderr } = await run('process.nextTick(() => socket.write("this is no JSON\\n"))');
  expect(stderr).toContain('make run: ');
  expect(code).toBe(1);
  expect(isAlive(Number(/^pid (\d+)$/m.exec(stderr)?.[1]))).toBe(false);
});

test('where the first server is broken, the next one is shown', async () => {
  const answer = "say({ id, result: { tools: [{ name: 'visitors' }] } });";
  const { code, stdout, stderr } = await run(answer, ['broken', 'example', 'mine']);
  expect(stdout).toContain('server broken for its tools:\n  It cannot start\n');
  expect(stdout).toContain('server example for its tools:\n  visitors\n');
  expect(stdout).toContain('Others are started when they are needed: mine\n');
  expect(stderr).not.toContain('{');
  expect(code).toBe(0);
});

test('where another daemon runs, it says how a clone ends that one', async () => {
  const dir = tempDir();
  mkdirSync(join(dir, 'dist'));
  const refusal = 'mcp-bridge: Another daemon (pid 1) has /b.sock. Use it as it is, or end it with: mcp-bridge stop';
  writeFileSync(join(dir, 'dist/mcp-bridge.cjs'), `console.error('${refusal}'); process.exitCode = 4;`);
  const stderr = await new Promise<string>((resolve) => {
    execFile(process.execPath, [join(ROOT, 'scripts/run.mjs')], { cwd: dir }, (_, __, text) => resolve(text));
  });
  expect(stderr).toContain('or end it with: node dist/mcp-bridge.cjs stop\n');
});
