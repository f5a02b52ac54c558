// What a dropped connection adds to a result that waits for its client, beyond the delays that the client chooses before
// its attempts: with the socket there again at once, gone for a while, and for many clients that lose it together.
// Usage: node bench/resuming.mjs [--rounds 100] [--clients 50]
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { BridgeTransport } from '../dist/client.js';
import { quantile } from './statistics.mjs';
import { atMost, verdictOf } from './target.mjs';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '100' }, clients: { type: 'string', default: '50' } },
});
const ROUNDS = Number(values.rounds);
const CLIENTS = Number(values.clients);
const MOST_MS = 50;
/** How long a call takes, and when the connection drops meanwhile. */
const CALL_MS = 8;
const DROP_MS = 5;
const OUTAGE_MS = 300;
const PROGRAM = fileURLToPath(new URL('../dist/mcp-bridge.cjs', import.meta.url));

const dir = mkdtempSync(join(tmpdir(), 'mcpb-resuming-'));
const path = join(dir, 'b.sock');
const config = join(dir, 'config.json');
const environment = { ...process.env, HOME: dir, XDG_CONFIG_HOME: dir, XDG_STATE_HOME: dir, XDG_CACHE_HOME: dir };
environment.MCP_BRIDGE_SOCKET = path;
const late = { command: process.execPath, args: [fileURLToPath(new URL('late-server.mjs', import.meta.url))] };
writeFileSync(
  config,
  JSON.stringify({
    client: { view: 'server:late' },
    discovery: { enabled: false },
    mcpServers: { late: { ...late, trustHints: true } },
  }),
);
const run = (...args) => promisify(execFile)(process.execPath, [PROGRAM, ...args], { env: environment, cwd: dir });
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/** A socket in front of the daemon's, which can be cut, and be gone. */
class Way {
  path = join(dir, 'way.sock');
  #sockets = new Set();
  #server;

  async open() {
    this.#server = createServer((client) => {
      const daemon = connect(path);
      for (const [one, other] of [
        [client, daemon],
        [daemon, client],
      ]) {
        this.#sockets.add(one);
        one.on('error', () => one.destroy()).pipe(other);
        one.on('close', () => this.#sockets.delete(one) && other.destroy());
      }
    });
    await new Promise((resolve) => this.#server.listen(this.path, resolve));
  }

  cut() {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Nobody can connect any more; what is connected stays. */
  shut() {
    this.#server.close();
  }
}

/** A client of the library, without the SDK. */
class Caller {
  #transport;
  #waiting = new Map();
  #lastId = 0;
  /** What it has waited before its attempts since the connection dropped. */
  waitedMs = 0;
  session = '';

  static async open(socketPath) {
    const caller = new Caller();
    const transport = new BridgeTransport({ socketPath, configFile: config, autostart: false });
    caller.#transport = transport;
    transport.on('reconnecting', ({ delayMs }) => {
      caller.waitedMs += delayMs;
    });
    transport.on('resumed', ({ session }) => {
      caller.session = session;
    });
    transport.onmessage = (message) => caller.#waiting.get(message.id)?.(message);
    await transport.start();
    const clientInfo = { name: 'resuming', version: '1' };
    await caller.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await caller.late(0);
    return caller;
  }

  ask(method, params) {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      void this.#transport.send({ jsonrpc: '2.0', id, method, params });
    });
  }

  /** When the answer was given, and when it came, over which session. */
  async late(ms) {
    this.waitedMs = 0;
    this.session = '';
    const { result, error } = await this.ask('tools/call', { name: 'late', arguments: { ms } });
    if (error !== undefined) throw new Error(error.message);
    const { session, waitedMs } = this;
    return { readyMs: Number(result.content[0].text) / 1e6, cameMs: nowMs(), session, waitedMs };
  }

  close() {
    return this.#transport.close();
  }
}

/** What it takes without a drop: how busy the machine is. */
async function quietRound(callers) {
  const answers = await Promise.all(callers.map((caller) => caller.late(CALL_MS)));
  return answers.map(({ readyMs, cameMs }) => cameMs - readyMs);
}

/** The delay added to each answer that was not there yet when the connection dropped. */
async function round(way, callers, outageMs) {
  const answers = Promise.all(callers.map((caller) => caller.late(CALL_MS)));
  await delay(DROP_MS);
  if (outageMs > 0) way.shut();
  way.cut();
  const droppedMs = nowMs();
  if (outageMs > 0) {
    await delay(outageMs);
    await way.open();
  }
  return (await answers).flatMap(({ readyMs, cameMs, session, waitedMs }) => {
    if (session === '') return []; // it had come as far as the client already
    if (session !== 'kept') throw new Error('the session was not kept');
    return [Math.max(0, cameMs - Math.max(readyMs, droppedMs + waitedMs))];
  });
}

async function measure(what, { clients, rounds, outageMs }) {
  const way = new Way();
  await way.open();
  const callers = [];
  for (let n = 0; n < clients; n++) callers.push(await Caller.open(way.path));
  const added = [];
  const quiet = [];
  for (let n = 0; n < rounds; n++) {
    quiet.push(...(await quietRound(callers)));
    added.push(...(await round(way, callers, outageMs)));
    await delay(1100); // or the pace of ten attempts in ten seconds would be what is measured
  }
  await Promise.all(callers.map((caller) => caller.close()));
  way.cut();
  way.shut();
  console.log(`${what}: ${figuresOf(added)}`);
  console.log(`  from server to client without a drop: ${figuresOf(quiet)}`);
  if (clients > 1) return; // what is promised is promised of one connection
  const target = atMost(what, quantile(added, 0.99), MOST_MS, 'ms');
  console.log(`  p99 at most ${MOST_MS} ms: ${verdictOf(target)}`);
}

function figuresOf(samples) {
  const [median, p99, most] = [0.5, 0.99, 1].map((q) => quantile(samples, q).toFixed(2));
  return `median ${median} ms, p99 ${p99} ms, most ${most} ms (${samples.length} results)`;
}

await run('start', '--config', config);
try {
  const [half, few] = [Math.ceil(ROUNDS / 2), Math.ceil(ROUNDS / 10)];
  await measure('added where the socket is there again at once', { clients: 1, rounds: ROUNDS, outageMs: 0 });
  await measure(`added where it is gone for ${OUTAGE_MS} ms`, { clients: 1, rounds: half, outageMs: OUTAGE_MS });
  await measure(`added for each of ${CLIENTS} clients at once`, { clients: CLIENTS, rounds: few, outageMs: 0 });
} finally {
  await run('stop');
  rmSync(dir, { recursive: true, force: true });
}
