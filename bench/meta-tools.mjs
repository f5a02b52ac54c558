// Theme: what an agent waits for in the view `discover`, over the tools of a few public servers: how long each of the five
// tools takes, and what the daemon weighs with them.
import { readdirSync, readFileSync } from 'node:fs';
import { memoryKib } from './process-figures.mjs';
import { RawClient, Tally } from './raw-client.mjs';
import { questions } from './search/recorded-servers.mjs';
import { median, quantile } from './statistics.mjs';
import { startDaemon } from './subjects.mjs';
import { atMost } from './target.mjs';
import { program } from './workspace.mjs';

const TOOLS = 200;
const VIEW = { 'mcp-bridge/view': 'discover' };

export async function measureMetaTools(workspace, { rounds }) {
  const recorded = serversWith(TOOLS);
  const servers = Object.fromEntries(
    recorded.map(({ name }) => [name, { command: process.execPath, args: [program('recorded-server.mjs'), name] }]),
  );
  const tally = new Tally();
  const starts = [];
  for (let round = 0; round < Math.min(rounds, 5); round++)
    starts.push(await measureDaemon(workspace, { servers, recorded, tally }));
  const tools = recorded.reduce((sum, one) => sum + one.tools.length, 0);
  return theme(starts, { tools, servers: recorded.length, tally });
}

/** The largest first, until there are enough tools. */
function serversWith(count) {
  const dir = new URL('search/tools/', import.meta.url);
  const all = readdirSync(dir).map((file) => JSON.parse(readFileSync(new URL(file, dir), 'utf8')));
  all.sort((a, b) => b.tools.length - a.tools.length);
  let sum = 0;
  const enough = all.findIndex(({ tools }) => {
    sum += tools.length;
    return sum >= count;
  });
  return all.slice(0, enough + 1);
}

async function measureDaemon(workspace, { servers, recorded, tally }) {
  const daemon = await startDaemon(workspace, { servers });
  const client = new RawClient({ unix: daemon.path }, tally, { takesNotifications: true });
  await client.initialize(VIEW);
  const call = async (name, args) => {
    const began = performance.now();
    const { content } = await client.request('tools/call', { name, arguments: args });
    const ms = performance.now() - began;
    return { ms, answer: content[0].text };
  };
  const timed = async (name, each) => {
    const times = [];
    for (const args of each) times.push((await call(name, args)).ms);
    return times;
  };
  await call('search_tools', { query: 'x' }); // starts all servers, and waits for their lists
  const listedMib = memoryKib(daemon.pid).rss / 1024;
  const firstSearch = (await call('search_tools', { query: 'create an issue' })).ms;
  const all = recorded.flatMap(({ name: server, tools }) => tools.map(({ name: tool }) => ({ server, tool })));
  const times = {
    list_mcp_servers: await timed('list_mcp_servers', Array(50).fill({})),
    list_tools: await timed(
      'list_tools',
      recorded.map(({ name: server }) => ({ server })),
    ),
    search_tools: await timed(
      'search_tools',
      questions().map(({ question: query }) => ({ query })),
    ),
    get_tool_details: await timed('get_tool_details', all),
    execute_tool: await timed('execute_tool', runnable(recorded)),
  };
  const { answer } = await call('search_tools', { query: `${all[0].server}:${all[0].tool}` });
  if (JSON.parse(answer).results[0]?.tool !== all[0].tool) tally.note('mismatches', answer);
  const rss = memoryKib(daemon.pid).rss / 1024;
  client.close();
  await workspace.end(daemon.child);
  return { firstSearch, times, listedMib, rss };
}

/** Tools that need no arguments. */
function runnable(recorded) {
  return recorded.flatMap(({ name: server, tools }) =>
    tools
      .filter(({ inputSchema }) => (inputSchema.required ?? []).length === 0)
      .map(({ name: tool }) => ({ server, tool, arguments: {} })),
  );
}

function theme(starts, { tools, servers, tally }) {
  const names = Object.keys(starts[0].times);
  const at = (name, q) => median(starts.map(({ times }) => quantile(times[name], q)));
  const slowest = (name) => median(starts.map(({ times }) => Math.max(...times[name])));
  const first = median(starts.map(({ firstSearch }) => firstSearch));
  const of = (name) => median(starts.map((one) => one[name]));
  const slowestMeta = Math.max(...names.filter((name) => name !== 'search_tools').map((name) => at(name, 0.99)));
  return {
    title: 'The five tools of discover',
    notes: [
      `${tools} recorded tools of ${servers} servers; medians of ${starts.length} daemons, one call at a time. The first ` +
        "search loads the search and makes its index; the first call of each tool makes its schema's check. " +
        `The daemon has ${of('rss').toFixed(0)} MiB (RSS) after all of it.`,
    ],
    columns: ['tool', 'p50 ms', 'p99 ms', 'slowest ms'],
    rows: [
      ['the first search_tools', first, first, first],
      ...names.map((name) => [name, at(name, 0.5), at(name, 0.99), slowest(name)]),
    ],
    targets: [
      atMost('p99 of the slowest of the other four', slowestMeta, 50, 'ms'),
      atMost('the first search, with its index', first, 150, 'ms'),
      atMost('the slowest search after it', slowest('search_tools'), 150, 'ms'),
      atMost(`RSS of the daemon with ${tools} tools`, of('listedMib'), 50, 'MiB'),
    ],
    faults: tally.faults > 0 ? [tally.firstFault] : [],
    raw: starts,
  };
}
