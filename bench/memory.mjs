// Theme: the daemon's memory: idle, for each client more, with as many clients as it takes, and under a peer that
// sends without end. The daemon has its default limits; only the pings come more often, so that all fall into the run.
import { setTimeout as delay } from 'node:timers/promises';
import { memoryKib, openDescriptorLimit, peakRssKib, privateKib } from './process-figures.mjs';
import { RawClient, Tally } from './raw-client.mjs';
import { median } from './statistics.mjs';
import { ECHO_CONFIG, startDaemon, VIEW, VIEW_DISCOVER } from './subjects.mjs';
import { atMost } from './target.mjs';
import { Worker } from './worker.mjs';

const SETTLE_MS = 2000;
const PING_PERIOD_MS = 4000;
/** Within this time after the last one came, all clients have been pinged. */
const PINGED_MS = PING_PERIOD_MS + 3000;
const FEW = 10;
const MORE = 200;
const LARGE = 200;
const SIXTY = 60;
/** One client more is the slope between these numbers of clients: over fewer, the garbage of connecting would count. */
const SLOPE_FROM = 500;
const SLOPE_TO = 2500;
const QUICK_SLOPE_TO = 1000;
const MANY = 10_000;
const QUICK_MANY = 1000;
const LOAD_PROCESSES = 2;
const SPARE_DESCRIPTORS = 200;
const GIB = 2 ** 30;
const QUICK_FLOOD = GIB / 8;
const FLOOD_MS = 60_000;

const mib = (kib) => (kib ?? Number.NaN) / 1024;

export async function measureMemory(workspace, { isQuick }) {
  const faults = [];
  const few = [];
  for (let i = 0; i < (isQuick ? 1 : 3); i++) few.push(await measureFewClients(workspace, faults));
  const slopeTo = isQuick ? QUICK_SLOPE_TO : SLOPE_TO;
  const each = [];
  for (const servers of [1, SIXTY]) each.push(await measureEachClient(workspace, { servers, slopeTo, faults }));
  const large = await measureLargeCatalog(workspace, faults);
  const many = await measureManyClients(workspace, { wanted: isQuick ? QUICK_MANY : MANY, faults });
  const flood = await measureFlood(workspace, { bytes: isQuick ? QUICK_FLOOD : GIB, faults });
  return theme({ few, each, large, many, flood, faults });
}

/** Orders it, and notes what went wrong. */
async function orderOf(worker, message, faults) {
  const answer = await worker.order(message);
  if (answer.faults > 0) faults.push(`idle clients: ${answer.firstFault}`);
  return answer;
}

async function measureFewClients(workspace, faults) {
  const daemon = await startDaemon(workspace);
  const clients = new Worker(workspace, 'idle-clients.mjs');
  await orderOf(clients, { open: FEW, path: daemon.path, meta: VIEW }, faults);
  await delay(SETTLE_MS);
  const before = memoryKib(daemon.pid);
  const idlePrivateMib = mib(privateKib(daemon.pid));
  await orderOf(clients, { open: MORE, path: daemon.path, meta: VIEW }, faults);
  await delay(SETTLE_MS);
  const after = memoryKib(daemon.pid);
  await clients.end(workspace);
  await workspace.end(daemon.child);
  const [idleRssMib, idlePssMib] = [mib(before.rss), mib(before.pss)];
  return { idleRssMib, idlePssMib, idlePrivateMib, pssKibPerClient: (after.pss - before.pss) / MORE };
}

/** The cost of one idle client more that looks for tools among so many servers, none of which runs. */
async function measureEachClient(workspace, { servers: count, slopeTo, faults }) {
  const servers = Object.fromEntries(Array.from({ length: count }, (_, i) => [`server${i}`, ECHO_CONFIG]));
  const daemon = await startDaemon(workspace, { servers });
  const clients = new Worker(workspace, 'idle-clients.mjs');
  const privateOf = async (open) => {
    await orderOf(clients, { open, path: daemon.path, meta: VIEW_DISCOVER }, faults);
    await delay(SETTLE_MS);
    return privateKib(daemon.pid);
  };
  const before = await privateOf(SLOPE_FROM);
  const after = await privateOf(slopeTo - SLOPE_FROM);
  await clients.end(workspace);
  await workspace.end(daemon.child);
  return { servers: count, kibPerClient: (after - before) / (slopeTo - SLOPE_FROM) };
}

