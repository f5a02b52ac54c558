// The n-th thing that a program asks of the system fails, for every n of a whole day of its: it may refuse to start, it
// may refuse a call, it never crashes, hangs, or leaves a process, a call, or half a file.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Peer, textOf } from './peer.mjs';
import { commandOf, entriesBelow, FIXTURE, until } from './place.mjs';

const INJECTION = join(import.meta.dirname, 'failing-calls.cjs');
const HTTP_SERVER = join(FIXTURE, '../http-server.mjs');
/** So many days at the same time: much of one is spent waiting. */
const AT_ONCE = 4;
const CRASH = /Uncaught|UnhandledPromise|node:internal|\.cjs:\d+\n|^ {4}at /m;
/** A line that says why; a daemon that listens says so in one like it. */
const REASON = /^mcp-bridge: (?!listening on )\S/m;
/** What is written beside a file or a socket before it has that name. */
const TEMPORARY = /(?:\.[0-9a-f]{12}|\.tmp|\.new|\/\.m[0-9a-f]{6})$/;

const homeIn = (dir) => join(dir, 'home');

const runningIn = (place, dir) => place.running(`HOME=${homeIn(dir)}`);

/** What is asked of everything that is loaded into a program. */
const injected = (n, count, program) => ({
  NODE_OPTIONS: `--require ${INJECTION}`,
  ...{ FAIL_AT: String(n), FAIL_COUNT: count, FAIL_IN: program },
});

async function asked(answers, peer, answer) {
  const got = await peer.soon(answer, 20_000);
  assert(!got.never, 'every request is answered, or its connection ends');
  answers.push(got);
  return got;
}

/** A daemon starts, serves what `serves` asks of it, and stops. What of it was refused. */
async function day(
  place,
  { n, count, program = 'serve', config = place.config(), dir = place.newDir(), serves = aDay },
) {
  const env = { ...injected(n, count, program), HOME: homeIn(dir) };
  const daemon = await place.daemon({ config, path: join(dir, 'sock'), env, waits: false });
  await until('it listens or ends', () => daemon.isListening || daemon.child.exitCode !== null);
  const hasListened = daemon.isListening;
  const isServed = hasListened && (await serves(daemon));
  if (hasListened) {
    assert(runningIn(place, dir).includes(daemon.pid), 'its processes are found');
    await nothingUnderWay(daemon);
    daemon.kill('SIGTERM');
  }
  const { code, signal } = await place.ended(daemon);
  await until('what it has said is here', () => daemon.child.stderr.closed);
  assert.equal(signal, null, daemon.stderr);
  assert(!CRASH.test(daemon.stderr), daemon.stderr);
  // A failed start, or end, is 1 or 2, and says why.
  if (code !== 0 || !hasListened) {
    assert([1, 2].includes(code), `ended with ${code}: ${daemon.stderr}`);
    assert.match(daemon.stderr, REASON);
  }
  await nothingLeft(place, dir);
  if (!hasListened) return 'did not start';
  return isServed ? 'served' : 'refused something';
}

/** Of clients that have gone, whatever went wrong meanwhile. */
async function nothingUnderWay(daemon) {
  let status;
  const isQuiet = ({ clients, parked, parkedBytes, instances }) =>
    clients + parked + parkedBytes === 0 &&
    instances.length <= 1 &&
    instances.every(({ inFlight, sessions }) => inFlight + sessions === 0);
  // It may be the question itself that fails, once.
  await until('nothing is under way', async () => {
    status = (await daemon.status().catch(() => undefined)) ?? status;
    return status !== undefined && isQuiet(status);
  }).catch((error) => {
    const { clients, parked, instances } = status ?? {};
    throw new Error(`${error.message}: ${JSON.stringify({ clients, parked, instances })} ${daemon.stderr}`);
  });
}

/** Of a daemon that has ended: no process, and no file that is half written. */
async function nothingLeft(place, dir) {
  await until('its processes have gone', () => runningIn(place, dir).length === 0).catch(({ message }) =>
    assert.fail(`${message}: ${runningIn(place, dir).map(commandOf)}`),
  );
  for (const path of entriesBelow(dir)) {
    assert(!TEMPORARY.test(path), `left: ${path}`);
    if (path.endsWith('.json')) JSON.parse(readFileSync(path, 'utf8'));
    if (path.endsWith('.jsonl')) for (const line of linesOf(path)) JSON.parse(line);
  }
}

function linesOf(file) {
  const text = readFileSync(file, 'utf8');
  assert(text === '' || text.endsWith('\n'), `the last line of ${file} is whole`);
  return text.split('\n').slice(0, -1);
}

/** Two clients, one of which has the server crash. */
async function aDay(daemon) {
  const answers = [];
  const peer = await Peer.open(daemon.path);
  await asked(answers, peer, peer.begin());
  await asked(answers, peer, peer.ask('tools/list', {}));
  await asked(answers, peer, peer.call('crash'));
  await asked(answers, peer, peer.call('echo', { text: 'after' }));
  const other = await Peer.open(daemon.path);
  await asked(answers, other, other.begin({ 'mcp-bridge/view': 'all' }));
  await asked(answers, other, other.ask('tools/list', {}));
  const last = await asked(answers, other, other.call('fixture__echo', { text: 'last' }));
  assert.deepEqual([...peer.faults, ...other.faults], []);
  for (const each of [peer, other]) each.close();
  return textOf(last) === 'last';
}

