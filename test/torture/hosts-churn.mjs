// Hosts under load while daemons and nats-servers are killed, restarted and stopped: each call has one answer, nothing is run twice, an error that says that
// nothing was done is true, and nothing is left in those that live on.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hostConfig, hostsOf, startCluster, startNats, underWay, untilUsed } from './hosts-place.mjs';
import { Peer, textOf } from './peer.mjs';
import { commandOf, descriptorsOf, until } from './place.mjs';
import { Dice } from './random.mjs';

const LEDGER = join(import.meta.dirname, '../fixtures/servers/ledger.mjs');
const SWITCHED = join(import.meta.dirname, 'switched.cjs');
const OWNERS = ['one', 'two'];
const VIEWS = ['server:ledger@one', 'server:ledger@two', 'server:ledger'];
const MIB = 1 << 20;
/** An owner that lives has its server, and the watcher that ends it if the owner is killed. */
const PROCESSES_OF_OWNER = 2;
/** A call that nobody hears of any more is lost after 15 s, and may go on to another host for as long. */
const PATIENCE_MS = 60_000;

/** Three nats-servers, two owners, and a home that lives through all of it. */
class World {
  seed = 0;
  #place;
  #ledger;
  #nats;
  #owners = new Map();
  home;
  isOver = false;
  calls = 0;
  slow = [];
  errors = new Map();
  /** The texts of calls by what came of them. */
  done = new Set();
  undone = new Set();
  churned = { nats: 0, owners: 0, stops: 0 };

  constructor(place) {
    this.#place = place;
    this.#ledger = place.path('ledger');
    writeFileSync(this.#ledger, '');
  }

  async start() {
    this.#nats = await startCluster(this.#place);
    const urls = this.#nats.map(({ url }) => url);
    for (const host of OWNERS) {
      const ledger = {
        command: process.execPath,
        args: [LEDGER],
        env: { ...this.#place.fixture().env, LEDGER: this.#ledger },
      };
      const config = hostConfig(this.#place, urls, host, { mcpServers: { ledger }, offer: ['ledger'] });
      const path = this.#place.newPath('sock');
      this.#owners.set(host, { config, path, daemon: await this.#place.daemon({ config, path }) });
    }
    this.home = await this.#place.daemon({
      config: hostConfig(this.#place, urls, 'home'),
      env: { NODE_OPTIONS: `--expose-gc --require ${SWITCHED}`, KEEP_NO_CODE: '1' },
    });
    await this.whole();
  }

  /** Until everything is there again. */
  async whole() {
    for (const host of OWNERS) await untilUsed(this.home, `ledger@${host}`);
    const faults = async () => (await hostsOf(this.home)).faults;
    const isWell = async () => (await faults()).length === 0;
    await until('the home has no faults', isWell, PATIENCE_MS).catch(async ({ message }) => {
      throw new Error(`${message}: ${(await faults()).join('; ')}`);
    });
  }

  /** The commands of all that runs, for people. */
  get commands() {
    return this.#place.running().map((pid) => commandOf(pid).slice(0, 120));
  }

  // --- what is done to it ---

  async churn(kind, dice) {
    if (kind === 'nats') return this.#killNats(dice.below(this.#nats.length));
    const host = dice.oneOf(OWNERS);
    if (kind === 'stop') return this.#stopOwner(host);
    return this.#restartOwner(host, kind === 'kill' ? 'SIGKILL' : 'SIGTERM');
  }

  async #killNats(at) {
    const server = this.#nats[at];
    server.child.kill('SIGKILL');
    await server.exited;
    await delay(500);
    this.#nats[at] = await startNats(this.#place, { ...server, like: server });
    this.churned.nats++;
  }

  async #restartOwner(host, signal) {
    const owner = this.#owners.get(host);
    owner.daemon.kill(signal);
    await this.#place.ended(owner.daemon);
    owner.daemon = await this.#place.daemon({ config: owner.config, path: owner.path });
    this.churned.owners++;
  }