/** What is known of a server's tools from an earlier run, as most often: the server does not run. */
async function measureLargeCatalog(workspace, faults) {
  const servers = { large: { ...ECHO_CONFIG, env: { TOOLS: String(LARGE) } } };
  const settings = { discovery: { cache: { enabled: true } } };
  const meta = VIEW_DISCOVER;
  const teaching = await startDaemon(workspace, { servers, settings });
  const learner = await askingClient(teaching, meta);
  await search(learner, 'echo');
  learner.close();
  await workspace.end(teaching.child);
  const daemon = await startDaemon(workspace, { servers, settings });
  const clients = new Worker(workspace, 'idle-clients.mjs');
  await orderOf(clients, { open: FEW, path: daemon.path, meta }, faults);
  await delay(SETTLE_MS);
  const beforeMib = mib(memoryKib(daemon.pid).rss);
  const client = await askingClient(daemon, meta);
  const found = await search(client, 'number seven');
  await delay(SETTLE_MS);
  const afterMib = mib(memoryKib(daemon.pid).rss);
  const afterPrivateMib = mib(privateKib(daemon.pid));
  client.close();
  await clients.end(workspace);
  await workspace.end(daemon.child);
  if (found === 0) faults.push(`the search over ${LARGE} tools has found none`);
  return { beforeMib, afterMib, afterPrivateMib, found };
}

async function askingClient({ path }, meta) {
  const client = new RawClient({ unix: path }, new Tally());
  await client.initialize(meta);
  return client;
}

/** How many tools it has found. */
async function search(client, query) {
  const { content } = await client.request('tools/call', { name: 'search_tools', arguments: { query } });
  return JSON.parse(content[0].text).results.length;
}

/** As many as wanted, or as there are descriptors for. */
async function measureManyClients(workspace, { wanted, faults }) {
  const count = Math.min(wanted, (openDescriptorLimit() ?? wanted) - SPARE_DESCRIPTORS);
  const daemon = await startDaemon(workspace, { settings: { liveness: { pingPeriodMs: PING_PERIOD_MS } } });
  const workers = Array.from({ length: LOAD_PROCESSES }, () => new Worker(workspace, 'idle-clients.mjs'));
  const open = { open: Math.floor(count / LOAD_PROCESSES), path: daemon.path, meta: VIEW };
  await Promise.all(workers.map((worker) => orderOf(worker, open, faults)));
  await delay(PINGED_MS);
  const memory = memoryKib(daemon.pid);
  const asked = await Promise.all(workers.map((worker) => orderOf(worker, { askAll: true }, faults)));
  const sum = (key) => asked.reduce((total, answer) => total + (answer[key] ?? 0), 0);
  const clients = open.open * LOAD_PROCESSES;
  const peakRssMib = mib(peakRssKib(daemon.pid));
  await Promise.all(workers.map((worker) => worker.end(workspace)));
  await workspace.end(daemon.child);
  const [pinged, answered] = [sum('pinged'), sum('answered')];
  if (pinged !== clients || answered !== clients)
    faults.push(`of ${clients} clients ${pinged} were pinged, ${answered} were answered`);
  return { clients, pinged, answered, rssMib: mib(memory.rss), peakRssMib };
}

