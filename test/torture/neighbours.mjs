// One client, server or repository misbehaves for a minute; a neighbour that has nothing to do with it calls meanwhile. The
// neighbour's calls stay fast, the daemon stays small, and it lives.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { faultAfter, faultOf, HONEST, HOSTILE_PROGRAMS, QUICK as QUICK_PROGRAMS } from './hostile-programs.mjs';
import { Peer, textOf } from './peer.mjs';
import { descriptorsOf, rssMib, until, watchMemory } from './place.mjs';
import { watchesOf } from './random.mjs';

const EAGER = join(import.meta.dirname, '../fixtures/servers/eager-http.mjs');
const FLOODING = join(import.meta.dirname, '../fixtures/servers/flooding.mjs');
const LONG_RESULTS = join(import.meta.dirname, '../fixtures/servers/long-results.mjs');
const QUICK = join(import.meta.dirname, 'quick-lingering.cjs');
const MANY_TOOLS = join(import.meta.dirname, '../fixtures/servers/many-tools.mjs');
const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

/** The time that a hostile program gets, and how late it may be killed. */
const PROGRAM_MS = 1000;
const MOST_LATE_MS = 250;

/** What a neighbour may notice of it, and the daemon may take for it. */
const MOST_P99_MS = 50;
const MOST_MIB = 64;

/** Makes the trouble again and again for a minute, or briefly; what the neighbour and the memory came to. */
async function withNeighbour(place, daemon, isShort, trouble, { mostMib = MOST_MIB, lastsMs = 60_000 } = {}) {
  const neighbour = await place.pulse(daemon, 'server:neighbour');
  const before = await neighbour.look();
  const from = rssMib(daemon.pid);
  const risen = watchMemory(daemon.pid, from);
  let rounds = 0;
  for (const end = performance.now() + (isShort ? 500 : lastsMs); rounds === 0 || performance.now() < end; rounds++)
    await Promise.race([trouble(rounds), diedOf(daemon)]);
  const during = await neighbour.look();
  const most = risen();
  assert(most < mostMib, `memory rose by ${most.toFixed(0)} MiB`);
  // A short run, on a machine with other work to do, tells nothing of time.
  assert(isShort || during.p99 <= MOST_P99_MS, `a neighbour's p99 ${before.p99} → ${during.p99} ms`);
  assert.equal((await daemon.status()).counters.internalErrors, 0, daemon.stderr.slice(-2000));
  neighbour.leave();
  const figure = (ms) => (ms ?? Number.NaN).toFixed(1);
  const text = `${rounds} times, a neighbour's p99 ${figure(before.p99)} → ${figure(during.p99)} ms (longest ${figure(during.longest)}), memory +${most.toFixed(0)} MiB`;
  return { p99: during.p99 ?? Number.NaN, mib: most, toString: () => text };
}

async function diedOf(daemon) {
  const { code, signal } = await daemon.exited;
  throw new Error(`the daemon ended (${code ?? signal}): ${daemon.stderr.slice(-2000)}`);
}

/** Ways in which a server says more than anybody wants to know, as the fixture knows them. */
const FLOODS = {
  stdio: ['notices', 'junk', 'answers', 'requests', 'changes', 'not-utf8'],
  'dial-in': ['junk', 'notices'],
  http: ['comments', 'crumbs', 'notices', 'junk', 'answers', 'requests'],
  ws: ['requests', 'notices', 'junk', 'not-utf8'],
};

/** A daemon with a server that floods it from now on. */
async function floodedDaemon(place, way, kind) {
  const mcpServers = { neighbour: place.fixture() };
  const command = [FLOODING, kind, way];
  if (way === 'stdio') mcpServers.flooding = { command: process.execPath, args: command };
  const begin = async (...more) => {
    const child = place.spawn(process.execPath, [...command, ...more], { stdio: ['ignore', 'pipe', 'inherit'] });
    return String(await once(child.stdout, 'data')).trim();
  };
  if (way === 'http') mcpServers.flooding = { type: 'http', url: `http://127.0.0.1:${await begin()}/mcp` };
  if (way === 'ws') mcpServers.flooding = { type: 'ws', url: `ws://127.0.0.1:${await begin()}` };
  const dialIn = way === 'dial-in' ? { flooding: {} } : {};
  const daemon = await place.daemon({ config: place.config({ mcpServers, dialIn }) });
  if (way === 'dial-in') await begin(daemon.path, 'flooding');
  return daemon;
}

