// A soak of bounded length: clients of the library that call all the time, while the daemon is restarted in order and
// killed with -9 in turns. It counts what became of each call, what was run and how often, and what the daemon and this
// process hold. Usage: node bench/soak.mjs [--seconds 60] [--clients 50] [--only restart|kill] [--through connect]
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { BridgeTransport } from '../dist/client.js';
import { memoryKib } from './process-figures.mjs';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    clients: { type: 'string', default: '50' },
    only: { type: 'string' },
    through: { type: 'string', default: 'library' },
  },
});
const SECONDS = Number(values.seconds);
const CLIENTS = Number(values.clients);
/** From one end of the daemon to the next. */
const PERIOD_MS = 4000;
/** Of a client, between the answer to one call and the next. */
const PAUSE_MS = 5;
/** A call that is not answered by then is lost. */
const ANSWER_MS = 60_000;
const PROGRAM = fileURLToPath(new URL('../dist/mcp-bridge.cjs', import.meta.url));

const dir = mkdtempSync(join(tmpdir(), 'mcpb-soak-'));
const path = join(dir, 'b.sock');
const notes = join(dir, 'notes');
const environment = { ...process.env, HOME: dir, XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir, XDG_CACHE_HOME: dir };
environment.MCP_BRIDGE_SOCKET = path;
const config = join(dir, 'config.json');
writeFileSync(notes, '');
writeFileSync(
  config,
  JSON.stringify({
    client: { view: 'server:counter' },
    discovery: { enabled: false },
    mcpServers: {
      counter: {
        command: process.execPath,
        args: [fileURLToPath(new URL('counting-server.mjs', import.meta.url))],
        env: { NOTES: notes },
      },
    },
  }),
);

const run = (...args) => promisify(execFile)(process.execPath, [PROGRAM, ...args], { env: environment, cwd: dir });
const status = async () => JSON.parse((await run('status', '--json')).stdout);

const tally = { asked: 0, done: 0, unknown: 0, failed: 0, twice: 0, lost: 0, resumed: 0, renewed: 0, mostAttempts: 0 };
const done = new Set();
const failures = new Map();

/** Carries messages to the bridge and back, by the library or through `connect`. */
async function openWay(onMessage) {
  if (values.through === 'connect') return openConnect(onMessage);
  const transport = new BridgeTransport({ socketPath: path, configFile: config, autostart: false });
  let attempts = 0;
  transport.onmessage = onMessage;
  transport.on('lost', () => {
    attempts = 0;
  });
  transport.on('reconnecting', () => {
    tally.mostAttempts = Math.max(tally.mostAttempts, ++attempts);
  });
  transport.on('resumed', ({ session }) => tally[session === 'kept' ? 'resumed' : 'renewed']++);
  transport.on('closed', ({ error }) => error && failures.set(error.message, (failures.get(error.message) ?? 0) + 1));
  await transport.start();
  return { send: (message) => void transport.send(message), close: () => transport.close() };
}

function openConnect(onMessage) {
  const child = spawn(process.execPath, [PROGRAM, 'connect', '--config', config, '--no-autostart'], {
    env: environment,
    cwd: dir,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let rest = '';
  child.stdin.on('error', () => undefined);
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) onMessage(JSON.parse(line));
  });
  return {
    send: (message) => child.stdin.write(`${JSON.stringify(message)}\n`),
    close: async () => {
      child.stdin.end();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

async function client(index, until) {
  const waiting = new Map();
  const answered = new Set();
  const way = await openWay((message) => {
    if (message.id === undefined || message.method !== undefined) return;
    if (answered.has(message.id)) tally.twice++;
    answered.add(message.id);
    waiting.get(message.id)?.(message);
  });
  const ask = (id, method, params) => {
    const answer = new Promise((resolve) => waiting.set(id, resolve));
    way.send({ jsonrpc: '2.0', id, method, params });
    return Promise.race([answer, delay(ANSWER_MS, undefined, { ref: false })]);
  };
  const clientInfo = { name: `soak-${index}`, version: '1' };
  await ask(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
  way.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  for (let id = 1; performance.now() < until; id++) {
    const text = `${index}-${id}`;
    tally.asked++;
    const answer = await ask(id, 'tools/call', { name: 'note', arguments: { text } });
    waiting.delete(id);
    if (answer === undefined) tally.lost++;
    else if (answer.error === undefined) {
      tally.done++;
      done.add(text);
    } else if (answer.error.data?.code === 'OUTCOME_UNKNOWN') tally.unknown++;
    else {
      tally.failed++;
      failures.set(answer.error.message, (failures.get(answer.error.message) ?? 0) + 1);
    }
    await delay(PAUSE_MS);
  }
  await way.close();
}

const figures = async () => {
  const { pid, instances } = await status();
  const { rss } = memoryKib(pid);
  return {
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    own: readdirSync('/proc/self/fd').length,
    processes: instances.filter((one) => one.pid !== null).length,
    rssMib: Math.round(rss / 1024),
  };
};

await run('start', '--config', config);
const until = performance.now() + SECONDS * 1000;
const clients = Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index, until)));
await delay(1000);
const first = await figures();
const ends = { restart: 0, kill: 0 };
while (performance.now() + PERIOD_MS < until) {
  await delay(PERIOD_MS);
  const how = values.only ?? (ends.restart <= ends.kill ? 'restart' : 'kill');
  ends[how]++;
  if (how === 'restart') await run('restart', '--config', config);
  else {
    process.kill((await status()).pid, 'SIGKILL');
    await run('start', '--config', config);
  }
}
await clients;
await delay(1000);
const last = await figures();
await run('stop');
const runs = readFileSync(notes, 'utf8').split('\n').filter(Boolean);
const noted = new Set(runs);
const report = {
  ...{ clients: CLIENTS, seconds: SECONDS, through: values.through, ends, ...tally },
  runs: runs.length,
  runTwice: runs.length - noted.size,
  answeredButNotRun: [...done].filter((text) => !noted.has(text)).length,
  failures: Object.fromEntries(failures),
  ...{ first, last },
};
console.log(JSON.stringify(report, undefined, 2));
rmSync(dir, { recursive: true, force: true });
const { twice, lost, failed } = tally;
process.exitCode = twice + lost + failed + report.runTwice + report.answeredButNotRun === 0 ? 0 : 1;
