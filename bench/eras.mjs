// Theme: clients and servers of both eras, each with each. What counts is what it costs to translate: a call across eras
// against one within the era of the client, and against one within that of 2025, round by round.
import { median, medianRatio, shuffled } from './statistics.mjs';
import { ECHO_CONFIG, startDaemon, VIEW } from './subjects.mjs';
import { atMost } from './target.mjs';
import { Worker } from './worker.mjs';

const MIB = 1024 * 1024;
const DEADLINE_MS = 30_000;

const CELLS = [
  { name: '100 B 8×16', bytes: 100, clients: 8, window: 16, calls: 40_000 },
  { name: '1 MiB 8×2', bytes: MIB, clients: 8, window: 2, calls: 96 },
];
const ERAS = ['2025', '2026'];
const PAIRS = ERAS.flatMap((client) => ERAS.map((server) => ({ client, server })));

export async function measureEras(workspace, { rounds, isQuick }) {
  const servers = Object.fromEntries(ERAS.map((era) => [`echo${era}`, { ...ECHO_CONFIG, env: { ERA: era } }]));
  const daemon = await startDaemon(workspace, { servers });
  const load = new Worker(workspace, 'load-generator.mjs');
  const cells = isQuick ? CELLS.map((cell) => ({ ...cell, calls: cell.calls / 2 })) : CELLS;
  const series = cells.flatMap((cell) => PAIRS.map((pair) => ({ cell, ...pair, results: [] })));
  // The round before the first warms up.
  for (let round = -1; round < rounds; round++)
    for (const { cell, client, server, results } of shuffled(series)) {
      const { name: _, ...order } = cell;
      const meta = { ...VIEW, 'mcp-bridge/view': `server:echo${server}` };
      const to = { target: { unix: daemon.path }, watch: [daemon.pid], meta, profile: { era: client } };
      const result = await load.order({ ...order, ...to, deadlineMs: DEADLINE_MS });
      if (round >= 0 || result.faults > 0) results.push(result);
    }
  await load.end(workspace);
  return theme(series, rounds);
}

function theme(series, rounds) {
  return {
    title: 'Both eras',
    notes: [
      `Medians of ${rounds} interleaved rounds, in the view server:NAME. CPU is that of the daemon, a call. A client of 2026 says ` +
        'who it is in each request: some 200 bytes more.',
    ],
    columns: [
      'size, clients × in flight',
      'client',
      'server',
      'calls/s',
      'CPU µs',
      'CPU / within its era',
      'CPU / both 2025',
    ],
    rows: series.map((one) => rowOf(series, one)),
    targets: CELLS.flatMap(({ name, bytes }) => targetsOf(series, name, bytes === MIB ? 1.1 : 1.3)),
    faults: series.flatMap(({ cell, client, server, results }) =>
      results
        .filter(({ faults }) => faults > 0)
        .map(({ firstFault }) => `${cell.name}, client of ${client}, server of ${server}: ${firstFault}`),
    ),
    raw: series.map(({ cell, client, server, results }) => ({ cell: cell.name, client, server, results })),
  };
}

function ratio(series, one, client, server) {
  const other = series.find(
    ({ cell, ...pair }) => cell === one.cell && pair.client === client && pair.server === server,
  );
  const cpu = ({ results }) => results.map(({ cpuUsPerCall }) => cpuUsPerCall ?? Number.NaN);
  return medianRatio(cpu(one), cpu(other));
}

function rowOf(series, one) {
  const { cell, client, server, results } = one;
  const typical = (key) => median(results.map((result) => result[key] ?? Number.NaN));
  const ratios = [ratio(series, one, client, client), ratio(series, one, '2025', '2025')];
  return [cell.name, client, server, typical('callsPerSecond'), typical('cpuUsPerCall'), ...ratios];
}

function targetsOf(series, cell, limit) {
  const of = (client, server) =>
    series.find((one) => one.cell.name === cell && one.client === client && one.server === server);
  return [
    ['2026', '2025'],
    ['2025', '2026'],
  ].map(([client, server]) =>
    atMost(
      `CPU a call, client of ${client} and server of ${server} / within the client's era, ${cell}`,
      ratio(series, of(client, server), client, client),
      limit,
    ),
  );
}
