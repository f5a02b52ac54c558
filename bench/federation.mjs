// Theme: calls to a server of another host, over three nats-servers in one cluster. The home's daemon is on the first, the owner's on the second; a
// bare requester and a bare answerer are on the same two. What counts are ratios of one round. What bare NATS and a local call cost in the same round
// says how much of a figure is the bridge's.
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startCluster } from './nats-cluster.mjs';
import { cpuNs, privateKib } from './process-figures.mjs';
import { RawClient, Tally } from './raw-client.mjs';
import { sampleTexts } from './sample-text.mjs';
import { median, medianRatio, shuffled } from './statistics.mjs';
import { ECHO_CONFIG, startDaemon } from './subjects.mjs';
import { atLeast, atMost } from './target.mjs';
import { Worker } from './worker.mjs';
import { program } from './workspace.mjs';

const DEADLINE_MS = 60_000;
const MIB = 1024 * 1024;
const PATIENCE_MS = 30_000;
/** A text in JSON is longer than the text: this is what the message has beside its few other members. */
const ECHO_JSON_BYTES = Buffer.byteLength(sampleTexts('code', MIB)('1:').json);
/** Each sixteenth character of the server's text has an escape. */
const ANSWER_JSON_BYTES = MIB + MIB / 16;
/** A call that is remote, one that is local, and bare request and reply, each in these shapes. */
const CELLS = {
  alone: { title: '100 B, one at a time', bytes: 100, clients: 1, window: 1, calls: 3000 },
  many: { title: '100 B, 64 in flight', bytes: 100, clients: 1, window: 64, calls: 12_000 },
  answer: {
    title: '1 MiB in the answer',
    bytes: MIB,
    kib: 1024,
    window: 1,
    calls: 60,
    isChunked: true,
    isAnswer: true,
    jsonBytes: ANSWER_JSON_BYTES,
  },
  echo: {
    title: '1 MiB there and back',
    bytes: MIB,
    clients: 1,
    window: 1,
    calls: 40,
    isChunked: true,
    jsonBytes: ECHO_JSON_BYTES,
  },
};
const TITLES = {
  remote: 'remote call',
  local: 'local call at the owner',
  bare: 'bare NATS',
  bareJson: 'bare NATS, as many bytes as in JSON',
};
const LONG_CELLS = ['answer', 'echo'];
/** Small calls beside large ones: where the small ones go, and where the large ones do. */
const CROWDS = {
  same: { title: 'remote call', small: 'remote', large: 'remote' },
  other: { title: 'remote call, another server', small: 'other', large: 'remote' },
  bare: { title: 'bare NATS', small: 'bare', large: 'bare' },
};
const LARGE = { calls: 25, kib: 4096 };
const SMALL_CALLS = 2000;
const STARTS = 9;
const SETTLE_MS = 1000;

export async function measureFederation(workspace, { rounds, isQuick }) {
  const cluster = await startCluster(workspace);
  if (cluster === undefined) return notMeasured('there is no nats-server: apt-get install nats-server');
  const ground = await startHosts(workspace, cluster);
  const faults = [];
  const cells = await measureCells(workspace, ground, { rounds, isQuick, faults });
  const crowded = await measureCrowded(workspace, ground, { rounds: isQuick ? 3 : 5, faults });
  for (const child of ground.children) await workspace.end(child);
  const without = await measureWithout(workspace, isQuick ? 5 : STARTS);
  return theme({ cells, crowded, without, rounds, faults });
}

function notMeasured(why) {
  return {
    title: 'Other hosts',
    notes: [`Not measured: ${why}.`],
    columns: ['what'],
    rows: [],
    targets: [],
    faults: [],
    raw: {},
  };
}

