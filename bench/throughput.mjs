// Theme: many calls at once. Each cell is one size and number of clients; in each round every subject does every cell,
// in random order. What counts is the ratio to the limit, round by round.
import { median, medianRatio, shuffled } from './statistics.mjs';
import { SUBJECT_TITLES, startSubjects } from './subjects.mjs';
import { atLeast, atMost } from './target.mjs';
import { Worker } from './worker.mjs';

const KIB = 1024;
const MIB = 1024 * KIB;
const DEADLINE_MS = 30_000;
const SHARED = ['limit', 'socket', 'all', 'execute'];
const ALL = ['direct', 'relay', ...SHARED, 'connect'];

// `direct`, `relay` and `connect` have a process for each client, so they stop at 8. 256 clients with 1 MiB each would
// measure the memory of the machine. `window` is how many calls each client has under way.
const CELLS = [
  { name: '100 B 1×1', bytes: 100, clients: 1, window: 1, calls: 3000, subjects: ALL },
  { name: '100 B 8×16', bytes: 100, clients: 8, window: 16, calls: 40_000, subjects: ALL },
  { name: '100 B 64×4', bytes: 100, clients: 64, window: 4, calls: 30_000, subjects: SHARED },
  { name: '100 B 256×2', bytes: 100, clients: 256, window: 2, calls: 30_000, subjects: SHARED },
  { name: '64 KiB 1×1', bytes: 64 * KIB, clients: 1, window: 1, calls: 400, subjects: ALL },
  { name: '64 KiB 8×4', bytes: 64 * KIB, clients: 8, window: 4, calls: 1200, subjects: ALL },
  { name: '64 KiB 64×1', bytes: 64 * KIB, clients: 64, window: 1, calls: 1200, subjects: SHARED },
  { name: '64 KiB 256×1', bytes: 64 * KIB, clients: 256, window: 1, calls: 1200, subjects: SHARED },
  { name: '1 MiB 1×1', bytes: MIB, clients: 1, window: 1, calls: 40, subjects: ALL },
  { name: '1 MiB 8×2', bytes: MIB, clients: 8, window: 2, calls: 96, subjects: ALL },
  { name: '1 MiB 64×1', bytes: MIB, clients: 64, window: 1, calls: 96, subjects: SHARED },
  {
    name: '1 MiB 8×2, no escapes',
    bytes: MIB,
    clients: 8,
    window: 2,
    calls: 96,
    kind: 'plain',
    subjects: ['relay', ...SHARED],
  },
];
const QUICK_CELLS = ['100 B 8×16', '64 KiB 8×4', '1 MiB 8×2'];
const QUICK_SUBJECTS = ['relay', ...SHARED, 'connect'];

function cellsOf(isQuick) {
  if (!isQuick) return CELLS;
  return CELLS.filter(({ name }) => QUICK_CELLS.includes(name)).map((cell) => ({
    ...cell,
    calls: cell.calls / 2,
    subjects: QUICK_SUBJECTS,
  }));
}

export async function measureThroughput(workspace, { rounds, isQuick }) {
  const subjects = await startSubjects(workspace);
  const load = new Worker(workspace, 'load-generator.mjs');
  const series = cellsOf(isQuick).flatMap((cell) => cell.subjects.map((subject) => ({ cell, subject, results: [] })));
  // The round before the first warms all subjects up.
  for (let round = -1; round < rounds; round++) {
    for (const { cell, subject, results } of shuffled(series)) {
      const { name, subjects: _, ...order } = cell;
      const result = await load.order({ ...order, ...subjects[subject], deadlineMs: DEADLINE_MS });
      if (round >= 0 || result.faults > 0) results.push(result);
    }
  }
  await load.end(workspace);
  return theme(series, rounds);
}

