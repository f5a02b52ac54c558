// `make conformance`: runs the official suite, in both revisions, against a server, and against the bridge's own HTTP front with
// that server behind it, and compares every check; has the official inspector look at another server through the bridge; and has the
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
import { processPeer } from './peer.mjs';
import { Report } from './report.mjs';
import { Suite } from './suite.mjs';
import { Workspace } from './workspace.mjs';

/** The servers by their names in the bridge: how each is started. */
const SERVERS = {
  'era-2025': [fileURLToPath(new URL('server/main.mjs', import.meta.url))],
  'era-2026': [fileURLToPath(new URL('server/era-2026.mjs', import.meta.url))],
};
/** Revisions, with the server of the same era, and what speaks HTTP for that server where there is no bridge. */
const REVISIONS = {
  '2025-11-25': { server: 'era-2025', other: 'era-2026', Front: HttpFront },
  '2026-07-28': { server: 'era-2026', other: 'era-2025', Front: HttpFront2026 },
};
/** Suites at once, all on one process of the server. */
const NEIGHBOURS = 4;
const INTERRUPTED = 130;

/** `connect` as a server. A bridge does not start another one, so it is not told that this is one. */
const connecting = (args) => ({
  ...{ command: 'sh', args: ['-c', 'unset MCP_BRIDGE_DEPTH; exec $CONNECT'] },
  env: { CONNECT: [process.execPath, ...args].join(' ') },
});

/** Runs the suite against a server without the bridge. The server speaks lines, so a front of the tests stands before it. */
async function runDirect(suite, Front, openPeer) {
  const front = await Front.open(openPeer);
  try {
    return await suite.run(front.url);
  } finally {
    await front.close();
  }
}

/** Whom the suite asks in each column, and how often at once. Behind the second bridge is `connect`, which asks the first one. */
function placesOf(workspace, { bridge, beforeConnect }, { server, other, Front }) {
  const overHttp = (suite) => suite.run(bridge.url(server));
  return [
    {
      name: 'direct',
      times: 1,
      run: (suite) => runDirect(suite, Front, () => processPeer(workspace, SERVERS[server])),
    },
    { name: 'bridge', times: 1, run: overHttp },
    { name: 'connect', times: 1, run: (suite) => suite.run(beforeConnect.url(server)) },
    { name: 'shared', times: NEIGHBOURS, run: overHttp },
    { name: other, times: 1, crosses: true, run: (suite) => suite.run(bridge.url(other)) },
  ];
}

async function runEverywhere(suite, revision, places) {
  const columns = [];
  for (const { name, times, run, crosses = false } of places) {
    console.log(`Running the suite of ${revision}: ${name}${times > 1 ? `, ${times} times at once` : ''}`);
    const runs = await Promise.all(Array.from({ length: times }, () => run(suite)));
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

async function checkRevision(workspace, programs, bridges, revision) {
  const suite = new Suite(workspace, programs, revision);
  const columns = await runEverywhere(suite, revision, placesOf(workspace, bridges, REVISIONS[revision]));
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
  const beforeConnect = new Bridge(workspace, 'c');
  await beforeConnect.start(
    Object.fromEntries(Object.keys(SERVERS).map((name) => [name, connecting(bridge.connectArgs(name))])),
  );
  let isGood = true;
  for (const revision of revisions)
    isGood = (await checkRevision(workspace, programs, { bridge, beforeConnect }, revision)) && isGood;
  await printSharing(bridge);
  const inspector = new Inspector(workspace, programs);
  const tools = await inspector.check(bridge.connectArgs('everything'));
  console.log(`The inspector has seen the same ${tools} tools through connect, and called one.`);
  const eras = await inspector.checkOverHttp(Object.keys(SERVERS).map((server) => bridge.url(server)));
  console.log(`It has listed and called tools of servers of both eras over HTTP, as a client of ${eras.join(', ')}.`);
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
