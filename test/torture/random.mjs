// Random clients and servers, honest and rude, for as long as one likes: they call, ask, cancel, crash servers, stop reading
// and hang up in the middle of everything. Each answer is checked. In between all leave, and nothing of them may be left.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Peer, textOf } from './peer.mjs';
import { commandOf, descriptorsOf, rssMib, until } from './place.mjs';

const SWITCHED = join(import.meta.dirname, 'switched.cjs');
const HTTP_SERVER = join(import.meta.dirname, '../fixtures/servers/http-server.mjs');
const MIB = 1 << 20;
const FIXED_SEEDS = [1, 2, 3];
const PATIENCE_MS = 60_000;
const LIMITS = {
  callTimeoutMs: 2500,
  questionTimeoutMs: 500,
  questionHeldMs: 1000,
  // Those who stop reading are cut off within a round.
  maxQueuedBytesPerClient: MIB,
  stallTimeoutMs: 1500,
  termGraceMs: 500,
  // A crash is what one of the servers is for.
  maxDeathsPerMinute: 100_000,
};

/** Numbers that a seed determines (mulberry32). */
export class Dice {
  #state;
  constructor(seed) {
    this.#state = seed >>> 0;
  }
  /** From 0 up to, and without, `below`. */
  below(below) {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  }
  oneOf(items) {
    return items[this.below(items.length)];
  }
  /** True once in so many times. */
  once(inSoMany) {
    return this.below(inSoMany) === 0;
  }
}

/** Watches of the file system that a process holds. */
export function watchesOf(pid) {
  let count = 0;
  for (const name of readdirSync(`/proc/${pid}/fdinfo`)) {
    try {
      count += readFileSync(`/proc/${pid}/fdinfo/${name}`, 'latin1').match(/^inotify wd:/gm)?.length ?? 0;
    } catch {} // Closed meanwhile.
  }
  return count;
}

/** One client with a life of its own: some dozens of actions, then it leaves in one of many ways. */
class Guest {
  #dice;
  #tally;
  #name;
  #view;
  #peer;
  #requests = 0;
  #isDeaf = false;
  #isLeaving = false;
  #open = new Set();

