// Theme: what it costs a call that somebody may watch, watches, or traces. All subjects are daemons of one build under the same
// load of 50,000 calls a second; what counts is the CPU of a daemon, a call, against that of the daemon that nobody watches.
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { median, medianRatio, shuffled } from './statistics.mjs';
import { startDaemon, VIEW } from './subjects.mjs';
import { atMost } from './target.mjs';
import { Worker } from './worker.mjs';
import { program } from './workspace.mjs';

const DEADLINE_MS = 30_000;
const CELLS = {
  // What counts for each: a steady load, and as much as there is room for.
  steady: { bytes: 100, clients: 8, window: 64, calls: 50_000, callsPerSecond: 50_000 },
  full: { bytes: 100, clients: 8, window: 16, calls: 100_000 },
};
const CELL_TITLES = { steady: '50,000 calls/s', full: '8×16, as fast as it goes' };

/** The events of a call that nobody hears while nobody watches. Counters and meters hear the others. */
const UNHEARD = [
  ...['requestBegun', 'toolWanted', 'toolTaken', 'toolAimed', 'toolLookedUp', 'callBegun', 'callRouted', 'callWaiting'],
  ...['callProgressed', 'callAnswered', 'callAnsweredHere', 'callSuspended', 'callContinued', 'callFailed'],
  ...['callGivenUp', 'callEnded'],
];

/** The same build without these events: what they cost is what it saves. */
export function silentBuild(workspace) {
  const dir = workspace.copyOfBuild();
  const file = join(dir, 'daemon.cjs');
  const told = new RegExp(`[\\w$#.]+\\.(?:${UNHEARD.join('|')})\\.tell\\(`, 'g');
  const before = readFileSync(file, 'utf8');
  const after = before.replace(told, 'void(');
  const count = before.match(told)?.length ?? 0;
  if (count < UNHEARD.length) throw new Error(`only ${count} events were found in the build`);
  writeFileSync(file, after);
  return dir;
}

async function said(child) {
  const [chunk] = await once(child.stdout, 'data');
  return chunk.toString().trim();
}

const TITLES = {
  silent: 'without the events of calls',
  plain: 'nobody watches',
  watched: 'an open page',
  metrics: 'metrics, no traces',
  traced: 'metrics, and 1 % of the traces',
};

async function startSubjects(workspace) {
  const piped = { stdio: ['ignore', 'pipe', 'inherit'] };
  const sink = workspace.spawn(process.execPath, [program('otlp-sink.mjs')], piped);
  const otlp = { endpoint: `http://127.0.0.1:${await said(sink)}` };
  const daemons = {
    silent: await startDaemon(workspace, { build: silentBuild(workspace) }),
    plain: await startDaemon(workspace),
    watched: await startDaemon(workspace),
    metrics: await startDaemon(workspace, { settings: { telemetry: { otlp, traces: false } } }),
    traced: await startDaemon(workspace, { settings: { telemetry: { otlp, sampling: 0.01 } } }),
  };
  const watcher = workspace.spawn(process.execPath, [program('watcher.mjs'), daemons.watched.path], piped);
  await said(watcher);
  return daemons;
}

export async function measureWatching(workspace, { rounds, isQuick }) {
  const daemons = await startSubjects(workspace);
  const load = new Worker(workspace, 'load-generator.mjs');
  const series = Object.entries(CELLS).flatMap(([load, cell]) =>
    Object.entries(daemons).map(([subject, daemon]) => ({ load, cell, subject, daemon, results: [] })),
  );
  // One per cent is less than what one round differs from the next by, so there are more of them.
  const all = rounds * 2 + 1;
  for (let round = -1; round < all; round++)
    for (const { cell, daemon, results } of shuffled(series)) {
      const to = { target: { unix: daemon.path }, watch: [daemon.pid], meta: VIEW };
      const calls = isQuick ? cell.calls / 2 : cell.calls;
      const result = await load.order({ ...cell, calls, ...to, deadlineMs: DEADLINE_MS });
      if (round >= 0 || result.faults > 0) results.push(result);
    }
  await load.end(workspace);
  return theme(series, all);
}

function theme(series, rounds) {
  const cpu = (load, name) =>
    series
      .find((one) => one.load === load && one.subject === name)
      .results.map(({ cpuUsPerCall }) => cpuUsPerCall ?? Number.NaN);
  const ratio = (load, above, below) => medianRatio(cpu(load, above), cpu(load, below));
  const typical = ({ results }, key) => median(results.map((result) => result[key] ?? Number.NaN));
  return {
    title: 'Watched and traced',
    notes: [
      `Medians of ${rounds} interleaved rounds of 100 B with 8 clients. CPU is that of the daemon, a call. ` +
        'The open page has four batches a second, with at most 100 calls of a second in them; the rest is counted.',
    ],
    columns: ['load', 'the daemon', 'calls/s', 'p50 µs', 'CPU µs', 'CPU / nobody watches'],
    rows: series.map((one) => [
      ...[CELL_TITLES[one.load], TITLES[one.subject]],
      ...['callsPerSecond', 'p50', 'cpuUsPerCall'].map((key) => typical(one, key)),
      ratio(one.load, one.subject, 'plain'),
    ]),
    targets: [
      atMost('CPU a call, nobody watches / without the events of calls, 8×16', ratio('full', 'plain', 'silent'), 1.01),
      atMost('CPU a call, an open page / nobody watches, 50,000 calls/s', ratio('steady', 'watched', 'plain'), 1.15),
      atMost('CPU a call, 1 % of the traces / nobody watches, 50,000 calls/s', ratio('steady', 'traced', 'plain'), 1.1),
      atMost('CPU a call, 1 % of the traces / nobody watches, 8×16', ratio('full', 'traced', 'plain'), 1.1),
    ],
    faults: series.flatMap(({ load, subject, results }) =>
      results.filter(({ faults }) => faults > 0).map(({ firstFault }) => `${load}, ${subject}: ${firstFault}`),
    ),
    raw: series.map(({ load, subject, results }) => ({ load, subject, results })),
  };
}