export const neighbours = {
  async 'servers that talk without end'(place, { isShort }) {
    const p99s = [];
    let mostMib = 0;
    for (const [way, kinds] of Object.entries(FLOODS)) {
      for (const kind of isShort ? kinds.slice(0, 1) : kinds) {
        const daemon = await floodedDaemon(place, way, kind);
        const peer = await daemon.peer('server:flooding');
        let isFlooding = false;
        const trouble = async () => {
          if (!isFlooding) await peer.soon(peer.call('flood'));
          isFlooding = true;
          await delay(isShort ? 200 : 500);
        };
        const told = await withNeighbour(place, daemon, isShort, trouble, { lastsMs: 60_000 / kinds.length });
        p99s.push(told.p99);
        mostMib = Math.max(mostMib, told.mib);
        peer.close();
        await daemon.stop();
      }
    }
    return `${p99s.length} floods, a neighbour's p99 ${Math.max(...p99s).toFixed(1)} ms at most, memory +${mostMib.toFixed(0)} MiB`;
  },

  async 'hostile programs of a model'(place, { isShort }) {
    const mcpServers = { fixture: place.fixture(), neighbour: place.fixture() };
    const codeMode = { enabled: true, timeoutMs: PROGRAM_MS };
    const config = place.config({ mcpServers, codeMode });
    const daemon = await place.daemon({ config, env: { MCPB_CANARY: 'canary' } });
    const peer = await daemon.peer('code');
    const programs = isShort ? QUICK_PROGRAMS.slice(0, 12) : HOSTILE_PROGRAMS;
    let longestMs = 0;
    let run = 0;
    const trouble = async () => {
      for (const program of programs) {
        const answer = await peer.soon(peer.call('run_code', { code: program[1] }));
        assert.equal(answer.never, undefined, program[0]);
        const fault = faultOf(program, answer);
        assert.equal(fault, undefined);
        const next = await peer.soon(peer.call('run_code', { code: HONEST }));
        assert.equal(faultAfter(program, next), undefined);
        const [, ranMs] = /limit of time.* It ran for (\d+) ms/.exec(JSON.stringify(answer)) ?? [];
        if (ranMs !== undefined) longestMs = Math.max(longestMs, Number(ranMs) - PROGRAM_MS);
        run++;
      }
    };
    const told = await withNeighbour(place, daemon, isShort, trouble);
    assert(isShort || longestMs <= MOST_LATE_MS, `a program was killed ${longestMs.toFixed(0)} ms after its limit`);
    peer.close();
    const kills = isShort ? '' : `, killed ${longestMs.toFixed(0)} ms after their limit at most`;
    return `${run} programs${kills}; ${told}`;
  },

  async 'results of 8 MiB that are cut and read'(place, { isShort }) {
    const mcpServers = {
      long: { command: process.execPath, args: [LONG_RESULTS] },
      neighbour: place.fixture(),
    };
    // A result that is in a file has to be read from there.
    const daemon = await place.daemon({
      config: place.config({ mcpServers, results: { maxMemoryBytes: 16 * 2 ** 20 } }),
    });
    const peer = await daemon.peer('discover');
    const kinds = ['text', 'backslashes', 'lines', 'items', 'names', 'brackets', 'structured'];
    let cuts = 0;
    const trouble = async (round) => {
      const kind = kinds[round % kinds.length];
      const answer = await peer.soon(peer.call('execute_tool', { server: 'long', tool: 'give', arguments: { kind } }));
      const { text = '' } = answer.result?.content.at(-2) ?? {};
      const [, id] = /read_result {"id":"([^"]+)"/.exec(text) ?? [];
      assert(id !== undefined, `${kind}: ${JSON.stringify(answer).slice(0, 300)}`);
      for (const args of [{ offset: 7_000_000 }, { find: 'no such text' }, { find: '\\' }, { path: 'items[9].i' }])
        assert.equal((await peer.soon(peer.call('read_result', { id, limit: 1000, ...args }))).never, undefined);
      cuts++;
    };
    const told = await withNeighbour(place, daemon, isShort, trouble, { mostMib: 192 });
    assert.deepEqual(peer.faults, []);
    peer.close();
    return `${cuts} results; ${told}`;
  },

  async 'clients that hang up with everything pending'(place, { isShort }) {
    const mcpServers = { asking: { ...place.fixture(), sharing: 'shared' }, neighbour: place.fixture() };
    const daemon = await place.daemon({ config: place.config({ mcpServers }) });
    const meta = { 'mcp-bridge/view': 'server:asking' };
    // Requests that the server is known to answer without asking back do not wait for the lane.
    const first = await Peer.ready(daemon.path, meta, { elicitation: {} });
    for (let i = 0; i < 3; i++) {
      await first.soon(first.ask('logging/setLevel', { level: 'debug' }));
      await first.soon(first.ask('resources/unsubscribe', { uri: 'test://a' }));
    }
    await first.soon(first.ask('resources/subscribe', { uri: 'test://a' }));
    const trouble = async (round) => {
      const holder = await Peer.ready(daemon.path, meta, { elicitation: {} });
      holder.questions = [];
      const asked = holder.call('ask', {
        params: { message: 'x', requestedSchema: { type: 'object', properties: {} } },
      });
      await until('it holds the lane', () => holder.questions.length === 1);
      const leaving = await Promise.all(times(4, () => Peer.ready(daemon.path, meta, { elicitation: {} })));
      for (const [i, peer] of leaving.entries()) {
        peer.call('ask', { params: { message: 'y' } });
        const behind = [
          ['logging/setLevel', { level: 'info' }],
          ['resources/subscribe', { uri: 'test://a' }],
          ['resources/unsubscribe', { uri: 'test://a' }],
          ['tools/call', { name: 'echo', arguments: { text: 'x' } }],
          ['tools/list', {}],
        ];
        for (const [method, params] of [...behind.slice(i), ...behind.slice(0, i)]) peer.ask(method, params);
      }
      if (round % 2) await Promise.all(leaving.map((peer) => peer.soon(peer.ask('ping'))));
      for (const peer of leaving) peer.close();
      for (const { id } of holder.questions) holder.say({ id, result: { action: 'decline' } });
      assert.match(textOf(await holder.soon(asked)) ?? '', /decline/, 'the one who stays has its answer');
      assert.deepEqual(holder.faults, []);
      holder.close();
    };
    const said = await withNeighbour(place, daemon, isShort, trouble);
    await until('nothing of them is left', async () => {
      const { clients, instances } = await daemon.status();
      return clients <= 1 && instances.every(({ server, inFlight }) => server === 'neighbour' || inFlight === 0);
    });
    return said;
  },

  async 'a server at a URL that wants to be asked again at once'(place, { isShort }) {
    const child = place.spawn(process.execPath, [EAGER], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [port] = await once(child.stdout, 'data');
    const origin = `http://127.0.0.1:${Number(port)}`;
    const counts = async () => (await fetch(`${origin}/counts`)).json();
    const mcpServers = { eager: { type: 'http', url: `${origin}/mcp` }, neighbour: place.fixture() };
    const daemon = await place.daemon({ config: place.config({ mcpServers }) });
    const peer = await daemon.peer('server:eager');
    assert.equal(textOf(await peer.soon(peer.call('echo', { text: 'x' }))), 'x');
    peer.close();
    const from = await counts();
    const began = performance.now();
    const said = await withNeighbour(place, daemon, isShort, () => delay(isShort ? 1500 : 3000));
    const asked = (await counts()).opened - from.opened;
    const seconds = (performance.now() - began) / 1000;
    assert(asked <= seconds + 1, `${asked} requests in ${seconds.toFixed(0)} s`);
    return `${asked} requests in ${seconds.toFixed(0)} s; ${said}`;
  },

  async 'patterns and names that cost each other'(place, { isShort }) {
    const stars = `${'*a'.repeat(17)}*b`;
    const mcpServers = {
      long: { command: process.execPath, args: [MANY_TOOLS, '2000', '600000'] },
      filtered: { command: process.execPath, args: [MANY_TOOLS, '2000'], disabledTools: [stars, '*_*_*_*_*_*_*_*_*z'] },
      neighbour: place.fixture(),
    };
    const discovery = { enabled: false, toolRules: [{ pattern: ['*delete*all', `*:${stars}`], enabled: false }] };
    const daemon = await place.daemon({ config: place.config({ mcpServers, discovery }) });
    const trouble = async (round) => {
      const peer = await daemon.peer(round % 2 ? 'all' : 'discover');
      await peer.soon(peer.ask('tools/list'));
      const name = `${'_delete'.repeat(80_000)}${round}`;
      await peer.soon(peer.call('execute_tool', { server: 'long', tool: name, arguments: {} }));
      await peer.soon(peer.call(`long__${name}`));
      await peer.soon(peer.call('search_tools', { query: 'delete the record of a customer' }));
      assert.deepEqual(peer.faults, []);
      peer.close();
    };
    // Two servers with 2,000 tools each are known when it begins.
    const first = await daemon.peer('all');
    await first.soon(first.ask('tools/list'));
    first.close();
    return withNeighbour(place, daemon, isShort, trouble);
  },

  async 'wrong names among 20,000 tools'(place, { isShort }) {
    const mcpServers = {
      many: { command: process.execPath, args: [MANY_TOOLS, '20000'] },
      neighbour: place.fixture(),
    };
    const daemon = await place.daemon({ config: place.config({ mcpServers }) });
    const peer = await daemon.peer('discover');
    const right = 'delete_and_create_the_record_of_customer_7_by_its_identity';
    const execute = (tool) => peer.soon(peer.call('execute_tool', { server: 'many', tool, arguments: {} }));
    assert.equal(textOf(await execute(right)), right);
    const trouble = async (round) => {
      const answers = await Promise.all(
        times(100, (i) => execute(`delete_or_create_a_record_of_costumer_${round}${i}_by_identity`)),
      );
      for (const answer of answers)
        assert(answer.error ?? answer.result?.isError, JSON.stringify(answer).slice(0, 200));
    };
    return withNeighbour(place, daemon, isShort, trouble);
  },

  async 'clients that work in a thousand directories'(place, { isShort }) {
    const mcpServers = { neighbour: place.fixture() };
    const config = place.config({ mcpServers, discovery: { enabled: true } });
    const daemon = await place.daemon({ config, env: isShort ? { NODE_OPTIONS: `--require ${QUICK}` } : {} });
    const visit = async (cwd) => {
      const peer = await daemon.peer('discover', { 'mcp-bridge/cwd': cwd });
      await peer.soon(peer.call('list_mcp_servers'));
      peer.close();
    };
    const directories = times(isShort ? 20 : 1000, (i) => {
      const dir = place.path(`projects/${i}`);
      mkdirSync(join(dir, '.git'), { recursive: true });
      writeFileSync(join(dir, '.mcp.json'), JSON.stringify({ mcpServers: { [`p${i}`]: { command: 'true' } } }));
      return dir;
    });
    await visit(directories[0]);
    const before = { watches: watchesOf(daemon.pid), descriptors: descriptorsOf(daemon.pid) };
    const said = await withNeighbour(place, daemon, true, async (round) => {
      const each = Math.ceil(directories.length / 10);
      for (const dir of directories.slice((round % 10) * each, (round % 10) * each + each)) await visit(dir);
    });
    for (const dir of directories) await visit(dir);
    await until(
      'watches and descriptors are back',
      () => {
        return watchesOf(daemon.pid) <= before.watches + 4 && descriptorsOf(daemon.pid) <= before.descriptors + 4;
      },
      120_000,
    ).catch((error) => {
      throw new Error(`${error.message}: ${before.watches} → ${watchesOf(daemon.pid)} watches`);
    });
    return `${directories.length} directories, watches ${before.watches} → ${watchesOf(daemon.pid)}; ${said}`;
  },
};