  async #stopOwner(host) {
    const { daemon } = this.#owners.get(host);
    daemon.kill('SIGSTOP');
    await delay(2500);
    daemon.kill('SIGCONT');
    this.churned.stops++;
  }

  // --- the load ---

  /** One client that calls without a pause, each time with a text of its own. */
  async load(name, view, dice) {
    let client;
    for (let i = 0; !this.isOver; i++) {
      client ??= await this.#enter(view);
      if (client === undefined) {
        await delay(100); // nobody offers it at present
        continue;
      }
      const text = `${name}:${i}`;
      const large = dice.once(20) ? { bytes: 1_200_000 } : {};
      const slow = dice.once(10) ? { ms: 300 } : {};
      const beganMs = performance.now();
      const answer = await client.soon(client.call('note', { text, ...large, ...slow }), PATIENCE_MS);
      this.calls++;
      const ms = performance.now() - beganMs;
      if (ms > 1000) this.slow.push(`${view} ${ms.toFixed(0)} ms`);
      assert.equal(answer.never, undefined, `${text} at ${view} has no answer`);
      assert.deepEqual(client.faults, []);
      this.#note(text, answer);
      if (answer.error !== undefined) await delay(50);
      if (dice.once(50)) {
        client.close();
        client = undefined;
      }
    }
    client?.close();
  }

  /** A client, unless nobody offers what it wants. */
  async #enter(view) {
    const peer = await Peer.open(this.home.path);
    const { result } = await peer.begin({ 'mcp-bridge/view': view });
    if (result === undefined) {
      peer.close();
      return undefined;
    }
    peer.send('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    return peer;
  }

  #note(text, answer) {
    if (answer.result !== undefined) {
      assert.equal(textOf(answer), text);
      return this.done.add(text);
    }
    const { code = 'none', message } = { message: answer.error?.message ?? 'lost', ...answer.error?.data };
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
    if (code === 'SERVER_UNREACHABLE' && !/unknown/.test(message)) this.undone.add(text);
  }

  /** Looks in the ledger what was run. */
  check() {
    const times = new Map();
    for (const text of readFileSync(this.#ledger, 'utf8').split('\n').filter(Boolean))
      times.set(text, (times.get(text) ?? 0) + 1);
    const twice = [...times].filter(([, count]) => count > 1).map(([text]) => text);
    assert.deepEqual(twice, [], 'calls that were run twice');
    const missing = [...this.done].filter((text) => !times.has(text));
    assert.deepEqual(missing, [], 'calls that were answered and not run');
    const lies = [...this.undone].filter((text) => times.has(text));
    assert.deepEqual(lies, [], 'calls that were run, and their clients were told that they were not');
  }

  /** What the home holds once nobody asks for anything. */
  async held() {
    await this.whole();
    await until('all clients have left', async () => (await this.home.status()).clients === 0);
    for (const { daemon } of this.#owners.values())
      await until('no call is left', async () => underWay(await hostsOf(daemon)) === 0, PATIENCE_MS);
    this.home.kill('SIGUSR2'); // what is left then is in use
    const { memory } = await this.home.status();
    return {
      descriptors: descriptorsOf(this.home.pid),
      heapMib: memory.heapBytes / MIB,
      processes: this.#place.running().length,
    };
  }
}

export const hostsChurn = {
  async 'hosts and nats-servers that are killed and restarted under load'(place, { isShort, minutes }) {
    const world = new World(place);
    await world.start();
    const seed = Number(process.env.SEED ?? (isShort ? 7 : Date.now() % 1_000_000));
    const dice = new Dice(seed);
    const before = await world.held();
    const rounds = [];
    const endMs = performance.now() + (minutes ?? (isShort ? 0 : 2)) * 60_000;
    do {
      world.isOver = false;
      const clients = Array.from({ length: isShort ? 6 : 12 }, (_, i) =>
        world.load(`${rounds.length}.${i}`, VIEWS[i % VIEWS.length], new Dice(dice.below(1 << 30))),
      );
      const ended = Promise.all(clients);
      ended.catch(() => undefined); // told below
      for (const kind of isShort
        ? ['kill', 'nats', 'term']
        : Array.from({ length: 12 }, () => dice.oneOf(['kill', 'term', 'stop', 'nats', 'nats']))) {
        await Promise.race([delay(isShort ? 500 : 1500), ended]);
        await world.churn(kind, dice);
      }
      world.isOver = true;
      await ended;
      world.check();
      rounds.push(await world.held());
    } while (performance.now() < endMs);
    const after = rounds.at(-1);
    const what = `seed ${seed}: ${JSON.stringify({ before, rounds: rounds.slice(-8) })}`;
    assert(after.descriptors <= before.descriptors + 12, `descriptors: ${what}`);
    assert(after.heapMib <= before.heapMib + 12, `memory: ${what}`);
    const mostProcesses = before.processes + OWNERS.length * PROCESSES_OF_OWNER;
    assert(after.processes <= mostProcesses, `processes: ${what}: ${world.commands.join('; ')}`);
    const { nats, owners, stops } = world.churned;
    if (process.env.SHOW_SLOW) console.log(world.slow.join('\n'));
    const errors = [...world.errors].map(([code, count]) => `${count} ${code}`).join(', ') || 'no errors';
    return (
      `${world.calls} calls while ${nats} nats-servers and ${owners} daemons were restarted and ${stops} stood still: ${world.done.size} answered, ` +
      `${errors}; 0 without an answer, 0 run twice, 0 errors that lied; descriptors ${before.descriptors} → ${after.descriptors}, ` +
      `heap ${before.heapMib.toFixed(0)} → ${after.heapMib.toFixed(0)} MiB`
    );
  },
};
