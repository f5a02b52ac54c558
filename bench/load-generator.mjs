// The clients of a measurement, in a process of their own, so that their CPU time is not that of what is measured.
// Takes one order at a time over IPC and answers it with the figures; ends when its parent does.
//   order: { target, profile?, meta?, tool?, clients, window, calls, warmUpCalls?, bytes, kind?, deadlineMs,
//            callsPerSecond? for a steady load, watch: [pid], watchSpawned?, or root: pid of a gateway, whose tree is watched but for the servers in it }
import { setTimeout as delay } from 'node:timers/promises';
import { cpuNs, echoServersAmong, pssMib, treeOf } from './process-figures.mjs';
import { RawClient, Tally } from './raw-client.mjs';
import { sampleTexts } from './sample-text.mjs';
import { quantile } from './statistics.mjs';

/** This part of the calls goes before, unmeasured, if the order does not say how many. */
const WARM_UP = 0.2;
/** A second answer to the last call would come within this time. */
const AFTERMATH_MS = 20;

/** Sends `order.calls` calls over all clients, `order.window` of each under way at a time. */
function run(clients, order, { textOf, latenciesUs }) {
  const total = latenciesUs.length;
  return new Promise((resolve) => {
    let sent = 0;
    let answered = 0;
    const { callsPerSecond = Number.POSITIVE_INFINITY } = order;
    const startMs = performance.now();
    const isEarly = () => sent >= ((performance.now() - startMs) / 1000) * callsPerSecond;
    /** Clients that wait until it is time for their next call. */
    const early = [];
    const pace = setInterval(() => {
      while (early.length > 0 && !isEarly()) next(...early.shift());
    }, 1);
    const next = (client, index) => {
      if (sent === total) return;
      if (callsPerSecond < Number.POSITIVE_INFINITY && isEarly()) return void early.push([client, index]);
      const text = textOf(`${index}:${sent++}:`);
      const sentMs = performance.now();
      const onAnswer = () => {
        latenciesUs[answered++] = (performance.now() - sentMs) * 1000;
        if (answered < total) return next(client, index);
        clearInterval(pace);
        resolve();
      };
      client.echo(text, onAnswer, order.tool);
    };
    for (let i = 0; i < order.window; i++) clients.forEach(next);
  });
}

function watchedNs(pids) {
  const each = pids.map(cpuNs);
  return each.every((ns) => ns !== undefined) ? each.reduce((sum, ns) => sum + ns, 0) : Number.NaN;
}

/** What stands in the middle, and the servers behind it if the order names the root of both. */
function processesOf(clients, { watch = [], watchSpawned, root }) {
  // Of a command, what it started counts.
  const spawned = watchSpawned ? clients.map((client) => client.pid) : [];
  const tree = root === undefined ? watch : treeOf(root);
  const servers = echoServersAmong(tree);
  return { middle: [...tree.filter((pid) => !servers.includes(pid)), ...spawned], servers, spawned };
}

async function measure(clients, order) {
  const textOf = sampleTexts(order.kind ?? 'code', order.bytes);
  const warmUpCalls = order.warmUpCalls ?? Math.ceil(order.calls * WARM_UP);
  await run(clients, order, { textOf, latenciesUs: new Float64Array(warmUpCalls) });
  const { middle: watched, servers, spawned } = processesOf(clients, order);
  const latenciesUs = new Float64Array(order.calls);
  const cpuBefore = watchedNs(watched);
  const spawnedBefore = watchedNs(spawned);
  const startMs = performance.now();
  await run(clients, order, { textOf, latenciesUs });
  const seconds = (performance.now() - startMs) / 1000;
  const cpuUsPerCall = watched.length === 0 ? null : (watchedNs(watched) - cpuBefore) / 1000 / order.calls;
  // What the clients' own relays spend, without the daemon that they share.
  const spawnedCpuUsPerCall = spawned.length === 0 ? null : (watchedNs(spawned) - spawnedBefore) / 1000 / order.calls;
  const [p50, p99] = [0.5, 0.99].map((q) => quantile(latenciesUs, q));
  const memory = order.root === undefined ? {} : { servers: servers.length, pssMib: pssMib([...watched, ...servers]) };
  return { callsPerSecond: order.calls / seconds, p50, p99, cpuUsPerCall, spawnedCpuUsPerCall, ...memory };
}

async function carryOut(order) {
  const tally = new Tally();
  const clients = [];
  try {
    while (clients.length < order.clients) clients.push(new RawClient(order.target, tally, order.profile));
    await Promise.all(clients.map((client) => client.initialize(order.meta)));
    const late = delay(order.deadlineMs, undefined, { ref: false }).then(() => {
      throw new Error(`not done within ${order.deadlineMs} ms`);
    });
    const figures = await Promise.race([measure(clients, order), late]);
    await delay(AFTERMATH_MS);
    return { ...figures, faults: tally.faults, firstFault: tally.firstFault };
  } catch (error) {
    return { faults: tally.faults + 1, firstFault: tally.firstFault ?? error.message };
  } finally {
    for (const client of clients) client.close();
  }
}

process.on('message', async (order) => process.send(await carryOut(order)));
process.on('disconnect', () => process.exit(0));