async function measureFlood(workspace, { bytes, faults }) {
  const daemon = await startDaemon(workspace);
  const clients = new Worker(workspace, 'idle-clients.mjs');
  await orderOf(clients, { open: FEW, path: daemon.path, meta: VIEW }, faults);
  await delay(SETTLE_MS);
  const before = memoryKib(daemon.pid);
  const flood = new Worker(workspace, 'flood.mjs');
  const late = delay(FLOOD_MS, { sent: Number.NaN, connections: Number.NaN }, { ref: false });
  const { sent, connections } = await Promise.race([flood.order({ path: daemon.path, bytes }), late]);
  const peak = peakRssKib(daemon.pid);
  await delay(SETTLE_MS);
  const after = memoryKib(daemon.pid);
  const { answered } = await orderOf(clients, { askAll: true }, faults);
  if (answered !== FEW) faults.push(`of ${FEW} clients beside the flood ${answered} were answered`);
  for (const worker of [clients, flood]) await worker.end(workspace);
  await workspace.end(daemon.child);
  return {
    sentMib: sent / 2 ** 20,
    connections,
    beforeMib: mib(before.rss),
    peakMib: mib(peak),
    afterMib: mib(after.rss),
  };
}

function theme({ few, each, large, many, flood, faults }) {
  const typical = (key) => median(few.map((one) => one[key]));
  return {
    title: 'Memory of the daemon',
    notes: [`Medians of ${few.length} daemon(s) for the first three lines, one for the others.`],
    columns: ['what', 'figure', 'unit'],
    rows: [
      [`idle, ${FEW} clients and one server, RSS`, typical('idleRssMib'), 'MiB'],
      [`idle, ${FEW} clients and one server, PSS`, typical('idlePssMib'), 'MiB'],
      [`idle, ${FEW} clients and one server, private (RssAnon)`, typical('idlePrivateMib'), 'MiB'],
      [`idle, ${FEW} clients and a catalog of ${LARGE} tools, view discover, RSS`, large.beforeMib, 'MiB'],
      [`the same after one search, which has found ${large.found} tools, RSS`, large.afterMib, 'MiB'],
      ['the same, private (RssAnon)', large.afterPrivateMib, 'MiB'],
      ...each.map(({ servers, kibPerClient }) => [
        `each client more in the view discover, ${servers} server(s), private (RssAnon)`,
        kibPerClient,
        'KiB',
      ]),
      [`each client more, from ${FEW} to ${FEW + MORE}, PSS`, typical('pssKibPerClient'), 'KiB'],
      [`${many.clients} clients, all pinged and all answered, RSS`, many.rssMib, 'MiB'],
      [`${many.clients} clients, the most it ever was, RSS`, many.peakRssMib, 'MiB'],
      ['sent without a newline', flood.sentMib, 'MiB'],
      ['over so many connections, each cut off at the limit', flood.connections, ''],
      ['RSS before', flood.beforeMib, 'MiB'],
      ['RSS at its peak', flood.peakMib, 'MiB'],
      ['RSS 2 s after', flood.afterMib, 'MiB'],
    ],
    targets: [
      atMost(`idle with ${FEW} clients and one server, RSS`, typical('idleRssMib'), 50, 'MiB'),
      atMost(`idle with a catalog of ${LARGE} tools, RSS`, large.beforeMib, 50, 'MiB'),
      atMost(`idle with ${FEW} clients, private`, typical('idlePrivateMib'), 16, 'MiB'),
      atMost(`a catalog of ${LARGE} tools after a search, private`, large.afterPrivateMib, 22, 'MiB'),
      ...each.map(({ servers, kibPerClient }) =>
        atMost(`each client more, ${servers} server(s), private`, kibPerClient, servers === 1 ? 16 : 20, 'KiB'),
      ),
      atMost('each client more, PSS', typical('pssKibPerClient'), 64, 'KiB'),
      atMost(`${many.clients} idle clients, RSS`, many.rssMib, 150, 'MiB'),
      atMost('rise of RSS at the peak of the flood', flood.peakMib - flood.beforeMib, 64, 'MiB'),
    ],
    faults,
    raw: { few, each, large, many, flood },
  };
}