/** One client, one call. */
const aCall = (tool) => async (daemon) => {
  const answers = [];
  const peer = await Peer.open(daemon.path);
  await asked(answers, peer, peer.begin({ 'mcp-bridge/view': 'all' }));
  await asked(answers, peer, peer.ask('tools/list', {}));
  const last = await asked(answers, peer, peer.call(tool, { text: 'last' }));
  assert.deepEqual(peer.faults, []);
  peer.close();
  return textOf(last) === 'last';
};

/** So many calls fail in the short form, from the first to the last ones. */
const FEW = 8;

/** Tries one that nothing fails in, then each call that was counted; with `isShort` some of them. */
async function eachCall(place, { isShort, tries }) {
  const count = place.newPath('count');
  assert.equal(await tries(0, count), 'served');
  const calls = Number(readFileSync(count, 'utf8'));
  const step = isShort ? Math.ceil(calls / FEW) : 1;
  const tally = {};
  let next = 1;
  const work = async () => {
    while (next <= calls) {
      const n = next;
      next += step;
      const outcome = await tries(n, place.newPath('count')).catch((error) => {
        next = calls + 1;
        throw new Error(`the ${n}th of ${calls} calls: ${error.message}`);
      });
      tally[outcome] = (tally[outcome] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const outcomes = Object.entries(tally).map(([outcome, times]) => `${times} ${outcome}`);
  return `${calls} calls of the system: ${outcomes.join(', ')}`;
}

/** For a day in whose home another client's config defines the server. */
function dirWithServer(place) {
  const dir = place.newDir();
  mkdirSync(join(homeIn(dir), '.cursor'), { recursive: true });
  writeFileSync(join(homeIn(dir), '.cursor/mcp.json'), JSON.stringify({ mcpServers: { fixture: place.fixture() } }));
  return dir;
}

async function httpServer(place) {
  const child = place.spawn(process.execPath, [HTTP_SERVER, 'http'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const port = await new Promise((resolve) => child.stdout.once('data', (said) => resolve(Number(said))));
  return { type: 'http', url: `http://127.0.0.1:${port}/mcp` };
}

/** `connect`, whose client asks three things at once and waits for what comes of them. */
async function conversation(place, { n, count, args, home }) {
  const lines = [
    ['initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'torture', version: '1' } }],
    ['tools/list', {}],
    ['tools/call', { name: 'echo', arguments: { text: 'last' } }],
  ].map(([method, params], id) => `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  const env = { ...injected(n, count, 'connect'), HOME: home };
  const { code, signal, stdout, stderr } = await place.run(['connect', '--server', 'fixture', ...args], {
    input: lines.join(''),
    env,
  });
  assert.equal(signal, null, stderr);
  assert(!CRASH.test(stderr), stderr);
  const messages = stdout
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const answers = messages.filter(({ method }) => method === undefined);
  const ids = answers.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length, `each is answered once: ${stdout}`);
  // Who can be told nothing any more sees the end.
  if (code === 0) assert.deepEqual(ids.toSorted(), [0, 1, 2], `each is answered: ${stdout} ${stderr}`);
  else assert.match(stderr, REASON);
  assert([0, 1, 2].includes(code), `ended with ${code}: ${stderr}`);
  if (answers.length < 3) return 'ended with a word on stderr';
  return answers.some(({ error }) => error !== undefined) ? 'told its client' : 'served';
}

export const faults = {
  'every call of the system fails once': (place, { isShort }) =>
    eachCall(place, { isShort, tries: (n, count) => day(place, { n, count }) }),

  'every call of a daemon that finds its servers and records calls': (place, { isShort }) =>
    eachCall(place, {
      isShort,
      tries: (n, count) => {
        const dir = dirWithServer(place);
        const audit = { file: join(dir, 'audit.jsonl') };
        const config = place.config({ mcpServers: {}, discovery: { enabled: true }, audit });
        return day(place, { n, count, config, dir, serves: aCall('fixture__echo') });
      },
    }),

  'every call of the process that finds servers': (place, { isShort }) =>
    eachCall(place, {
      isShort,
      tries: (n, count) => {
        const config = place.config({ mcpServers: {}, discovery: { enabled: true } });
        const found = { config, program: 'finder.cjs', dir: dirWithServer(place) };
        return day(place, { n, count, ...found, serves: aCall('fixture__echo') });
      },
    }),

  async 'every call of a daemon with a server at a URL'(place, { isShort }) {
    const remote = await httpServer(place);
    // Node 20 and 22 never tell of a connection that breaks while they load their parser of HTTP: the limit for a start ends the wait.
    const config = place.config({ mcpServers: { remote }, limits: { startTimeoutMs: 10_000 } });
    const serves = aCall('remote__echo');
    return eachCall(place, { isShort, tries: (n, count) => day(place, { n, count, config, serves }) });
  },

  async 'every call of `connect`'(place, { isShort }) {
    const daemon = await place.daemon();
    const args = ['--mcp-bridge-socket', daemon.path];
    const tries = (n, count) => conversation(place, { n, count, args, home: place.newPath('home') });
    return eachCall(place, { isShort, tries });
  },

  async 'every call of `connect` that starts the daemon'(place, { isShort }) {
    // A connection that fails takes no leave, and the daemon waits for its client.
    const config = place.config({ daemon: { idleExitMs: 1000 }, limits: { resumeGraceMs: 1000 } });
    const tries = async (n, count) => {
      const home = place.newPath('home');
      mkdirSync(home, { mode: 0o700 });
      const args = ['--mcp-bridge-socket', place.newPath('sock'), '--config', config];
      return conversation(place, { n, count, args, home });
    };
    return eachCall(place, { isShort, tries });
  },
};
