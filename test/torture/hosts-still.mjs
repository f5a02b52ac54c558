// Hosts and nats-servers that stand still for longer than anybody waits, and go on; and hosts whose time of day is set, as after a sleep. Each call has one
// answer, nothing is run twice, an error that says that nothing was done is true, and clients go on where they were or hear why not.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hostConfig, hostsOf, startCluster, underWay, untilUsed } from './hosts-place.mjs';
import { Peer, textOf } from './peer.mjs';
import { until } from './place.mjs';

const LEDGER = join(import.meta.dirname, '../fixtures/servers/ledger.mjs');
const SHIFTED = join(import.meta.dirname, 'shifted-clock.cjs');
const OWNERS = ['one', 'two'];
/** `kept` remembers, so one of its owners has it at a time. */
const VIEWS = ['server:ledger@one', 'server:ledger@two', 'server:ledger', 'server:kept'];
/** Longer than a call, a lease or an answer waits for anybody. */
const STILL_MS = 45_000;
/** A call is lost after 15 s, waits for its network for 30, and may go on to another host for 15. */
const PATIENCE_MS = 90_000;

class World {
  #place;
  #ledger;
  nats;
  owners = new Map();
  home;
  answers = { done: 0, unknown: 0, refused: 0 };
  done = new Set();
  undone = new Set();
  said = new Map();
  isOver = false;
  /** The longest time that a client waited for an answer. */
  slowestMs = 0;

