// Agents that are connected to servers, have listed their tools, and wait: in a process of their own, over IPC.
//   { open: [{ target, meta? }], folder }   opens these and answers how many tools each has and the pids it started
//   { close: true }                         closes all and answers when what it started has ended
import { setTimeout as delay } from 'node:timers/promises';
import { RawClient, Tally } from './raw-client.mjs';

/** So many start at a time: a machine that starts 64 programs at once measures the start. */
const AT_A_TIME = 4;
const PATIENCE_MS = 5000;
const STEP_MS = 20;

const tally = new Tally();
const clients = [];

/** What agents declare, and how they answer. Servers like these tell of changes and log. */
const agentOf = (folder) => ({
  capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: {} },
  answers: { ping: {}, 'roots/list': { roots: [{ uri: `file://${folder}`, name: 'work' }] } },
  takesNotifications: true,
});

async function open({ open: connections, folder }) {
  const toolCounts = [];
  for (let from = 0; from < connections.length; from += AT_A_TIME) {
    const some = connections.slice(from, from + AT_A_TIME);
    toolCounts.push(...(await Promise.all(some.map((connection) => openOne(connection, agentOf(folder))))));
  }
  return { toolCounts, pids: spawnedPids(), faults: tally.faults, firstFault: tally.firstFault };
}

async function openOne({ target, meta }, profile) {
  const client = new RawClient(target, tally, profile);
  clients.push(client);
  await client.initialize(meta);
  const { tools } = await client.request('tools/list');
  return tools.length;
}

const spawnedPids = () => clients.map(({ pid }) => pid).filter((pid) => pid !== undefined);

const isRunning = (pid) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false; // It has ended.
  }
};

async function close() {
  const pids = spawnedPids();
  for (const client of clients.splice(0)) client.close();
  const deadline = performance.now() + PATIENCE_MS;
  while (pids.some(isRunning) && performance.now() < deadline) await delay(STEP_MS);
  for (const pid of pids.filter(isRunning)) process.kill(pid, 'SIGKILL');
  return { closed: pids.length };
}

process.on('message', async (order) => {
  try {
    process.send(order.close === undefined ? await open(order) : await close());
  } catch (error) {
    process.send({ faults: tally.faults + 1, firstFault: tally.firstFault ?? error.message });
  }
});
for (const end of ['disconnect', 'SIGTERM']) process.once(end, () => close().finally(() => process.exit(0)));
