// What it costs to be many when there is no daemon: `connect` until its client has its first answer, one alone and
// twenty at once, each time with none running. One daemon must come of it, and each must be answered.
// Usage: node bench/starting-together.mjs [--rounds 9]
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median, medianRatio } from './statistics.mjs';
import { ECHO_CONFIG, VIEW } from './subjects.mjs';
import { atMost, verdictOf } from './target.mjs';
import { Workspace } from './workspace.mjs';

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '9' } } });
const TOGETHER = 20;
const PATIENCE_MS = 30_000;
const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'bench', version: '1' } };
const HELLO = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`;

const workspace = new Workspace(fileURLToPath(new URL('../dist', import.meta.url)));
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/** Starts that many, each a client's; how long until the last one has its answer, and the daemons that have come of it. */
async function start(count) {
  const config = workspace.write({ discovery: { enabled: false }, mcpServers: { echo: ECHO_CONFIG } });
  const where = ['--mcp-bridge-socket', workspace.newPath('sock'), '--config', config];
  const began = nowMs();
  const clients = Array.from({ length: count }, () =>
    workspace.spawn(process.execPath, [workspace.bridge, 'connect', ...where, '--view', VIEW['mcp-bridge/view']]),
  );
  await Promise.all(clients.map(answered));
  const tookMs = nowMs() - began;
  await Promise.all(clients.map((client) => workspace.end(client)));
  const stopped = await run(['stop', '--json', ...where]);
  if (JSON.parse(stopped).stopped !== true) throw new Error(`no daemon was there: ${stopped}`);
  return tookMs;
}

function answered(client) {
  return new Promise((resolve, reject) => {
    let said = '';
    client.stderr.on('data', (chunk) => (said += chunk));
    client.once('exit', (code) => reject(new Error(`ended with ${code}: ${said}`)));
    client.stdout.once('data', (chunk) => {
      client.removeAllListeners('exit');
      if (JSON.parse(`${chunk}`).result === undefined) reject(new Error(`${chunk}`));
      else resolve();
    });
    client.stdin.write(HELLO);
    setTimeout(() => reject(new Error(`no answer: ${said}`)), PATIENCE_MS).unref();
  });
}

function run(args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [workspace.bridge, ...args], { env: workspace.environment });
    let said = '';
    child.stdout.on('data', (chunk) => (said += chunk));
    child.once('close', () => resolve(said));
  });
}

/** What so many processes of Node cost in any case. */
async function startBare(count) {
  const began = nowMs();
  const bare = () => new Promise((resolve) => spawn(process.execPath, ['-e', '0']).once('close', resolve));
  await Promise.all(Array.from({ length: count }, bare));
  return nowMs() - began;
}

const floor = [];
const alone = [];
const together = [];
try {
  for (let round = -1; round < Number(values.rounds); round++) {
    const [one, all, bare] = [await start(1), await start(TOGETHER), await startBare(TOGETHER)];
    if (round < 0) continue;
    alone.push(one);
    together.push(all);
    floor.push(bare);
  }
} finally {
  await workspace.close();
}
console.log(`${TOGETHER} × node -e 0 at once ${median(floor).toFixed(0)} ms`);
console.log(`one alone ${median(alone).toFixed(0)} ms, ${TOGETHER} at once ${median(together).toFixed(0)} ms`);
const target = atMost(`${TOGETHER} at once / one alone`, medianRatio(together, alone), 2.5);
console.log(`${target.what}: ${target.value.toFixed(2)} (${target.sense} ${target.limit}: ${verdictOf(target)})`);
