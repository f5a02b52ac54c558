// Sessions that go on: for those whose they are, however often their connections drop, and for nobody else.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { brittleWay, LastingPeer } from './lasting-peer.mjs';
import { Peer, textOf } from './peer.mjs';
import { descriptorsOf, until } from './place.mjs';

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const RESUME = 'mcp-bridge/resume';
const VIEW = { 'mcp-bridge/view': 'server:fixture' };

/** What is like a token, and is not it. */
function guessesOf(token, count) {
  const changed = (at) => `${token.slice(0, at)}${token[at] === 'a' ? 'b' : 'a'}${token.slice(at + 1)}`;
  return [
    ...times(token.length, changed),
    ...['', ' ', token.slice(1), token.slice(0, -1), `${token}0`, ` ${token}`, `${token}\n`, `${token}\u0000`],
    ...[null, true, 0, [], {}, [token], { token }, '__proto__', 'undefined', '*'],
    ...times(count, (i) => randomBytes(16).toString(i % 2 ? 'hex' : 'base64url')),
  ];
}

export const resuming = {
  async 'guessed resume tokens'(place, { isShort }) {
    const daemon = await place.daemon();
    const victim = await daemon.peer('server:fixture', { [RESUME]: true });
    const token = victim.hello.result._meta['mcp-bridge/resumeToken'];
    victim.call('hold', {}, 'mine');
    await until('it is under way', async () => (await daemon.status()).instances[0]?.calls > 0);
    victim.close();
    await until('its session waits', async () => (await daemon.status()).parked === 1);
    const guesses = guessesOf(token, isShort ? 100 : 5000);
    for (const guess of guesses) {
      const foe = await Peer.open(daemon.path);
      const answer = await foe.soon(foe.begin({ ...VIEW, [RESUME]: { token: guess, received: 0 } }));
      const { result, error } = answer;
      assert(
        error !== undefined || result?._meta['mcp-bridge/resumed'] === false,
        `${guess}: ${JSON.stringify(answer)}`,
      );
      foe.close();
    }
    const other = await daemon.peer();
    await other.call('release');
    const back = await Peer.open(daemon.path);
    const mine = back.expect('mine');
    const hello = await back.soon(back.begin({ ...VIEW, [RESUME]: { token, received: 0 } }));
    assert.equal(hello.result?._meta['mcp-bridge/resumed'], true, 'whose it is goes on with it');
    assert.equal(textOf(await back.soon(mine)), 'released', 'and nobody else got its answer');
    assert.deepEqual([...back.faults, ...other.faults], []);
    return `${guesses.length} guesses, none went on with another's session`;
  },

  async 'resumes in a storm'(place, { isShort }) {
    const rounds = isShort ? 4 : 20;
    const daemon = await place.daemon();
    const way = await brittleWay(place.newPath('sock'), daemon.path);
    const peers = await Promise.all(times(50, () => LastingPeer.ready(way.path)));
    for (let round = 0; round < rounds; round++) {
      const answers = peers.map((peer, i) => peer.call('slow', { ms: 20, text: `${i}` }));
      const texts = peers.map((peer, i) => peer.call('echo', { text: `${round}:${i}` }));
      await delay(round % 3 ? 5 : 40);
      way.drop();
      for (const answer of await Promise.all(answers)) assert.equal(textOf(answer), 'done');
      for (const [i, answer] of (await Promise.all(texts)).entries()) assert.equal(textOf(answer), `${round}:${i}`);
    }
    // Who leaves while it is away cannot say so, and is waited for.
    await Promise.all(peers.map((peer) => peer.call('echo', { text: 'still here' })));
    for (const peer of peers) assert.deepEqual(peer.faults, []);
    const { counters } = await daemon.status();
    // A client that has not come back yet does not notice another drop.
    assert(counters.sessionsResumed >= 25 * rounds, `resumed ${counters.sessionsResumed}`);
    for (const peer of peers) await peer.close();
    await until('nobody is left', async () => {
      const { clients, parked } = await daemon.status();
      return clients + parked === 0;
    });
    way.close();
    return `${counters.sessionsResumed} sessions went on, ${100 * rounds} calls, each answered once`;
  },

  async 'restarts under clients that call'(place, { isShort }) {
    const rounds = isShort ? 3 : 40;
    const config = place.config();
    const where = ['--mcp-bridge-socket', place.newPath('sock'), '--config', config];
    assert.equal((await place.run(['start', ...where])).code, 0);
    const peers = await Promise.all(times(10, () => LastingPeer.ready(where[1])));
    let calls = 0;
    let isOver = false;
    const talk = async (peer, i) => {
      for (let n = 0; !isOver; n++, calls++)
        assert.equal(textOf(await peer.call('echo', { text: `${i}:${n}` })), `${i}:${n}`);
    };
    const talks = peers.map(talk);
    const descriptors = [];
    for (let round = 0; round < rounds; round++) {
      const before = calls;
      const restarted = await Promise.race([place.run(['restart', ...where]), ...talks]);
      assert.equal(restarted?.code, 0, restarted?.stderr);
      await until('they are served again', () => calls > before + 50);
      const { pid } = JSON.parse((await place.run(['status', '--json', ...where])).stdout);
      descriptors.push(descriptorsOf(pid));
    }
    isOver = true;
    await Promise.all(talks);
    for (const peer of peers) assert.deepEqual(peer.faults, []);
    const running = place.running().length;
    for (const peer of peers) await peer.close();
    assert.equal((await place.run(['stop', ...where])).code, 0);
    assert(running <= 4, `${running} processes`);
    // Some are of the process that looks for servers, which comes and goes.
    assert(Math.max(...descriptors) < 60, `descriptors: ${descriptors.join(' ')}`);
    return `${rounds} restarts under ${calls} calls, none lost, none failed; ${running} processes at the end`;
  },
};
