// The bench of the search over tools: whether it finds what people would pick, by questions over recorded tools and over
// public sets where those are there, and what it costs over 10,000 tools and over 2,300 servers.
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
import { PlainBm25 } from './search/plain-bm25.mjs';
import { publicSets, setsDirectory } from './search/public-sets.mjs';
import { manyServers, questions, recordedServers } from './search/recorded-servers.mjs';
import { median, quantile } from './statistics.mjs';
import { atLeast, atMost } from './target.mjs';
import { program } from './workspace.mjs';

const TOOLS = 10_000;
const BUILDS = 7;
const ROUNDS = 15;
const MANY_SERVERS = 2300;
const TOOLS_OF_MANY_SERVERS = 4000;
const MANY_WORDS = 60;
const LONG_QUESTIONS = 60;
/** What is measured of the halves, and what the whole sets have to reach. */
const OF_SETS = new Map([
  ['metatool, two', [['recall@5', 70]]],
  ['sealtools, many', [['recall@5', 77]]],
]);
const MIB = 2 ** 20;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

const { ToolSearch } = await importSource('../src/search/tool-search.ts');
const asked = questions();
printTheme(await measureQuality());
const sets = setsDirectory();
if (sets === undefined) console.log('The public sets are left out: MCP_BRIDGE_SEARCH_SETS names no directory.\n');
else printTheme(await measurePublicSets(publicSets(sets)));
printTheme(await measureCost());
printTheme(await measureManyWords());

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

async function measurePublicSets(sets) {
  const rows = [];
  const targets = [];
  for (const { name, servers, questions } of sets) {
    const search = await searchOver(servers);
    const plain = new PlainBm25(servers);
    const ours = (question, options) => search.search(question, options).map(({ server, tool }) => `${server}:${tool}`);
    for (const kind of [...new Set(questions.map((one) => one.kind))].sort()) {
      const some = questions.filter((one) => one.kind === kind);
      const figures = recallOf(some, (question) => ours(question));
      const uncut = recallOf(some, (question) => ours(question, { limit: 10 }));
      const baseline = recallOf(some, (question) => plain.search(question, 10));
      const set = `${name}, ${kind}`;
      rows.push(
        [set, some.length, ...percents(figures), uncut['recall@10']],
        ['plain BM25', '', ...percents(baseline), ''],
      );
      for (const [figure, least] of OF_SETS.get(set) ?? [])
        targets.push(atLeast(`${figure}, ${set}`, figures[figure], least, '%'));
    }
  }
  return {
    title: 'What is found in public sets',
    notes: ['Half of each set. The last column is for a search with `limit: 10`, which leaves nothing out.'],
    columns: ['set', 'questions', 'first %', 'among five %', 'recall@5', 'recall@10', 'uncut'],
    rows,
    targets,
    faults: [],
  };
}

function percents(figures) {
  return [figures.first, figures.five, figures['recall@5'], figures['recall@10']];
}

function recallOf(questions, answersTo) {
  const sums = { first: 0, five: 0, 'recall@5': 0, 'recall@10': 0 };
  for (const { question, tools, groups } of questions) {
    const answers = answersTo(question);
    const recall = (most) => groups.filter((one) => answers.slice(0, most).some((id) => one.includes(id))).length;
    sums.first += tools.includes(answers[0]) ? 1 : 0;
    sums.five += answers.slice(0, 5).some((id) => tools.includes(id)) ? 1 : 0;
    sums['recall@5'] += recall(5) / groups.length;
    sums['recall@10'] += recall(10) / groups.length;
  }
  return Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, (100 * sum) / questions.length]));
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

/** Questions of 60 words, over many tools and over many servers. */
async function measureManyWords() {
  const long = longQuestions();
  const sizes = [
    [`${MANY_WORDS} words, ${TOOLS.toLocaleString('en-US')} tools`, manyServers(TOOLS), long, 5],
    [`a few words, ${MANY_SERVERS.toLocaleString('en-US')} servers`, smallServers(), asked, 8],
    [`${MANY_WORDS} words, ${MANY_SERVERS.toLocaleString('en-US')} servers`, smallServers(), long, 8],
  ];
  const figures = [];
  for (const [name, servers, questions, most] of sizes) {
    const search = await searchOver(servers);
    const rounds = Array.from({ length: ROUNDS + 1 }, () => measureSearches(search, questions)).slice(1);
    const [p50, p99] = [0.5, 0.99].map((q) => median(rounds.map((times) => quantile(times, q))));
    const slowest = Math.max(...questions.map((_, i) => median(rounds.map((times) => times[i]))));
    figures.push({ name, p50, p99, slowest, most });
  }
  return {
    title: 'What long questions and many servers cost',
    notes: [`${TOOLS_OF_MANY_SERVERS.toLocaleString('en-US')} tools in all where there are many servers.`],
    columns: ['what', 'p50, ms', 'p99, ms', 'slowest by the median of its rounds, ms'],
    rows: figures.map(({ name, p50, p99, slowest }) => [name, p50, p99, slowest]),
    targets: figures.map(({ name, p99, most }) => atMost(`${name}, p99`, p99, most, 'ms')),
    faults: [],
  };
}

/** Several questions after one another, as an agent puts a whole task. */
function longQuestions() {
  return Array.from({ length: LONG_QUESTIONS }, (_, i) => {
    const parts = Array.from({ length: 12 }, (_, k) => asked[(i * 7 + k * 13) % asked.length].question);
    const question = parts
      .join(i % 2 === 0 ? '. ' : ' and then ')
      .split(/\s+/)
      .slice(0, MANY_WORDS)
      .join(' ');
    return { question };
  });
}

/** The tools of 10,000 in servers of one or two. */
function smallServers() {
  const tools = manyServers(TOOLS_OF_MANY_SERVERS).flatMap((server) => server.tools);
  const servers = Array.from({ length: MANY_SERVERS }, (_, i) => ({
    name: `${tools[i].name.slice(0, 12)}-${i}`,
    description: (tools[i].description ?? '').slice(0, 80),
    tools: [],
  }));
  for (const [i, tool] of tools.entries()) servers[i % MANY_SERVERS].tools.push({ ...tool, name: `${tool.name}_${i}` });
  return servers;
}

/** Milliseconds of each question. */
function measureSearches(search, questions = asked) {
  return questions.map(({ question }) => {
    const start = performance.now();
    search.search(question);
    return performance.now() - start;
  });
}