  constructor(place) {
    this.#place = place;
    this.#ledger = place.path('ledger');
    writeFileSync(this.#ledger, '');
  }

  async start() {
    this.nats = await startCluster(this.#place);
    const urls = this.nats.map(({ url }) => url);
    const env = { ...this.#place.fixture().env, LEDGER: this.#ledger };
    const server = { command: process.execPath, args: [LEDGER], env };
    const mcpServers = { ledger: server, kept: { ...server, sharing: 'dedicated' } };
    const shifted = { NODE_OPTIONS: `--require ${SHIFTED}` };
    const at = (i) => [...urls.slice(i), ...urls.slice(0, i)];
    for (const [i, host] of OWNERS.entries()) {
      const config = hostConfig(this.#place, at(i), host, { mcpServers, offer: ['ledger', 'kept'] });
      this.owners.set(host, await this.#place.daemon({ config, env: shifted }));
    }
    this.home = await this.#place.daemon({ config: hostConfig(this.#place, at(2), 'home'), env: shifted });
    await this.whole();
  }

  /** Until everything is there, and works. */
  async whole() {
    const all = [...this.owners.values(), this.home];
    for (const host of OWNERS) for (const name of ['ledger', 'kept']) await untilUsed(this.home, `${name}@${host}`);
    for (const daemon of all) {
      const faults = async () => (await hostsOf(daemon)).faults;
      await until('a host has no faults', async () => (await faults()).length === 0, PATIENCE_MS).catch(
        async (error) => {
          throw new Error(`${error.message}: ${(await faults()).join('; ')}`);
        },
      );
    }
    for (const view of VIEWS) {
      let last;
      const answers = async () => {
        last = await this.#once(view);
        return last.result !== undefined;
      };
      await until(`${view} answers`, answers, PATIENCE_MS).catch((error) => {
        throw new Error(`${error.message}: ${JSON.stringify(last)}`);
      });
    }
  }

  async #once(view) {
    const peer = await this.#enter(view);
    if (peer === undefined) return {};
    const answer = await peer.soon(peer.call('note', { text: `whole:${Math.random()}` }), PATIENCE_MS);
    peer.close();
    return answer;
  }

  async #enter(view) {
    const peer = await Peer.open(this.home.path);
    const { result } = await peer.soon(peer.begin({ 'mcp-bridge/view': view }), PATIENCE_MS);
    if (result === undefined) {
      peer.close();
      return undefined;
    }
    peer.send('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    return peer;
  }

  /** Clients that call without a pause; each stays for as long as it is served. */
  async load(name, view) {
    let peer;
    for (let i = 0; !this.isOver; i++) {
      peer ??= await this.#enter(view);
      if (peer === undefined) {
        await delay(100);
        continue;
      }
      const text = `${name}:${i}`;
      const beganMs = performance.now();
      const args = { text, ...(i % 7 === 0 && { ms: 400 }), ...(i % 31 === 0 && { bytes: 600_000 }) };
      const answer = await peer.soon(peer.call('note', args), PATIENCE_MS);
      this.slowestMs = Math.max(this.slowestMs, performance.now() - beganMs);
      assert.equal(answer.never, undefined, `${text} at ${view} has no answer`);
      assert.equal(answer.lost, undefined, `${text} at ${view}: the client was hung up on`);
      assert.deepEqual(peer.faults, []);
      this.#note(text, answer);
      await delay(answer.error === undefined ? 5 : 50);
    }
    peer?.close();
  }

  #note(text, answer) {
    if (answer.result !== undefined) {
      assert.equal(textOf(answer), text);
      this.answers.done++;
      return this.done.add(text);
    }
    const { message = '', data } = answer.error;
    assert(message.length > 0, `${text}: an error says why`);
    const code = process.env.SHOW ? message.slice(0, 160) : (data?.code ?? `${answer.error.code}`);
    this.said.set(code, (this.said.get(code) ?? 0) + 1);
    if (/unknown/.test(message)) this.answers.unknown++;
    else {
      this.undone.add(text);
      this.answers.refused++;
    }
  }

  check() {
    const times = new Map();
    for (const text of readFileSync(this.#ledger, 'utf8').split('\n').filter(Boolean))
      times.set(text, (times.get(text) ?? 0) + 1);
    const twice = [...times].filter(([, count]) => count > 1).map(([text]) => text);
    assert.deepEqual(twice, [], 'calls that were run twice');
    assert.deepEqual(
      [...this.done].filter((text) => !times.has(text)),
      [],
      'calls that were answered and not run',
    );
    assert.deepEqual(
      [...this.undone].filter((text) => times.has(text)),
      [],
      'calls that were run, and said not to be',
    );
  }

  async held() {
    for (const daemon of [...this.owners.values()])
      await until('no call is left', async () => underWay(await hostsOf(daemon)) === 0, PATIENCE_MS);
  }

  /** Has clients call while something is done to the world; they are served again when that is over. */
  async under(name, fault) {
    this.isOver = false;
    const clients = VIEWS.flatMap((view, i) => [0, 1].map((k) => this.load(`${name}.${i}.${k}`, view)));
    const ended = Promise.all(clients);
    ended.catch(() => undefined); // told below
    await Promise.race([delay(500), ended]);
    await Promise.race([fault(), ended]);
    await Promise.race([this.whole(), ended]);
    await Promise.race([delay(500), ended]);
    this.isOver = true;
    await ended;
    this.check();
    await this.held();
  }

  get figures() {
    const { done, unknown, refused } = this.answers;
    const errors = [...this.said].map(([code, count]) => `${count} ${code}`).join(', ') || 'no errors';
    return `${done} answered, ${unknown} with an unknown outcome, ${refused} refused (${errors}); none without an answer, none run twice, no refusal of a call that had run; the longest took ${(this.slowestMs / 1000).toFixed(0)} s`;
  }
}

async function standStill({ pid }, ms) {
  process.kill(pid, 'SIGSTOP');
  await delay(ms);
  process.kill(pid, 'SIGCONT');
}

export const hostsStill = {
  async 'hosts and nats-servers that stand still for longer than anybody waits'(place, { isShort }) {
    const world = new World(place);
    await world.start();
    const ms = isShort ? 1500 : STILL_MS;
    const victims = { home: world.home, owner: world.owners.get('one') };
    for (const server of isShort ? world.nats.slice(0, 1) : world.nats) victims[server.name] = server;
    for (const [name, victim] of Object.entries(victims)) await world.under(name, () => standStill(victim, ms));
    return `${Object.keys(victims).length} stood still for ${ms / 1000} s each: ${world.figures}`;
  },

  async 'hosts whose clocks are set while others ask them'(place, { isShort }) {
    const world = new World(place);
    await world.start();
    const daemons = { home: world.home, one: world.owners.get('one'), two: world.owners.get('two') };
    const rounds = isShort ? 1 : 3;
    for (let round = 0; round < rounds; round++)
      for (const [name, daemon] of Object.entries(daemons))
        await world.under(`${name}.${round}`, async () => {
          for (let i = 0; i < 2; i++) {
            daemon.kill('SIGUSR2'); // a day on, and a day back
            await delay(isShort ? 300 : 2500);
          }
        });
    return `${rounds * 6} times by a day: ${world.figures}`;
  },
};
