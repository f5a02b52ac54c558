// Theme: clients over HTTP, with connections that are kept alive. What counts is the CPU of a call against that of a relay of bytes
// over node:http, and against gateways that speak the same transport, round by round. They are left out where they are not installed:
// `make bench-peers` installs them.
import { untilAccepting } from './accepting.mjs';
import { arePeersInstalled, titleOf } from './peer-packages.mjs';
import { freePort, SUBJECTS } from './peer-subjects.mjs';
import { median, medianRatio, shuffled } from './statistics.mjs';
import { ECHO_CONFIG, startDaemon } from './subjects.mjs';
import { atLeast, atMost } from './target.mjs';
import { Worker } from './worker.mjs';
import { program } from './workspace.mjs';

const HOST = '127.0.0.1';
const KIB = 1024;
const DEADLINE_MS = 60_000;
const CELLS = [
  { name: '100 B 8×16', bytes: 100, clients: 8, window: 16, calls: 16_000 },
  { name: '64 KiB 8×4', bytes: 64 * KIB, clients: 8, window: 4, calls: 2000 },
  { name: '1 MiB 8×2', bytes: KIB * KIB, clients: 8, window: 2, calls: 96 },
];
const PEERS = ['mcp-proxy', 'supergateway'].map((name) => `${titleOf(name)}, Streamable HTTP`);
const [BRIDGE, RELAY] = ['mcp-bridge', 'relay over node:http'];
/** Of a short call, against a peer. */
const PEER_CALLS = 2000;

async function startBridge(workspace) {
  const port = await freePort();
  const http = { listen: `${HOST}:${port}`, tokens: false };
  const daemon = await startDaemon(workspace, { settings: { http } });
  await untilAccepting({ host: HOST, port }, daemon.child);
  return { target: { http: `http://${HOST}:${port}/mcp/server/echo` }, watch: [daemon.pid] };
}

async function startRelay(workspace) {
  const port = await freePort();
  const { command, args } = ECHO_CONFIG;
  const child = workspace.spawn(process.execPath, [program('http-relay.mjs'), String(port), command, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await untilAccepting({ host: HOST, port }, child);
  return { target: { http: `http://${HOST}:${port}/mcp` }, root: child.pid };
}

/** The subjects by their names, each with what an order for it has. */
async function startAll(workspace) {
  const subjects = { [BRIDGE]: await startBridge(workspace), [RELAY]: await startRelay(workspace) };
  if (arePeersInstalled()) for (const name of PEERS) subjects[name] = (await SUBJECTS[name].start(workspace)).order;
  return subjects;
}

export async function measureHttp(workspace, { rounds, isQuick }) {
  const subjects = await startAll(workspace);
  const load = new Worker(workspace, 'load-generator.mjs');
  const cells = isQuick ? CELLS.map((cell) => ({ ...cell, calls: cell.calls / 2 })) : CELLS;
  const series = cells.flatMap((cell, i) =>
    Object.keys(subjects)
      .filter((subject) => i === 0 || !PEERS.includes(subject))
      .map((subject) => ({ cell, subject, results: [] })),
  );
  // The round before the first warms up.
  for (let round = -1; round < rounds; round++)
    for (const { cell, subject, results } of shuffled(series)) {
      const { name: _, ...order } = cell;
      const calls = PEERS.includes(subject) ? PEER_CALLS : cell.calls;
      const result = await load.order({ ...order, ...subjects[subject], calls, deadlineMs: DEADLINE_MS });
      if (round >= 0 || result.faults > 0) results.push(result);
    }
  await load.end(workspace);
  return theme(series, rounds);
}

function theme(series, rounds) {
  return {
    title: 'Over HTTP',
    notes: [
      `Medians of ${rounds} interleaved rounds, connections kept alive, one server of lines behind each. CPU is that of what stands in ` +
        'the middle, a call.',
    ],
    columns: ['size, clients × in flight', 'subject', 'calls/s', 'CPU µs', 'CPU / relay'],
    rows: series.map((one) => {
      const typical = (key) => median(one.results.map((result) => result[key] ?? Number.NaN));
      return [
        ...[one.cell.name, one.subject, typical('callsPerSecond'), typical('cpuUsPerCall')],
        ratio(series, one, RELAY, 'cpuUsPerCall'),
      ];
    }),
    targets: targetsOf(series),
    faults: series.flatMap(({ cell, subject, results }) =>
      results.filter(({ faults }) => faults > 0).map(({ firstFault }) => `${cell.name}, ${subject}: ${firstFault}`),
    ),
    raw: series.map(({ cell, subject, results }) => ({ cell: cell.name, subject, results })),
  };
}

/** A figure of this series over that of another subject with the same calls. */
function ratio(series, one, subject, key) {
  const other = series.find((found) => found.cell === one.cell && found.subject === subject);
  const values = ({ results }) => results.map((result) => result[key] ?? Number.NaN);
  return medianRatio(values(one), values(other));
}

function targetsOf(series) {
  const ours = series.filter(({ subject }) => subject === BRIDGE);
  const [short] = ours;
  const peers = PEERS.filter((name) => series.some(({ subject }) => subject === name));
  return [
    ...ours.map((one) =>
      atMost(
        `CPU a call over HTTP / relay, ${one.cell.name}`,
        ratio(series, one, RELAY, 'cpuUsPerCall'),
        one === short ? 3 : 1.5,
      ),
    ),
    ...peers.flatMap((name) => [
      atLeast(`calls/s over HTTP / ${name}, 100 B`, ratio(series, short, name, 'callsPerSecond'), 5),
      atMost(`CPU a call over HTTP / ${name}, 100 B`, ratio(series, short, name, 'cpuUsPerCall'), 0.2),
    ]),
  ];
}
