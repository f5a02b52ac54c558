// `make conformance`: runs the official suite against a server, and against the bridge with that server behind it, and
// compares every check; has the official inspector look at another server through the bridge; and has the bridge be the
// client of the suite's own servers.
// It fails when anything differs, when a required scenario does not pass direct, for then it proves nothing, and when the
// bridge does not pass as a client.
import { fileURLToPath } from 'node:url';
import { Bridge } from './bridge.mjs';
import { ClientScenarios } from './client-scenarios.mjs';
import { HttpFront } from './http-front.mjs';
import { EVERYTHING, Inspector } from './inspector.mjs';
import { installation } from './installation.mjs';
import { processPeer, socketPeer } from './peer.mjs';
import { Report } from './report.mjs';
import { Suite } from './suite.mjs';
import { Workspace } from './workspace.mjs';

const SERVER = fileURLToPath(new URL('server/main.mjs', import.meta.url));
const NAME = 'conformance';
/** Suites at once, all on one process of the server. */
const NEIGHBOURS = 4;
const INTERRUPTED = 130;

/** Runs the suite against a front of its own. */
async function runThroughFront(suite, openPeer) {
  const front = await HttpFront.open(openPeer);
  try {
    return await suite.run(front.url);
  } finally {
    await front.close();
  }
}

/** Whom the front asks in each column, and how often at once. */
function placesOf(workspace, bridge) {
  const overSocket = () => socketPeer(bridge.socket, NAME);
  return [
    { name: 'direct', times: 1, openPeer: () => processPeer(workspace, [SERVER]) },
    { name: 'bridge', times: 1, openPeer: overSocket },
    { name: 'connect', times: 1, openPeer: () => processPeer(workspace, bridge.connectArgs(NAME)) },
    { name: 'shared', times: NEIGHBOURS, openPeer: overSocket },
  ];
}

async function runEverywhere(suite, places) {
  const columns = [];
  for (const { name, times, openPeer } of places) {
    console.log(`Running the suite: ${name}${times > 1 ? `, ${times} times at once` : ''}`);
    const runs = await Promise.all(Array.from({ length: times }, () => runThroughFront(suite, openPeer)));
    columns.push({ name, runs, hasNeighbours: times > 1 });
  }
  console.log();
  return columns;
}

async function printSharing(bridge) {
  const { counters } = await bridge.status();
  const { clientsAccepted, serverStarts } = counters;
  console.log(`\nClients of the bridge: ${clientsAccepted}; processes of the server behind it: ${serverStarts}.`);
}

async function check(workspace) {
  const programs = await installation(workspace);
  const bridge = new Bridge(workspace);
  await bridge.start({ [NAME]: { command: process.execPath, args: [SERVER] }, everything: EVERYTHING });
  const suite = new Suite(workspace, programs);
  const columns = await runEverywhere(suite, placesOf(workspace, bridge));
  const report = new Report(columns, await suite.required());
  report.print();
  await printSharing(bridge);
  const tools = await new Inspector(workspace, programs).check(bridge.connectArgs('everything'));
  console.log(`The inspector has seen the same ${tools} tools through connect, and called one.`);
  report.printSummary();
  const asClient = new ClientScenarios(suite);
  await asClient.run();
  return report.isGood && asClient.isGood;
}

const workspace = new Workspace();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => workspace.close().finally(() => process.exit(INTERRUPTED)));

let isGood = false;
try {
  isGood = await check(workspace);
} catch (error) {
  console.error(`conformance: ${error.message}`);
} finally {
  await workspace.close();
}
process.exit(isGood ? 0 : 1);
