// The bridge beside other gateways, in one run and before the same server: speed, memory, processes, and what is left
// when the server is killed.
//   node bench/peers.mjs [--rounds N] [--build DIR] [--json FILE]
// It fails when the bridge gave a wrong answer or did not survive, and never because of what another gateway did.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { installPeers } from './peer-packages.mjs';
import { SUBJECTS } from './peer-subjects.mjs';
import { printTheme } from './report.mjs';
import { median, medianRatio, shuffled } from './statistics.mjs';
import { Worker } from './worker.mjs';
import { program, Workspace } from './workspace.mjs';

const OURS = 'mcp-bridge, socket';
const ALONE = { bytes: 100, clients: 1, window: 1, calls: 1000, warmUpCalls: 500, deadlineMs: 25_000 };
const WIDE = { bytes: 100, clients: 8, window: 16, deadlineMs: 25_000 };
const CRASH = { clients: 8, window: 4 };
const INTERRUPTED = 130;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    build: { type: 'string', default: program('../dist') },
    json: { type: 'string' },
  },
});
const rounds = Number(options.rounds);
const names = Object.keys(SUBJECTS);

/** Resolves to { alone: [...], wide: [...] } of each subject, all of which run all the time. */
async function measureSpeed(workspace) {
  const load = new Worker(workspace, 'load-generator.mjs');
  const started = {};
  for (const name of names) started[name] = await SUBJECTS[name].start(workspace);
  const results = Object.fromEntries(names.map((name) => [name, { alone: [], wide: [] }]));
  for (let round = -1; round < rounds; round++) {
    for (const name of shuffled(names)) {
      const measured = await measureOne(load, { ...started[name].order, calls: SUBJECTS[name].calls });
      for (const kind of ['alone', 'wide'])
        if (round >= 0 || measured[kind].faults > 0) results[name][kind].push(measured[kind]);
    }
  }
  await load.end(workspace);
  for (const name of names) await workspace.end(started[name].child);
  return results;
}

async function measureOne(load, order) {
  const alone = await load.order({ ...order, ...ALONE });
  const wide = await load.order({ ...order, ...WIDE });
  return { alone, wide };
}

async function measureCrash(workspace, name) {
  const { order, child } = await SUBJECTS[name].start(workspace);
  const clients = new Worker(workspace, 'crash-clients.mjs');
  const result = await clients.order({ ...order, ...CRASH });
  await clients.end(workspace);
  const isRunning = child.exitCode === null && child.signalCode === null;
  await workspace.end(child);
  return { ...result, isRunning };
}

const isRight = (results) => results.every(({ faults }) => faults === 0);

function speedTheme(results) {
  return {
    title: 'Beside other gateways',
    notes: [
      `100 B, medians of ${rounds} interleaved rounds. p50 with one client and one call at a time, all else with 8 clients ` +
        'with 16 calls under way each. CPU is that of what stands in the middle; memory is the PSS of that and of the servers.',
    ],
    columns: [
      ...['gateway', 'p50 µs, alone', 'calls/s', 'bridge / it', 'CPU µs', 'it / bridge', 'servers', 'PSS MiB'],
      ...['it / bridge', 'answers'],
    ],
    rows: names.map((name) => speedRow(results, name)),
    targets: [],
    faults: faultsOf(results),
    raw: results,
  };
}

/** No speed is said of one whose answers were wrong. */
function speedRow(results, name) {
  const { alone, wide } = results[name];
  const valuesOf = (list, key) => list.map((one) => (isRight(list) ? one[key] : Number.NaN));
  const ours = (key) => valuesOf(results[OURS].wide, key);
  const its = (key) => valuesOf(wide, key);
  return [
    ...[name, median(valuesOf(alone, 'p50'))],
    ...[median(its('callsPerSecond')), medianRatio(ours('callsPerSecond'), its('callsPerSecond'))],
    ...[median(its('cpuUsPerCall')), medianRatio(its('cpuUsPerCall'), ours('cpuUsPerCall'))],
    ...[String(median(wide.map(({ servers }) => servers))), median(its('pssMib'))],
    ...[medianRatio(its('pssMib'), ours('pssMib')), isRight(wide) ? 'right' : 'WRONG'],
  ];
}

const ourNames = names.filter((name) => name.startsWith('mcp-bridge'));

function faultsOf(results) {
  const all = ourNames.flatMap((name) => [...results[name].alone, ...results[name].wide]);
  return all.filter(({ faults }) => faults > 0).map(({ firstFault }) => `mcp-bridge: ${firstFault}`);
}

function crashTheme(results) {
  return {
    title: 'When the server is killed',
    notes: [`${CRASH.clients} clients with ${CRASH.window} calls under way each; all servers are killed at once.`],
    columns: ['gateway', 'killed', 'error', 'cut off', 'wrong', 'nothing in 5 s', 'later calls'],
    rows: names.map((name) => crashRow(name, results[name])),
    targets: [],
    faults: ourNames.filter((name) => !isSurvived(results[name])).map((name) => `${name}: see the table`),
    raw: results,
  };
}

/** Every call got an error, and later ones work again. */
const isSurvived = ({ fault, underWay, backMs }) =>
  fault === undefined && underWay.refused === CRASH.clients * CRASH.window && backMs !== null;

function crashRow(name, { fault, killed, underWay, ...after }) {
  if (fault !== undefined) return [name, '–', '–', '–', '–', '–', `not measured: ${fault}`];
  const counts = [underWay.refused, underWay.lost, underWay.wrong + underWay.right, underWay.never];
  return [name, String(killed), ...counts.map(String), laterCalls(after)];
}

function laterCalls({ backMs, servesNew, isRunning }) {
  if (backMs !== null) return `work again after ${(backMs / 1000).toFixed(1)} s`;
  if (servesNew) return 'fail until the client connects again';
  return isRunning ? 'fail, also for new clients' : 'fail: the gateway has ended';
}

async function measureAll(workspace) {
  const speed = speedTheme(await measureSpeed(workspace));
  printTheme(speed);
  const crashes = {};
  for (const name of names) crashes[name] = await measureCrash(workspace, name);
  const crash = crashTheme(crashes);
  printTheme(crash);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify([speed, crash], undefined, 2)}\n`);
  return speed.faults.length + crash.faults.length === 0 ? 0 : 1;
}

installPeers();
const workspace = new Workspace(options.build);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => workspace.close().finally(() => process.exit(INTERRUPTED)));

let exitCode = 1;
try {
  exitCode = await measureAll(workspace);
} catch (error) {
  console.error(`bench: ${error.message}`);
} finally {
  await workspace.close();
}
process.exit(exitCode);