  constructor(dice, tally, name) {
    this.#dice = dice;
    this.#tally = tally;
    this.#name = name;
    this.#view = dice.oneOf([
      'server:calm',
      'server:calm',
      'server:asking',
      'server:asking',
      'server:crashing',
      'server:remote',
      'all',
      'all',
    ]);
  }

  async live(daemon) {
    const capabilities = this.#dice.once(4)
      ? {}
      : { elicitation: {}, roots: this.#dice.once(2) ? { listChanged: true } : undefined };
    this.#peer = await Peer.ready(daemon.path, { 'mcp-bridge/view': this.#view }, capabilities);
    this.#peer.questions = { push: (question) => this.#asked(question) };
    for (let n = 3 + this.#dice.below(30); n > 0 && !this.#peer.isClosed; n--) {
      this.#act();
      if (this.#dice.once(3)) await delay(this.#dice.below(20));
      if (this.#dice.once(12)) await this.#settled();
    }
    await this.#leave();
    this.#tally.faults.push(...this.#peer.faults.map((fault) => `${this.#name} (${this.#view}): ${fault}`));
  }

  #act() {
    const acts = [
      () => this.#echo(),
      () => this.#echo(),
      () => this.#echo(),
      () => this.#request('slow', { ms: this.#dice.below(300), steps: this.#dice.below(4) }, (text) => text === 'done'),
      () => this.#request('tools', () => undefined),
      () => this.#elicit(),
      () => this.#elicit(),
      () => this.#hold(),
      () => this.#level(),
      () => this.#subscription(),
      () => this.#cancelOne(),
      () => this.#crash(),
      () => this.#nuisance(),
    ];
    this.#dice.oneOf(acts)();
  }

  #server() {
    if (this.#view !== 'all') return this.#view.slice('server:'.length);
    return this.#dice.oneOf(['calm', 'asking', 'crashing', 'remote']);
  }

  #toolOf(server, tool) {
    return this.#view === 'all' ? `${server}__${tool}` : tool;
  }

  #echo() {
    const text = `${this.#name}:${this.#requests}${'x'.repeat(this.#dice.once(20) ? 200_000 : this.#dice.below(200))}`;
    const server = this.#server();
    this.#expectAnswer(server, this.#call(server, 'echo', { text }), (answer) => textOf(answer) === text);
  }

  #request(tool, args, isRight) {
    const server = this.#server();
    if (tool === 'tools')
      return this.#expectAnswer(server, this.#ask('tools/list'), ({ result }) => Array.isArray(result?.tools));
    this.#expectAnswer(server, this.#call(server, tool, args), (answer) => isRight(textOf(answer)));
  }

  /** The server asks back: whom it asks has to be this client, and the answer has to be the one that this client gave. */
  #elicit() {
    if (this.#view !== 'server:asking' && this.#view !== 'all') return this.#echo();
    const params = { message: this.#name, requestedSchema: { type: 'object', properties: {} } };
    this.#expectAnswer(
      'asking',
      this.#call('asking', 'ask', { params }),
      (answer) => {
        const said = JSON.parse(textOf(answer) ?? '{}');
        return said.code !== undefined || said.content?.who === this.#name || said.action === 'decline';
      },
      true,
    );
  }

  #asked(question) {
    if (question.method === 'roots/list') return this.#peer.say({ id: question.id, result: { roots: [] } });
    if (question.params?.message !== this.#name)
      this.#tally.faults.push(`${this.#name} was asked what ${question.params?.message} should be`);
    const answer = this.#dice.oneOf([
      { result: { action: 'accept', content: { who: this.#name } } },
      { result: { action: 'accept', content: { who: this.#name } } },
      { result: { action: 'decline' } },
      { error: { code: -32000, message: 'no' } },
      undefined,
    ]);
    this.#tally.questions++;
    if (answer === undefined) return;
    if (this.#dice.once(2)) this.#peer.say({ id: question.id, ...answer });
    else setTimeout(() => this.#peer.say({ id: question.id, ...answer }), this.#dice.below(50));
    if (this.#dice.once(10)) this.#peer.say({ id: question.id, ...answer });
  }

  #hold() {
    const server = this.#server();
    if (server === 'remote') return this.#echo();
    if (this.#dice.once(2))
      return this.#expectAnswer(server, this.#call(server, 'hold'), (answer) => textOf(answer) === 'released', true);
    this.#expectAnswer(server, this.#call(server, 'release'), (answer) => textOf(answer) === 'ok');
  }

  #level() {
    const level = this.#dice.oneOf(['debug', 'info', 'warning', 'error']);
    this.#expectAnswer('any', this.#ask('logging/setLevel', { level }), () => true, true);
  }

  #subscription() {
    const uri = `test://${this.#dice.below(5)}`;
    const method = this.#dice.oneOf(['resources/subscribe', 'resources/unsubscribe']);
    this.#expectAnswer('any', this.#ask(method, { uri }), () => true, true);
  }

  #cancelOne() {
    const [request] = this.#open;
    if (request === undefined || this.#isDeaf) return;
    request.isCancelled = true;
    this.#open.delete(request);
    this.#peer.say({ method: 'notifications/cancelled', params: { requestId: request.id } });
  }

  #crash() {
    if (this.#view !== 'server:crashing' && this.#view !== 'all') return this.#echo();
    if (this.#dice.once(2)) this.#expectAnswer('crashing', this.#call('crashing', 'crash'), () => false, true);
  }

  #nuisance() {
    this.#dice.oneOf([
      () => this.#peer.send('{"jsonrpc":"2.0","method":"notifications/nobody/knows"}\n'),
      () => this.#peer.say({ id: 'never-asked', result: {} }),
      () => this.#peer.say({ method: 'notifications/roots/list_changed' }),
      () => this.#peer.say({ method: 'notifications/cancelled', params: { requestId: 'nothing' } }),
      () => this.#expectAnswer('bridge', this.#ask('ping'), ({ result }) => result !== undefined),
      () => this.#expectAnswer('any', this.#ask('no/such/method'), ({ error }) => error !== undefined, true),
      () => this.#expectAnswer('any', this.#ask('prompts/list'), () => true, true),
      () => {
        if (!this.#dice.once(4)) return;
        this.#isDeaf = true;
        this.#peer.stopReading();
        for (let i = 0; i < 4; i++)
          this.#call('calm', this.#view === 'server:remote' ? 'echo' : 'blob', { mib: 1, text: 'x' });
      },
    ])();
  }

  /** In half of the cases it hangs up with all that is pending, as the machine would have it. */
  async #leave() {
    const way = this.#dice.below(6);
    if (way === 0 && !this.#isDeaf) await this.#settled();
    this.#isLeaving = true;
    if (way === 1 && !this.#isDeaf) {
      this.#peer.end();
      await this.#peer.closed;
      return;
    }
    if (way === 2) this.#peer.send('{"jsonrpc":"2.0","id":77,"method":"tools/ca');
    if (way === 3) {
      // Several requests in the very chunk before the end.
      const line = (id, method, params) => {
        this.#peer.expect(id);
        return `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
      };
      this.#peer.send(
        line('last-1', 'tools/call', { name: this.#toolOf('asking', 'hold'), arguments: {} }) +
          line('last-2', 'logging/setLevel', { level: 'info' }) +
          line('last-3', 'resources/unsubscribe', { uri: 'test://1' }) +
          line('last-4', 'tools/call', { name: this.#toolOf('calm', 'echo'), arguments: { text: 'x' } }),
      );
      await delay(this.#dice.below(3));
    }
    this.#peer.close();
  }

  /** Waits for what is asked, but for what may take its time. */
  async #settled() {
    if (this.#isDeaf) return;
    await Promise.all([...this.#open].filter(({ mayFail }) => !mayFail).map(({ done }) => done));
  }

  #call(server, tool, args = {}) {
    return this.#ask('tools/call', { name: this.#toolOf(server, tool), arguments: args });
  }

  #ask(method, params) {
    const id = this.#dice.once(2) ? this.#requests : `${this.#name}-${this.#requests}`;
    this.#requests++;
    return { id, answer: this.#peer.ask(method, params, id) };
  }

  /** What is asked of a server that crashes, and what `mayFail`, may be an error; it is answered all the same. */
  #expectAnswer(server, { id, answer }, isRight, mayFail = false) {
    const request = { id, isCancelled: false, mayFail: mayFail || server === 'crashing', done: undefined };
    this.#open.add(request);
    const isDeafNow = this.#isDeaf;
    request.done = this.#peer.soon(answer, PATIENCE_MS).then((said) => {
      this.#open.delete(request);
      if (request.isCancelled) return;
      if (said.lost) {
        if (!this.#isLeaving && !this.#isDeaf) this.#tally.faults.push(`${this.#name}: cut off for nothing`);
        return;
      }
      this.#tally.answers++;
      if (said.never) {
        if (!isDeafNow && !this.#isDeaf)
          this.#tally.faults.push(`${this.#name} (${this.#view}): ${id} of ${server} is never answered`);
      } else if (said.error ? !request.mayFail && !this.#mayBeRefused(said.error) : !isRight(said))
        this.#tally.faults.push(
          `${this.#name} (${this.#view}), ${id} of ${server}: ${JSON.stringify(said).slice(0, 300)}`,
        );
    });
  }

  /** A call in the lane of others that do not end may run out of time: that is its answer. */
  #mayBeRefused({ data }) {
    return data?.code === 'CALL_TIMED_OUT' && this.#tally.allowsTimeouts;
  }
}

/** Guests of one seed, so many at a time, for so long. */
async function party(daemon, seed, untilMs, tally, crowd) {
  const dice = new Dice(seed);
  let number = 0;
  const chair = async () => {
    while (performance.now() < untilMs) {
      tally.guests++;
      await new Guest(new Dice(dice.below(2 ** 32)), tally, `g${seed}-${++number}`).live(daemon);
      if (tally.faults.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: crowd }, chair));
}

function holdingsOf(daemon, place) {
  return { descriptors: descriptorsOf(daemon.pid), watches: watchesOf(daemon.pid), processes: place.running().length };
}

/** All have left: what the daemon holds when no client is there, and no server of theirs. */
async function emptyHouse(daemon, place, atStart) {
  await until('all clients have gone', async () => (await daemon.status()).clients === 0, 30_000);
  await until(
    'all servers have gone',
    async () => (await daemon.status()).instances.every(({ pid, state }) => pid === null && state !== 'ready'),
    30_000,
  ).catch(async (error) => {
    throw new Error(`${error.message}: ${JSON.stringify((await daemon.status()).instances)}`);
  });
  // Connections to a server at a URL are kept for some seconds; what was loaded meanwhile keeps a few for itself.
  await until('descriptors are back', () => descriptorsOf(daemon.pid) <= atStart.descriptors + 6, 30_000);
  daemon.kill('SIGUSR2');
  const { memory } = await daemon.status();
  return { ...holdingsOf(daemon, place), heap: memory.heapBytes / MIB, rss: rssMib(daemon.pid) };
}

const secondsOf = (minutes, otherwise) => (minutes === undefined ? otherwise : minutes * 60);

export const random = {
  async 'random clients and servers that hang up in the middle of everything'(place, { isShort, minutes }) {
    const http = place.spawn(process.execPath, [HTTP_SERVER, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const port = Number(await new Promise((resolve) => http.stdout.once('data', resolve)));
    const fixture = { ...place.fixture(), idleMs: 200, sharing: 'shared' };
    const mcpServers = {
      calm: fixture,
      asking: { ...place.fixture(), idleMs: 200 },
      crashing: fixture,
      remote: { type: 'http', url: `http://127.0.0.1:${port}/mcp`, idleMs: 200 },
      bystander: { ...place.fixture(), idleMs: 200 },
    };
    const daemon = await place.daemon({
      config: place.config({ mcpServers, limits: LIMITS }),
      env: { NODE_OPTIONS: `--expose-gc --max-semi-space-size=2 --require ${SWITCHED}` },
    });
    const crashed = daemon.exited.then(({ code, signal }) =>
      Promise.reject(new Error(`the daemon ended (${code ?? signal}): ${daemon.stderr.slice(-3000)}`)),
    );
    crashed.catch(() => undefined); // It is stopped at the end.
    const atStart = holdingsOf(daemon, place);
    const tally = { guests: 0, answers: 0, questions: 0, faults: [], allowsTimeouts: true };
    const seconds = secondsOf(minutes, isShort ? 3 : 60);
    const end = performance.now() + seconds * 1000;
    const round = Math.min(20_000, (seconds * 1000) / FIXED_SEEDS.length);
    const houses = [];
    const p99s = [];
    for (let i = 0; i < FIXED_SEEDS.length || performance.now() < end; i++) {
      const seed = FIXED_SEEDS[i] ?? Math.floor(Math.random() * 2 ** 31);
      const bystander = await place.pulse(daemon, 'server:bystander');
      await Promise.race([party(daemon, seed, performance.now() + round, tally, 12), crashed]);
      const { p99 } = await bystander.look();
      p99s.push(p99);
      bystander.leave();
      assert.deepEqual(tally.faults, [], `seed ${seed}`);
      houses.push(await emptyHouse(daemon, place, atStart));
      const { counters } = await daemon.status();
      assert.equal(counters.internalErrors, 0, `seed ${seed}: ${daemon.stderr.slice(-2000)}`);
    }
    const [first] = houses;
    const last = houses.at(-1);
    // A process that was ended a moment ago may still be on its way out.
    await until('all processes are gone', () => place.running().length <= first.processes, 30_000).catch((error) =>
      Promise.reject(new Error(`${error.message}: ${place.running().map(commandOf).join(', ')}`)),
    );
    assert(last.watches <= first.watches, `watches: ${houses.map((house) => house.watches).join(' ')}`);
    assert(last.heap < first.heap + 16, `heap in use: ${houses.map((house) => house.heap.toFixed(0)).join(' ')}`);
    assert(last.rss < first.rss + 64, `memory: ${houses.map((house) => house.rss.toFixed(0)).join(' ')}`);
    const worst = Math.max(...p99s);
    return (
      `${seconds} s, ${houses.length} rounds, ${tally.guests} clients, ${tally.answers} answers, ${tally.questions} questions, none lost, repeated or wrong; ` +
      `descriptors ${atStart.descriptors} → ${last.descriptors}, watches ${atStart.watches} → ${last.watches}, ` +
      `heap in use ${first.heap.toFixed(0)} → ${last.heap.toFixed(0)} MiB, memory ${first.rss.toFixed(0)} → ${last.rss.toFixed(0)} MiB; a bystander's p99 at most ${worst.toFixed(1)} ms`
    );
  },
};
