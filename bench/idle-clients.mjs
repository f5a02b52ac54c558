// Many clients that are connected, answer pings, and ask for nothing: in a process of their own, over IPC.
//   { open: n, path, meta }      opens n more, each initialized
//   { askAll: true }             pings the daemon from each, and says how many it has pinged and how many are left
import { setTimeout as delay } from 'node:timers/promises';
import { RawClient, Tally } from './raw-client.mjs';

/** So many connect at a time; more would wait in the listening socket's queue. */
const AT_A_TIME = 200;
const ANSWER_MS = 20_000;

const tally = new Tally();
const clients = [];

async function open({ open: count, path, meta }) {
  for (let left = count; left > 0; left -= AT_A_TIME) {
    const opened = Array.from({ length: Math.min(left, AT_A_TIME) }, () => new RawClient({ unix: path }, tally));
    clients.push(...opened);
    await Promise.all(opened.map((client) => client.initialize(meta)));
  }
  return { opened: count };
}

async function askAll() {
  const answers = Promise.allSettled(clients.map((client) => client.request('ping')));
  const settled = await Promise.race([answers, delay(ANSWER_MS, [], { ref: false })]);
  return {
    answered: settled.filter(({ status }) => status === 'fulfilled').length,
    pinged: clients.filter((client) => client.pingsAnswered > 0).length,
    faults: tally.faults,
    firstFault: tally.firstFault,
  };
}

process.on('message', async (order) => {
  try {
    process.send(order.open === undefined ? await askAll() : await open(order));
  } catch (error) {
    process.send({ faults: tally.faults + 1, firstFault: tally.firstFault ?? error.message });
  }
});
process.on('disconnect', () => process.exit(0));
