// Bench: many hosts that meet on one nats-server. Simulated ones in few processes, each with a connection of its own; and one real daemon, which
// has to know all their offers, and then all their tools. Fails where an answer was wrong, and prints what was missed.
//   node bench/many-hosts.mjs [--hosts 200] [--servers 10] [--tools 10] [--processes 4] [--json FILE]
import { fork, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { cpuNs, memoryKib, privateKib } from './process-figures.mjs';
import { RawClient, Tally } from './raw-client.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
/** By then, connections to servers that nobody uses have ended, and what reading their lists has left behind is collected. */
const SETTLE_MS = 45_000;
const PATIENCE_MS = 120_000;
const TARGET = { offersMs: 10_000, toolsMs: 30_000, memoryMib: 30 };

const { values } = parseArgs({
  options: {
    hosts: { type: 'string', default: '200' },
    servers: { type: 'string', default: '10' },
    tools: { type: 'string', default: '10' },
    processes: { type: 'string', default: '4' },
    json: { type: 'string' },
  },
});
const [hostCount, serverCount, toolCount, processCount] = ['hosts', 'servers', 'tools', 'processes'].map((name) =>
  Number(values[name]),
);
const dir = mkdtempSync(join(tmpdir(), 'mcpb-many-'));
const children = [];
const tally = new Tally();

async function measure() {
  const library = await bundle();
  const nats = await startNats();
  const daemon = await startDaemon(nats.url, 'real', 'all');
  const servers = hostCount * serverCount;
  await delay(3000);
  const before = { memory: privateKib(daemon.pid), cpu: cpuNs(daemon.pid) };

  const workers = Array.from({ length: processCount }, () => new Worker(library, nats.url));
  await Promise.all(workers.map((worker) => worker.order('tally'))); // they run
  const cpuBefore = await cpuOf(workers, nats);
  const beganMs = performance.now();
  const each = Math.ceil(hostCount / processCount);
  await Promise.all(
    workers.map((worker, i) => worker.order('join', { all: namesOf(i * each, Math.min(hostCount, (i + 1) * each)) })),
  );
  await until(async () => {
    const known = await Promise.all(workers.map((worker) => worker.order('known')));
    return known.every(({ least }) => least === servers - serverCount);
  });
  const offersMs = performance.now() - beganMs;
  const offersCpuMs = (await cpuOf(workers, nats)) - cpuBefore;
  await until(async () => (await offersIn(daemon)) === servers);
  const daemonOffersMs = performance.now() - beganMs;

  const restBegan = await traffic(nats);
  const cpuBegan = cpuNs(daemon.pid);
  await delay(10_000);
  const rest = rateOf(restBegan, await traffic(nats));
  const daemonCpu = ((cpuNs(daemon.pid) ?? 0) - (cpuBegan ?? 0)) / 1e7 / 10;

  const changeBegan = await traffic(nats);
  const changeMs = performance.now();
  await workers[0].order('offerMore', { name: 'brand-new' });
  await until(async () => (await offersIn(daemon)) === servers - serverCount + 1);
  const newOfferMs = performance.now() - changeMs;
  const change = rateOf(changeBegan, await traffic(nats));

  await clientOf(daemon);
  const toolsBegan = performance.now();
  const wanted = (servers - serverCount + 1) * toolCount;
  await until(async () => (await toolsIn(daemon)) === wanted, 500);
  const toolsMs = performance.now() - toolsBegan;
  await delay(SETTLE_MS);
  const after = { memory: privateKib(daemon.pid), rss: memoryKib(daemon.pid).rss, cpu: cpuNs(daemon.pid) };
  const tallies = await Promise.all(workers.map((worker) => worker.order('tally')));
  const listed = tallies.reduce((sum, one) => sum + one.listed, 0);

  // A restart has the tools from its catalog.
  await daemon.client?.close();
  await stop(daemon.child);
  const again = await startDaemon(nats.url, 'real', 'all');
  const againBegan = performance.now();
  await until(async () => (await toolsIn(again)) === wanted, 500);
  const restartMs = performance.now() - againBegan;
  await delay(SETTLE_MS);
  const tooMany = await Promise.all(workers.map((worker) => worker.order('tally')));
  const listedAgain = tooMany.reduce((sum, one) => sum + one.listed, 0) - listed;
  const restarted = privateKib(again.pid);
  return {
    ...{ hosts: hostCount, servers, tools: wanted, processes: processCount },
    ...{ offersMs, offersCpuMs, daemonOffersMs, newOfferMs, toolsMs, restartMs, listed, listedAgain },
    memoryMib: (after.memory - before.memory) / 1024,
    restartedMemoryMib: restarted / 1024,
    beforeMib: before.memory / 1024,
    rest,
    daemonCpuPercent: daemonCpu,
    change,
    perSimulatedKib: tallies.reduce((sum, { heapUsed }) => sum + heapUsed, 0) / 1024 / hostCount,
    refused: tallies.reduce((sum, { refused }) => sum + refused, 0),
  };
}

/** CPU that the simulations and the nats-server have taken, in ms: on a busy machine it says more than the time. */
async function cpuOf(workers, { pid }) {
  const tallies = await Promise.all(workers.map((worker) => worker.order('tally')));
  return tallies.reduce((sum, { cpu }) => sum + (cpu.user + cpu.system) / 1000, (cpuNs(pid) ?? 0) / 1e6);
}

function namesOf(from, to) {
  return Array.from({ length: to - from }, (_, i) => ({
    host: `h${from + i}`,
    servers: serverCount,
    tools: toolCount,
  }));
}

async function until(holds, pauseMs = 50) {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within ${PATIENCE_MS} ms: ${holds}`);
    await delay(pauseMs);
  }
}

// --- what runs ---

/** The federation of the source, as simulated hosts run it. */
async function bundle() {
  const outfile = join(dir, 'library.cjs');
  const from = (path) => JSON.stringify(join(HERE, '../src', path));
  const contents = `
    export { Federation } from ${from('federation/federation.ts')};
    export { FlushTurn } from ${from('wire/outbox.ts')};
    export { Places } from ${from('model/places.ts')};
    export { ReadPacer } from ${from('wire/read-pacer.ts')};
    export { DEFAULT_LIMITS } from ${from('model/limits.ts')};
    export { systemClock } from ${from('util/clock.ts')};`;
  const stdin = { contents, resolveDir: HERE, loader: 'ts' };
  await build({
    ...{ stdin, outfile, bundle: true, platform: 'node', format: 'cjs', target: 'node20', logLevel: 'error' },
    ...{ define: { 'import.meta.filename': JSON.stringify(fileURLToPath(import.meta.url)) } },
  });
  return outfile;
}

async function startNats() {
  const conf = join(dir, 'nats.conf');
  writeFileSync(
    conf,
    `listen: "127.0.0.1:-1"\nhttp: "127.0.0.1:-1"\njetstream { store_dir: "${join(dir, 'nats')}" }\n`,
  );
  const child = spawn('nats-server', ['-c', conf], { stdio: ['ignore', 'ignore', 'pipe'] });
  children.push(child);
  let log = '';
  await new Promise((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      log += chunk;
      if (log.includes('Server is ready')) resolve();
    });
    child.once('close', () => reject(new Error(log)));
  });
  const portOf = (what) => /:(\d+)$/m.exec(log.split('\n').find((line) => line.includes(what)) ?? '')?.[1];
  const monitor = /Starting http monitor on 127\.0\.0\.1:(\d+)/.exec(log)?.[1];
  return { url: `nats://127.0.0.1:${portOf('Listening for client connections')}`, monitor, pid: child.pid };
}

async function traffic({ monitor, pid }) {
  const all = await (await fetch(`http://127.0.0.1:${monitor}/varz`)).json();
  const { in_msgs, out_msgs, in_bytes, out_bytes } = all;
  return { atMs: performance.now(), in_msgs, out_msgs, in_bytes, out_bytes, cpu: cpuNs(pid) };
}

function rateOf(a, b) {
  const s = (b.atMs - a.atMs) / 1000;
  return {
    seconds: s,
    messagesPerSecond: (b.in_msgs + b.out_msgs - a.in_msgs - a.out_msgs) / s,
    kibPerSecond: (b.in_bytes + b.out_bytes - a.in_bytes - a.out_bytes) / s / 1024,
    natsCpuPercent: ((b.cpu ?? 0) - (a.cpu ?? 0)) / 1e7 / s,
  };
}

async function startDaemon(url, host, view) {
  const home = join(dir, host);
  const socket = join(dir, `${host}.sock`);
  const config = join(dir, `${host}.json`);
  const federation = { nats: { servers: [url] }, tenant: 'acme', user: 'sim', host };
  writeFileSync(config, JSON.stringify({ federation, discovery: { enabled: false } }));
  const program = join(HERE, '../dist/mcp-bridge.cjs');
  const child = spawn(process.execPath, [program, 'serve', '--config', config, '--mcp-bridge-socket', socket], {
    env: {
      ...process.env,
      HOME: home,
      XDG_CONFIG_HOME: join(home, 'c'),
      XDG_STATE_HOME: join(home, 's'),
      XDG_CACHE_HOME: join(home, 'k'),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  children.push(child);
  await new Promise((resolve, reject) => {
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      log += chunk;
      if (log.includes('listening on')) resolve();
    });
    child.once('close', () => reject(new Error(log)));
  });
  return { child, pid: child.pid, socket, view };
}

async function stop(child) {
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.kill('SIGTERM');
  await ended;
}

async function clientOf(daemon) {
  if (daemon.client !== undefined) return daemon.client;
  daemon.client = new RawClient({ unix: daemon.socket }, tally, { takesNotifications: true });
  await daemon.client.initialize({ 'mcp-bridge/view': daemon.view });
  return daemon.client;
}

/** The number of tools that a client of the view `all` is shown. */
async function toolsIn(daemon) {
  const client = await clientOf(daemon);
  let count = 0;
  let cursor;
  do {
    const { tools, nextCursor } = await client.request('tools/list', cursor === undefined ? {} : { cursor });
    count += tools.length;
    cursor = nextCursor;
  } while (cursor !== undefined);
  return count;
}

/** The number of servers that the daemon knows of other hosts. */
async function offersIn(daemon) {
  daemon.control ??= new RawClient({ unix: daemon.socket }, new Tally(), { takesNotifications: true });
  if (!daemon.isAsked) await daemon.control.initialize({ 'mcp-bridge/role': 'control' });
  daemon.isAsked = true;
  const { hosts } = await daemon.control.request('bridge/hosts', {});
  return hosts.reduce((sum, { used }) => sum + used.length, 0);
}

class Worker {
  #child;
  #waiting = new Map();
  #next = 1;

  constructor(library, url) {
    this.#child = fork(join(HERE, 'many-hosts-worker.mjs'), [library, url], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    children.push(this.#child);
    this.#child.once('exit', (code) => {
      if (code !== null) throw new Error(`a simulation has ended with code ${code}`);
    });
    this.#child.on('message', ({ id, failed, ...rest }) => {
      if (failed !== undefined) throw new Error(failed);
      this.#waiting.get(id)?.(rest);
      this.#waiting.delete(id);
    });
  }

  order(order, rest = {}) {
    const id = this.#next++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.send({ id, order, ...rest });
    });
  }
}

