// Clients that have calls under way while their server is killed, in a process of their own, over IPC.
//   order: { target, profile?, meta?, tool?, root: pid of the gateway, clients, window }
// Answers what became of those calls, and of later ones on the same connections and on new ones. A server is stopped
// before the calls are sent, so that all of them are under way when it dies.
import { setTimeout as delay } from 'node:timers/promises';
import { echoServersAmong, treeOf } from './process-figures.mjs';
import { RawClient, Tally } from './raw-client.mjs';
import { sampleTexts } from './sample-text.mjs';

const BYTES = 100;
const ARRIVAL_MS = 300;
const PATIENCE_MS = 5000;
const RETRY_MS = 50;

const textOf = sampleTexts('code', BYTES);
let calls = 0;

/** Resolves to what became of the call, 'never' after `ms`. */
function outcomeOf(client, tool, ms) {
  const outcome = new Promise((resolve) => client.echo(textOf(`${calls++}:`), resolve, tool));
  return Promise.race([outcome, delay(ms, 'never', { ref: false })]);
}

async function openClient({ target, profile, meta }) {
  const client = new RawClient(target, new Tally(), profile);
  await client.initialize(meta);
  return client;
}

/** Calls until an answer is right; resolves to the time since `from`, or to undefined when patience is over. */
async function untilRight(client, tool, from) {
  for (let left = PATIENCE_MS; left > 0; left = from + PATIENCE_MS - performance.now()) {
    if ((await outcomeOf(client, tool, left)) === 'right') return performance.now() - from;
    await delay(RETRY_MS);
  }
}

function signalServers(root, signal) {
  const servers = echoServersAmong(treeOf(root));
  for (const pid of servers) process.kill(pid, signal);
  return servers.length;
}

/** Whether a client that comes anew is served. */
async function servesNewClient(order) {
  const patience = delay(PATIENCE_MS, false, { ref: false });
  const attempt = openClient(order).then(async (client) => {
    const outcome = await outcomeOf(client, order.tool, PATIENCE_MS);
    client.close();
    return outcome === 'right';
  });
  return Promise.race([attempt.catch(() => false), patience]);
}

function countOf(outcomes) {
  const count = { right: 0, wrong: 0, refused: 0, lost: 0, never: 0 };
  for (const outcome of outcomes) count[outcome]++;
  return count;
}

async function crash(clients, order) {
  for (const client of clients) await outcomeOf(client, order.tool, PATIENCE_MS);
  signalServers(order.root, 'SIGSTOP');
  const underWay = clients.flatMap((client) =>
    Array.from({ length: order.window }, () => outcomeOf(client, order.tool, ARRIVAL_MS + PATIENCE_MS)),
  );
  await delay(ARRIVAL_MS);
  const killed = signalServers(order.root, 'SIGKILL');
  const killedMs = performance.now();
  const backMs = await Promise.all(clients.map((client) => untilRight(client, order.tool, killedMs)));
  const isBack = !backMs.includes(undefined);
  return {
    killed,
    underWay: countOf(await Promise.all(underWay)),
    backMs: isBack ? Math.max(...backMs) : null,
    servesNew: isBack || (await servesNewClient(order)),
  };
}

process.on('message', async (order) => {
  const clients = [];
  try {
    while (clients.length < order.clients) clients.push(await openClient(order));
    process.send(await crash(clients, order));
  } catch (error) {
    process.send({ fault: error.message });
  } finally {
    for (const client of clients) client.close();
  }
});
process.on('disconnect', () => process.exit(0));