function theme(series, rounds) {
  return {
    title: 'Many calls at once',
    notes: [
      `Medians of ${rounds} interleaved rounds. CPU is that of what stands between clients and server, a call; ` +
        'the last columns are medians of the ratios of each round.',
      'direct stdio, relay and connect have a process for each client and are measured up to 8 clients; ' +
        '1 MiB with 256 clients is left out. Texts are like code, with an escape every few bytes, where nothing else is said.',
    ],
    columns: [
      'size, clients × in flight',
      'subject',
      'calls/s',
      'p50 µs',
      'p99 µs',
      'CPU µs',
      'CPU / relay',
      'CPU / limit',
      'calls/s / limit',
    ],
    rows: series.map((one) => rowOf(series, one)),
    targets: targetsOf(series),
    faults: series.flatMap(({ cell, subject, results }) =>
      results.filter(({ faults }) => faults > 0).map(({ firstFault }) => `${cell.name}, ${subject}: ${firstFault}`),
    ),
    raw: series.map(({ cell, subject, results }) => ({ cell: cell.name, subject, results })),
  };
}

const seriesOf = (series, cell, subject) => series.find((one) => one.cell.name === cell && one.subject === subject);

function ratio(series, { cell, subject, key, to }) {
  const [above, below] = [subject, to].map((name) => seriesOf(series, cell, name));
  if (above === undefined || below === undefined) return Number.NaN;
  return medianRatio(
    above.results.map((result) => result[key] ?? Number.NaN),
    below.results.map((result) => result[key] ?? Number.NaN),
  );
}

function rowOf(series, { cell, subject, results }) {
  const typical = (key) => median(results.map((result) => result[key] ?? Number.NaN));
  const ratioTo = (to, key) => ratio(series, { cell: cell.name, subject, key, to });
  return [
    ...[cell.name, SUBJECT_TITLES[subject]],
    ...['callsPerSecond', 'p50', 'p99', 'cpuUsPerCall'].map(typical),
    ...[ratioTo('relay', 'cpuUsPerCall'), ratioTo('limit', 'cpuUsPerCall'), ratioTo('limit', 'callsPerSecond')],
  ];
}

function targetsOf(series) {
  const toLimit = (cell, key) => ratio(series, { cell, subject: 'socket', key, to: 'limit' });
  const cpu = (cell, limit) => atMost(`CPU a call, bridge / limit-mux, ${cell}`, toLimit(cell, 'cpuUsPerCall'), limit);
  const toSocket = (what, subject, cell, limit) => {
    const figure = ratio(series, { cell, subject, key: 'cpuUsPerCall', to: 'socket' });
    return atMost(`CPU a call, ${what} / server:NAME, ${cell}`, figure, limit);
  };
  const all = (cell) => toSocket('view all', 'all', cell, 1.3);
  const execute = (cell, limit) => toSocket('execute_tool', 'execute', cell, limit);
  /** The relays of all clients together, without the daemon, against one relay for all clients. */
  const ownOfConnect = (cell, limit) => {
    const [connect, relay] = ['connect', 'relay'].map((subject) => seriesOf(series, cell, subject));
    const figure =
      connect === undefined || relay === undefined
        ? Number.NaN
        : medianRatio(
            connect.results.map(({ spawnedCpuUsPerCall }) => spawnedCpuUsPerCall ?? Number.NaN),
            relay.results.map(({ cpuUsPerCall }) => cpuUsPerCall ?? Number.NaN),
          );
    return atMost(`CPU a call, connect itself / relay, ${cell}`, figure, limit);
  };
  const calls = (cell) => atLeast(`calls/s, bridge / limit-mux, ${cell}`, toLimit(cell, 'callsPerSecond'), 0.8);
  return [
    ...[cpu('100 B 8×16', 1.35), cpu('64 KiB 8×4', 1.25), cpu('1 MiB 8×2', 1.25)],
    ...[calls('100 B 8×16'), calls('64 KiB 8×4'), calls('1 MiB 8×2')],
    ...[all('100 B 8×16'), all('64 KiB 8×4')],
    ...[execute('100 B 8×16', 1.5), execute('1 MiB 8×2', 1.3)],
    ...[ownOfConnect('100 B 8×16', 3), ownOfConnect('64 KiB 8×4', 1.5), ownOfConnect('1 MiB 8×2', 1.5)],
  ];
}