// --- what is said ---

function print(figures) {
  const s = (ms) => `${(ms / 1000).toFixed(1)} s`;
  const verdict = (holds) => (holds ? '' : '   MISSED');
  const { offersMs, toolsMs, memoryMib } = figures;
  const rows = [
    [`${figures.hosts} hosts, ${figures.servers} servers, ${figures.tools} tools, ${figures.processes} processes`, ''],
    ['all offers known to all', `${s(offersMs)} (target ${s(TARGET.offersMs)})${verdict(offersMs <= TARGET.offersMs)}`],
    ['CPU of all simulations and NATS for that', s(figures.offersCpuMs)],
    ['all offers known to the real daemon', s(figures.daemonOffersMs)],
    ['a new offer known to the real daemon', s(figures.newOfferMs)],
    [
      'all tools in the real daemon',
      `${s(toolsMs)} (target ${s(TARGET.toolsMs)})${verdict(toolsMs <= TARGET.toolsMs)}`,
    ],
    [
      'private memory more than without',
      `${memoryMib.toFixed(1)} MiB over ${figures.beforeMib.toFixed(1)} (target ${TARGET.memoryMib})${verdict(memoryMib <= TARGET.memoryMib)}`,
    ],
    [
      'all tools after its restart',
      `${s(figures.restartMs)}, with ${figures.listedAgain} lists asked for (before: ${figures.listed}); ${figures.restartedMemoryMib.toFixed(1)} MiB`,
    ],
    [
      'at rest',
      `${figures.rest.messagesPerSecond.toFixed(0)} messages/s, ${figures.rest.kibPerSecond.toFixed(0)} KiB/s, nats-server ${figures.rest.natsCpuPercent.toFixed(1)} % CPU, daemon ${figures.daemonCpuPercent.toFixed(1)} %`,
    ],
    ['heap of a simulated host', `${figures.perSimulatedKib.toFixed(0)} KiB`],
  ];
  for (const [what, figure] of rows) process.stdout.write(`${what.padEnd(42)} ${figure}\n`);
}

try {
  const figures = await measure();
  print(figures);
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
} finally {
  for (const child of children) child.kill('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
}
