// Theme: one call at a time, with everything on one core. On several, the time depends on which cores the processes
// happen to run on, more than on what they do.
import { execFileSync } from 'node:child_process';
import { median, shuffled } from './statistics.mjs';
import { SUBJECT_TITLES, startSubjects } from './subjects.mjs';
import { atMost } from './target.mjs';
import { Worker } from './worker.mjs';

const ON_ONE_CORE = ['taskset', '-c', '0'];
const ORDER = { bytes: 100, clients: 1, window: 1, deadlineMs: 30_000 };
/** Enough for a process that has only just started to run compiled code, as one of some minutes does. */
const WARM_UP_CALLS = 6000;

function hasTaskset() {
  try {
    const [command, ...args] = ON_ONE_CORE;
    execFileSync(command, [...args, 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false; // Not Linux, or not installed.
  }
}

export async function measureLatency(workspace, { rounds, isQuick }) {
  const isPinned = hasTaskset();
  const prefix = isPinned ? ON_ONE_CORE : [];
  const subjects = await startSubjects(workspace, prefix);
  const load = new Worker(workspace, 'load-generator.mjs', prefix);
  const calls = isQuick ? 2000 : 6000;
  const results = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const name of shuffled(Object.keys(subjects))) {
      const result = await load.order({ ...ORDER, calls, warmUpCalls: WARM_UP_CALLS, ...subjects[name] });
      if (round >= 0 || result.faults > 0) results[name].push(result);
    }
  }
  await load.end(workspace);
  return theme(results, { isPinned, rounds });
}

function theme(results, { isPinned, rounds }) {
  const names = Object.keys(results);
  const ratios = ratiosOf(names.map((name) => [name, results[name].map(({ p50 }) => p50)]));
  const row = (name) => {
    const typical = (key) => median(results[name].map((result) => result[key] ?? Number.NaN));
    return [
      SUBJECT_TITLES[name],
      typical('p50'),
      typical('p99'),
      typical('cpuUsPerCall'),
      ratios.toLimit(name),
      ratios.added(name),
    ];
  };
  return {
    title: 'One call at a time',
    notes: [
      `100 B, medians of ${rounds} interleaved rounds, ${isPinned ? 'everything on one core' : 'NOT on one core, as there is no taskset'}.`,
    ],
    columns: ['subject', 'p50 µs', 'p99 µs', 'CPU µs', 'p50 / limit', 'p50 added to direct, µs'],
    rows: names.map(row),
    targets: [
      atMost('p50 alone, bridge over the socket / limit-mux', ratios.toLimit('socket'), 1.25),
      atMost(
        'what `connect` adds to direct stdio / what the socket adds',
        ratios.added('connect') / ratios.added('socket'),
        2,
      ),
    ],
    faults: names.flatMap((name) =>
      results[name].filter(({ faults }) => faults > 0).map(({ firstFault }) => `one at a time, ${name}: ${firstFault}`),
    ),
    raw: results,
  };
}

function ratiosOf(entries) {
  const p50s = Object.fromEntries(entries);
  const perRound = (name, combine) => median(p50s[name].map((p50, round) => combine(p50, round)));
  return {
    toLimit: (name) => perRound(name, (p50, round) => p50 / p50s.limit[round]),
    added: (name) => perRound(name, (p50, round) => p50 - p50s.direct[round]),
  };
}
