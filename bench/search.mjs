// The bench of the search over tools: whether it finds what people would pick, by questions over recorded tools, and what
// it costs over 10,000 tools.
//   node bench/search.mjs [--misses]   also lists the questions of the tuning set whose first answer is another one
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { build } from 'esbuild';
import { printTheme } from './report.mjs';
import { manyServers, questions, recordedServers } from './search/recorded-servers.mjs';
import { median, quantile } from './statistics.mjs';
import { atLeast, atMost } from './target.mjs';
import { program } from './workspace.mjs';

const TOOLS = 10_000;
const BUILDS = 7;
const ROUNDS = 15;
const MIB = 2 ** 20;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

const { ToolSearch } = await importSource('../src/search/tool-search.ts');
const asked = questions();
printTheme(await measureQuality());
printTheme(await measureCost());

/** The sources as they are, since the build has them inside the daemon. */
async function importSource(path) {
  const dir = mkdtempSync(join(tmpdir(), 'mcp-search-'));
  try {
    const outfile = join(dir, 'source.mjs');
    const options = { bundle: true, format: 'esm', platform: 'node', target: 'node20' };
    await build({ ...options, entryPoints: [program(path)], outfile });
    return await import(pathToFileURL(outfile));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function searchOver(servers) {
  const search = new ToolSearch();
  for (const { tools, ...server } of servers) await search.set(server, tools);
  return search;
}

async function measureQuality() {
  const search = await searchOver(recordedServers());
  const sets = ['tuning', 'held-out'].map((set) => [set, asked.filter((question) => question.set === set)]);
  const figures = sets.map(([set, some]) => ({
    set,
    count: some.length,
    ...qualityOf(some.map((one) => rankOf(search, one))),
  }));
  if (process.argv.includes('--misses')) for (const one of sets[0][1]) tellMiss(search, one);
  return {
    title: 'What is found',
    notes: ['The place of the right tool among the answers, over the recorded tools of public servers.'],
    columns: ['questions', 'how many', 'first %', 'among five %', 'mean reciprocal rank'],
    rows: figures.map(({ set, count, first, five, reciprocal }) => [set, count, first, five, reciprocal]),
    targets: figures.flatMap(({ set, first, five }) => [
      atLeast(`the right tool first, ${set}`, first, 85, '%'),
      atLeast(`the right tool among five, ${set}`, five, 97, '%'),
    ]),
    faults: [],
  };
}

/** From 1; infinite if it is not among the answers. */
function rankOf(search, { question, tools }) {
  const place = search.search(question).findIndex(({ server, tool }) => tools.includes(`${server}:${tool}`));
  return place < 0 ? Number.POSITIVE_INFINITY : place + 1;
}

function qualityOf(ranks) {
  const percent = (fits) => (100 * ranks.filter(fits).length) / ranks.length;
  return {
    first: percent((rank) => rank === 1),
    five: percent((rank) => rank <= 5),
    reciprocal: ranks.reduce((sum, rank) => sum + 1 / rank, 0) / ranks.length,
  };
}

function tellMiss(search, one) {
  const rank = rankOf(search, one);
  if (rank === 1) return;
  const answers = search
    .search(one.question, { limit: 3 })
    .map(({ server, tool, relevance }) => `${server}:${tool} ${relevance}`);
  console.log(`${rank}. ${one.question} (${one.tools.join(', ')}): ${answers.join(', ')}`);
}

async function measureCost() {
  const servers = manyServers(TOOLS);
  await searchOver(servers); // warms up
  const builds = [];
  for (let i = 0; i < BUILDS; i++) builds.push(await measureBuild(servers));
  const search = await searchOver(servers);
  const rounds = Array.from({ length: ROUNDS + 1 }, () => measureSearches(search)).slice(1);
  const of = (name) => median(builds.map((one) => one[name]));
  const slowest = Math.max(...asked.map((_, i) => median(rounds.map((times) => times[i]))));
  const [p50, p99] = [0.5, 0.99].map((q) => median(rounds.map((times) => quantile(times, q))));
  return {
    title: `What it costs over ${TOOLS.toLocaleString('en-US')} tools`,
    notes: [`${servers.length} servers; medians of ${BUILDS} builds and of ${ROUNDS} rounds of all questions.`],
    columns: ['what', 'figure', 'unit'],
    rows: [
      ['a search, p50', p50, 'ms'],
      ['a search, p99', p99, 'ms'],
      ['the slowest question, by the median of its rounds', slowest, 'ms'],
      ['the index, from nothing', of('ms'), 'ms'],
      ['the loop, blocked at most meanwhile', of('longestMs'), 'ms'],
      ['memory of the index, heap and buffers', of('heapMib'), 'MiB'],
      ['the process, grown by', of('rssMib'), 'MiB'],
    ],
    targets: [
      atMost('a search, p99', p99, 5, 'ms'),
      atMost('the index, from nothing', of('ms'), 1000, 'ms'),
      atMost('the loop, blocked at most', of('longestMs'), 20, 'ms'),
      atMost('memory of the index', of('heapMib'), 40, 'MiB'),
    ],
    faults: [],
  };
}

async function measureBuild(servers) {
  collectGarbage();
  const before = process.memoryUsage();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const start = performance.now();
  const search = await searchOver(servers);
  const ms = performance.now() - start;
  delay.disable();
  collectGarbage();
  const after = process.memoryUsage();
  search.search('something'); // is still needed
  const heap = (memory) => memory.heapUsed + memory.external;
  return {
    ms,
    longestMs: delay.max / 1e6,
    heapMib: (heap(after) - heap(before)) / MIB,
    rssMib: (after.rss - before.rss) / MIB,
  };
}

/** Milliseconds of each question. */
function measureSearches(search) {
  return asked.map(({ question }) => {
    const start = performance.now();
    search.search(question);
    return performance.now() - start;
  });
}
