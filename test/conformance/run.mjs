// `make conformance`: runs the official suite, in both revisions, against a server, and against the bridge with that server
// behind it, and compares every check; has the official inspector look at another server through the bridge; and has the
// bridge be the client of the suite's own servers.
// It fails when anything differs that is not meant to, when a required scenario does not pass direct, for then it proves
// nothing, and when the bridge does not pass as a client. `node run.mjs 2026-07-28` runs the servers of one revision alone.
import { fileURLToPath } from 'node:url';
import { Bridge } from './bridge.mjs';
import { ClientScenarios } from './client-scenarios.mjs';
import { CROSSINGS } from './crossings.mjs';
import { HttpFront } from './http-front.mjs';
import { HttpFront2026 } from './http-front-2026.mjs';
import { EVERYTHING, Inspector } from './inspector.mjs';
import { installation } from './installation.mjs';
import { processPeer, socketPeer } from './peer.mjs';
import { Report } from './report.mjs';
import { Suite } from './suite.mjs';
import { Workspace } from './workspace.mjs';

/** The servers by their names in the bridge: how each is started. */
const SERVERS = {
  'era-2025': [fileURLToPath(new URL('server/main.mjs', import.meta.url))],
  'era-2026': [fileURLToPath(new URL('server/era-2026.mjs', import.meta.url))],
};
/** Revisions, with the server of the same era and the front that speaks it. */
const REVISIONS = {
  '2025-11-25': { server: 'era-2025', other: 'era-2026', Front: HttpFront },
  '2026-07-28': { server: 'era-2026', other: 'era-2025', Front: HttpFront2026 },
};
/** Suites at once, all on one process of the server. */
const NEIGHBOURS = 4;
const INTERRUPTED = 130;

/** Runs the suite against a front of its own. */
async function runThroughFront(suite, Front, openPeer) {
  const front = await Front.open(openPeer);
  try {
    return await suite.run(front.url);
  } finally {
    await front.close();
  }
}

/** Whom the front asks in each column, and how often at once. */
function placesOf(workspace, bridge, { server, other }) {
  const overSocket = () => socketPeer(bridge.socket, server);
  return [
    { name: 'direct', times: 1, openPeer: () => processPeer(workspace, SERVERS[server]) },
    { name: 'bridge', times: 1, openPeer: overSocket },
    { name: 'connect', times: 1, openPeer: () => processPeer(workspace, bridge.connectArgs(server)) },
    { name: 'shared', times: NEIGHBOURS, openPeer: overSocket },
    { name: other, times: 1, crosses: true, openPeer: () => socketPeer(bridge.socket, other) },
  ];
}

async function runEverywhere(suite, revision, places) {
  const columns = [];
  for (const { name, times, openPeer, crosses = false } of places) {
    console.log(`Running the suite of ${revision}: ${name}${times > 1 ? `, ${times} times at once` : ''}`);
    const { Front } = REVISIONS[revision];
    const runs = await Promise.all(Array.from({ length: times }, () => runThroughFront(suite, Front, openPeer)));
    columns.push({ name, runs, hasNeighbours: times > 1, crosses });
  }
  console.log();
  return columns;
}

async function printSharing(bridge) {
  const { counters } = await bridge.status();
  const { clientsAccepted, serverStarts } = counters;
  console.log(`\nClients of the bridge: ${clientsAccepted}; processes of the server behind it: ${serverStarts}.`);
}

async function checkRevision(workspace, programs, bridge, revision) {
  const suite = new Suite(workspace, programs, revision);
  const columns = await runEverywhere(suite, revision, placesOf(workspace, bridge, REVISIONS[revision]));
  const report = new Report(columns, await suite.required(), CROSSINGS[revision]);
  report.print();
  report.printSummary();
  console.log();
  return report.isGood;
}

async function check(workspace, revisions) {
  const programs = await installation(workspace);
  const bridge = new Bridge(workspace);
  const definitions = Object.entries(SERVERS).map(([name, args]) => [name, { command: process.execPath, args }]);
  await bridge.start({ ...Object.fromEntries(definitions), everything: EVERYTHING });
  let isGood = true;
  for (const revision of revisions) isGood = (await checkRevision(workspace, programs, bridge, revision)) && isGood;
  await printSharing(bridge);
  const tools = await new Inspector(workspace, programs).check(bridge.connectArgs('everything'));
  console.log(`The inspector has seen the same ${tools} tools through connect, and called one.`);
  if (process.argv.length > 2) return isGood;
  const asClient = new ClientScenarios(new Suite(workspace, programs, revisions[0]));
  await asClient.run();
  return isGood && asClient.isGood;
}

const revisions = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(REVISIONS);
const workspace = new Workspace();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => workspace.close().finally(() => process.exit(INTERRUPTED)));

let isGood = false;
try {
  isGood = await check(workspace, revisions);
} catch (error) {
  console.error(`conformance: ${error.message}`);
} finally {
  await workspace.close();
}
process.exit(isGood ? 0 : 1);