async function startHosts(workspace, [first, second]) {
  const settings = (url, host, offer) => ({
    federation: { nats: { servers: [url] }, tenant: 'bench', user: 'bench', host, offer },
  });
  const owner = await startDaemon(workspace, {
    settings: settings(second.url, 'owner', ['echo', 'other']),
    servers: { echo: ECHO_CONFIG, other: { ...ECHO_CONFIG, env: { OTHER: '1' } } },
  });
  const home = await startDaemon(workspace, { settings: settings(first.url, 'home', []), servers: {} });
  const answerer = workspace.spawn(process.execPath, [program('bus-load.mjs'), 'answer', second.url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(answerer.stdout, 'data');
  const remote = {
    target: { unix: home.path },
    watch: [home.pid, owner.pid],
    meta: { 'mcp-bridge/view': 'server:echo@owner' },
  };
  const other = { ...remote, meta: { 'mcp-bridge/view': 'server:other@owner' } };
  await untilThere(remote);
  await untilThere(other);
  const local = { target: { unix: owner.path }, watch: [owner.pid], meta: { 'mcp-bridge/view': 'server:echo' } };
  const bare = { url: first.url };
  return { remote, other, local, bare, bareJson: bare, children: [home.child, owner.child, answerer] };
}

/** Until the home knows what the owner offers. */
async function untilThere({ target, meta }) {
  for (const deadline = performance.now() + PATIENCE_MS; ; await delay(100)) {
    const client = new RawClient(target, new Tally());
    const isThere = await client.initialize(meta).then(
      () => true,
      () => false,
    );
    client.close();
    if (isThere) return;
    if (performance.now() > deadline) throw new Error('the home has not heard of the owner');
  }
}

async function measureCells(workspace, ground, { rounds, isQuick, faults }) {
  const load = new Worker(workspace, 'load-generator.mjs');
  const bare = new Worker(workspace, 'bus-load.mjs');
  const answers = new Worker(workspace, 'large-answers.mjs');
  const series = Object.entries(CELLS).flatMap(([name, cell]) =>
    Object.keys(TITLES).flatMap((subject) =>
      subject === 'bareJson' && cell.jsonBytes === undefined ? [] : [{ name, cell, subject, results: [] }],
    ),
  );
  // The round before the first warms up.
  for (let round = -1; round < rounds; round++) {
    for (const { cell, subject, results } of shuffled(series)) {
      const { title, ...order } = { ...cell, calls: isQuick ? cell.calls / 2 : cell.calls, deadlineMs: DEADLINE_MS };
      if (subject === 'bareJson') order.bytes = cell.jsonBytes;
      const worker = ground[subject].url !== undefined ? bare : cell.isAnswer ? answers : load;
      const result = await worker.order({ ...order, ...ground[subject] });
      if (result.faults > 0) faults.push(`${title}, ${subject}: ${result.firstFault}`);
      else if (round >= 0) results.push(result);
    }
  }
  await load.end(workspace);
  await bare.end(workspace);
  await answers.end(workspace);
  return series;
}

/** Small calls by themselves, and beside 100 MB in answers of another client: over the bridge, and over NATS alone. */
async function measureCrowded(workspace, ground, { rounds, faults }) {
  const load = new Worker(workspace, 'load-generator.mjs');
  const bare = new Worker(workspace, 'bus-load.mjs');
  const series = Object.entries(CROWDS).map(([name, crowd]) => ({ name, ...crowd, results: [] }));
  for (let round = -1; round < rounds; round++) {
    for (const { small, large, title, results } of shuffled(series)) {
      const worker = ground[small].url === undefined ? load : bare;
      const result = await beside(workspace, { worker, small: ground[small], large: ground[large] });
      if (result.firstFault !== undefined) faults.push(`${title}, beside large answers: ${result.firstFault}`);
      else if (round >= 0) results.push(result);
    }
  }
  await load.end(workspace);
  await bare.end(workspace);
  return series;
}

async function beside(workspace, { worker, small, large }) {
  const order = { ...small, bytes: 100, clients: 1, window: 1, warmUpCalls: 200, deadlineMs: DEADLINE_MS };
  const before = await worker.order({ ...order, calls: SMALL_CALLS });
  let isOver = false;
  const reading = readLarge(workspace, large).finally(() => {
    isOver = true;
  });
  const during = [];
  while (!isOver) during.push(await worker.order({ ...order, warmUpCalls: 10, calls: 100 }));
  const { seconds, ...wrong } = await reading;
  const { firstFault } = [before, ...during, wrong].find((one) => one.faults > 0) ?? {};
  // Each look has 100 calls: its p99 is the longest of them but one. The median of the looks is like the p99 of all.
  const [p50, p99] = ['p50', 'p99'].map((key) => median(during.map((look) => look[key])));
  return { before: before.p99, p50, during: p99, seconds, ...(firstFault !== undefined && { firstFault }) };
}

/** Reads the large answers in a process of its own: nothing else waits while it looks at one. */
async function readLarge(workspace, ground) {
  const isBare = ground.url !== undefined;
  const worker = new Worker(workspace, isBare ? 'bus-load.mjs' : 'large-answers.mjs');
  const bytes = { bytes: LARGE.kib * 1024, window: 1, warmUpCalls: 0, isChunked: true, isAnswer: true };
  const began = performance.now();
  const result = await worker.order({ ...ground, ...LARGE, ...(isBare && bytes) });
  const seconds = (performance.now() - began) / 1000;
  await worker.end(workspace);
  return { seconds, ...result };
}

/** A daemon that meets no other hosts, beside one whose build has nothing of them. */
async function measureWithout(workspace, rounds) {
  const bare = workspace.copyOfBuild();
  rmSync(join(bare, 'hosts'), { recursive: true });
  const builds = { with: undefined, without: bare };
  const results = { with: [], without: [] };
  for (let round = -1; round < rounds; round++) {
    for (const name of shuffled(Object.keys(builds))) {
      const began = performance.now();
      const daemon = await startDaemon(workspace, builds[name] && { build: builds[name] });
      const startMs = performance.now() - began;
      const cpuMs = (cpuNs(daemon.pid) ?? Number.NaN) / 1e6;
      await delay(SETTLE_MS);
      const kib = privateKib(daemon.pid);
      await workspace.end(daemon.child);
      if (round >= 0) results[name].push({ startMs, cpuMs, kib });
    }
  }
  return results;
}

const values = (results, key) => results.map((result) => result[key] ?? Number.NaN);

/** A long message beside a bare transfer of the same bytes, and beside what comes before and behind that: a local call. */
function noteOfLong(of, name) {
  const [remote, local, bare, bareJson] = ['remote', 'local', 'bare', 'bareJson'].map((one) =>
    values(of(name, one), 'p50'),
  );
  const least = bareJson.map((p50, round) => p50 + local[round]);
  const [json, floor] = [medianRatio(remote, bareJson), medianRatio(least, bare)].map((ratio) => ratio.toFixed(2));
  return (
    `${CELLS[name].title}: ${json} of a bare transfer of as many bytes as the message has in JSON. The floor of the ratio below is ${floor}: ` +
    'that transfer and a local call, one after the other.'
  );
}

function noteOfCrowd({ title, results }) {
  const ratio = medianRatio(values(results, 'during'), values(results, 'before')).toFixed(1);
  const seconds = median(values(results, 'seconds')).toFixed(2);
  return `Beside 100 MB in answers of 4 MiB, which take ${seconds} s, p99 of ${title} is ${ratio} times that of before.`;
}

function rowsOfCrowd({ title, results }) {
  const [p50, during, before] = ['p50', 'during', 'before'].map((key) => median(values(results, key)));
  const none = [Number.NaN, Number.NaN];
  return [
    ['100 B, before 100 MB in answers of 4 MiB', title, Number.NaN, before, ...none],
    ['100 B, beside 100 MB in answers of 4 MiB', title, p50, during, ...none],
  ];
}

function theme({ cells, crowded, without, rounds, faults }) {
  const of = (name, subject) => cells.find((one) => one.name === name && one.subject === subject).results;
  const { results: crowd } = crowded.find(({ name }) => name === 'same');
  const alone = Object.fromEntries(
    ['remote', 'local', 'bare'].map((subject) => [subject, values(of('alone', subject), 'p50')]),
  );
  const least = alone.bare.map((p50, round) => p50 + alone.local[round]);
  const ofWithout = (key) => medianRatio(values(without.with, key), values(without.without, key));
  return {
    title: 'Other hosts',
    notes: [
      `Three nats-servers on this machine, medians of ${rounds} interleaved rounds. CPU is that of both daemons, a call.`,
      ...LONG_CELLS.map((name) => noteOfLong(of, name)),
      ...crowded.map(noteOfCrowd),
      `A daemon without federation: ${Math.round(median(values(without.with, 'kib')))} KiB of private memory, ` +
        `${Math.round(median(values(without.without, 'kib')))} KiB with a build that has nothing of it.`,
    ],
    columns: ['size, in flight', 'subject', 'p50 µs', 'p99 µs', 'calls/s', 'CPU µs'],
    rows: [
      ...cells.map(({ cell, subject, results }) => [
        ...[cell.title, TITLES[subject]],
        ...['p50', 'p99', 'callsPerSecond', 'cpuUsPerCall'].map((key) => median(values(results, key))),
      ]),
      ...crowded.flatMap(rowsOfCrowd),
    ],
    targets: [
      atMost('p50 of a remote call / (bare NATS + a local call), 100 B', medianRatio(alone.remote, least), 1.6),
      atLeast(
        'calls/s of remote calls / bare request and reply, 100 B, 64 in flight',
        medianRatio(values(of('many', 'remote'), 'callsPerSecond'), values(of('many', 'bare'), 'callsPerSecond')),
        0.5,
      ),
      ...LONG_CELLS.map((name) =>
        atMost(
          `p50 of ${CELLS[name].title} / bare transfer in chunks`,
          medianRatio(values(of(name, 'remote'), 'p50'), values(of(name, 'bare'), 'p50')),
          2,
        ),
      ),
      atMost(
        'p99 of small calls beside 100 MB in answers of 4 MiB / alone',
        medianRatio(values(crowd, 'during'), values(crowd, 'before')),
        3,
      ),
      atMost('private memory of a daemon without federation / a build without it', ofWithout('kib'), 1.02),
      atMost('CPU until a daemon without federation listens / a build without it', ofWithout('cpuMs'), 1.05),
    ],
    faults,
    raw: { cells: cells.map(({ name, subject, results }) => ({ name, subject, results })), crowded, without },
  };
}
