// How daemons begin and end: many at once, one after the other, killed, stopped, and in places where none may be.
import assert from 'node:assert/strict';
import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Peer, textOf } from './peer.mjs';
import { isAlive, until } from './place.mjs';

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

/** Counts as one. */
function assertEqualText(answer, text) {
  assert.equal(textOf(answer), text, JSON.stringify(answer));
  return 1;
}

/** What a killed daemon leaves: a socket that nobody listens on. */
async function staleSocket(place, config) {
  const daemon = await place.daemon({ config });
  daemon.kill('SIGKILL');
  await daemon.exited;
  assert(existsSync(daemon.path), 'a killed daemon leaves its socket');
  return daemon.path;
}

export const startAndStop = {
  async 'many starters on a stale socket'(place, { isShort }) {
    const rounds = isShort ? 2 : 25;
    const starters = isShort ? 8 : 20;
    const config = place.config();
    for (let round = 0; round < rounds; round++) {
      const path = await staleSocket(place, config);
      const daemons = await Promise.all(times(starters, () => place.daemon({ config, path, waits: false })));
      const decided = ({ isListening, child }) => isListening || child.exitCode !== null;
      await until('all have decided', () => daemons.every(decided), 60_000);
      const alive = daemons.filter(({ child }) => child.exitCode === null);
      assert.equal(alive.length, 1, 'one daemon lives');
      for (const daemon of daemons) {
        if (daemon === alive[0]) continue;
        assert.equal((await daemon.exited).code, 1);
        assert.match(daemon.stderr, /Another daemon/);
      }
      const peer = await Peer.ready(path, { 'mcp-bridge/view': 'server:fixture' });
      assert.equal(textOf(await peer.call('echo', { text: 'here' })), 'here');
      peer.close();
      await alive[0].stop();
    }
    return `${starters} starters × ${rounds}: one daemon each time`;
  },

  async 'a daemon that was stopped is not replaced'(place, { isShort }) {
    const daemon = await place.daemon();
    const peer = await daemon.peer();
    assert.equal(textOf(await peer.call('echo', { text: 'before' })), 'before');
    daemon.kill('SIGSTOP');
    const answer = peer.call('echo', { text: 'meanwhile' });
    const other = await place.daemon({ path: daemon.path, waits: false });
    const seconds = isShort ? 2 : 20;
    await delay(seconds * 1000);
    assert.equal((await other.exited).code, 1, 'no other daemon takes its place');
    daemon.kill('SIGCONT');
    assert.equal(textOf(await peer.soon(answer)), 'meanwhile');
    peer.close();
    await daemon.stop();
    return `stopped for ${seconds} s, and nothing lost`;
  },

  async 'a daemon that ends leaves its successor its socket'(place, { isShort }) {
    const rounds = isShort ? 2 : 10;
    for (let round = 0; round < rounds; round++) {
      const old = await place.daemon();
      const peer = await old.peer();
      const slow = peer.call('slow', { ms: 500 });
      await until('the call is under way', async () => (await old.status()).instances[0]?.calls > 0);
      old.kill('SIGTERM');
      const started = place.run(['start', '--mcp-bridge-socket', old.path, '--config', place.config()]);
      assert.equal(textOf(await peer.soon(slow)), 'done');
      await old.exited;
      assert.equal((await started).code, 0, 'a successor starts');
      await delay(100);
      assert(lstatSync(old.path).isSocket());
      const again = await Peer.ready(old.path, { 'mcp-bridge/view': 'server:fixture' });
      assert.equal(textOf(await again.call('echo', { text: 'new' })), 'new');
      again.close();
      const stopped = await place.run(['stop', '--mcp-bridge-socket', old.path]);
      assert.equal(stopped.code, 0, stopped.stderr);
    }
    return `${rounds} successions, each with a call under way`;
  },

  async 'SIGTERM under 100 slow calls'(place) {
    const daemon = await place.daemon();
    const peers = await Promise.all(times(100, () => daemon.peer()));
    const calls = peers.map((peer) => peer.call('slow', { ms: 1500 }));
    await until('all calls are under way', async () => (await daemon.status()).instances[0]?.calls === 100);
    daemon.kill('SIGTERM');
    const answers = await Promise.all(calls.map((call, i) => peers[i].soon(call)));
    assert.equal(answers.filter((answer) => textOf(answer) === 'done').length, 100);
    assert.equal((await daemon.exited).code, 0);
    assert(!existsSync(daemon.path), 'the socket is gone');
    return '100 of 100 answered before the end';
  },

  async 'clients that come at the instant of idle exit'(place, { isShort }) {
    const rounds = isShort ? 8 : 100;
    const config = place.config({ daemon: { idleExitMs: 100 } });
    const path = place.newPath('sock');
    let served = 0;
    let turnedAway = 0;
    const visit = async () => {
      const peer = await Peer.open(path).catch(() => undefined);
      if (peer === undefined) return turnedAway++; // No daemon: it would start one.
      const hello = await peer.soon(peer.begin());
      assert(hello.result !== undefined, `who has found a daemon is served: ${JSON.stringify(hello)}`);
      assert.equal(textOf(await peer.soon(peer.call('echo', { text: 'x' }))), 'x');
      peer.close();
      return served++;
    };
    for (let round = 0; round < rounds; round++) {
      const daemon = await place.daemon({ config, path, args: ['--autostarted'] });
      await delay(90 + (round % 20) * 6);
      await Promise.all(times(5, visit));
      assert.equal((await place.ended(daemon)).code, 0);
    }
    // In a short form all may come before it ends, or after.
    assert(isShort || (served > 0 && turnedAway > 0), `${served} served, ${turnedAway} found no daemon`);
    return `${served} served, ${turnedAway} found no daemon, none was dropped`;
  },

  async '`connect` at the instant of idle exit'(place, { isShort }) {
    const rounds = isShort ? 6 : 60;
    const args = [
      '--mcp-bridge-socket',
      place.newPath('sock'),
      '--config',
      place.config({ daemon: { idleExitMs: 500 } }),
    ];
    const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'torture', version: '1' } };
    const asked = [
      ['initialize', hello],
      ['tools/call', { name: 'echo', arguments: { text: 'x' } }],
    ].map(([method, params], id) => `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    for (let round = 0; round < rounds; round++) {
      const run = () => place.run(['connect', '--server', 'fixture', ...args], { input: asked.join('') });
      for (const { code, stdout, stderr } of await Promise.all(times(3, run))) {
        const answers = stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
        const called = answers.find(({ id }) => id === 1);
        assert.equal(code === 0 && called && textOf(called), 'x', `each is served: ${stdout} ${stderr}`);
      }
      await delay(250 + ((round % 20) / Math.min(20, rounds)) * 1000); // and the time that a process takes to start
    }
    const log = readFileSync(place.path('home/.local/state/mcp-bridge/daemon.log'), 'utf8');
    const daemons = log.split('"message":"listening"').length - 1;
    assert(daemons > 1, 'daemons have ended');
    return `${rounds * 3} came, all were served, by ${daemons} daemons`;
  },

  async 'umask 000'(place) {
    const daemon = await place.daemon({ shell: 'umask 000', config: place.config() });
    const peer = await daemon.peer();
    await peer.call('echo', { text: 'x' });
    peer.close();
    assert.equal(statSync(daemon.path).mode & 0o777, 0o600);
    await daemon.stop();
    const open = [];
    const look = (dir) => {
      for (const entry of readdirSync(dir, { withFileTypes: true })) {
        const path = join(dir, entry.name);
        if (entry.isDirectory()) look(path);
        else if (entry.isFile() && (statSync(path).mode & 0o077) !== 0) open.push(path);
      }
    };
    look(place.path('home'));
    assert.deepEqual(open, [], 'no file is open to others');
    return 'socket and files are 0600';
  },

  async 'paths where no socket may be'(place) {
    const target = place.path('target.sock');
    const long = join(place.dir, 'x'.repeat(110));
    const cases = {
      'a link': () => symlinkSync(target, place.path('a link')),
      'a file': () => writeFileSync(place.path('a file'), 'kept'),
      'a directory': () => mkdirSync(place.path('a directory')),
      'no/such/directory': () => undefined,
    };
    if (process.getuid() === 0) {
      cases['a foreign socket'] = async () => {
        const server = createServer().listen(place.path('a foreign socket'));
        await new Promise((resolve) => server.once('listening', resolve));
        chownSync(place.path('a foreign socket'), 12_345, 12_345);
        place.foreign = server;
      };
    }
    for (const [name, prepare] of Object.entries(cases)) {
      await prepare();
      const before = existsSync(place.path(name)) ? lstatSync(place.path(name)).ino : undefined;
      const daemon = await place.daemon({ path: place.path(name), waits: false });
      assert.equal((await place.ended(daemon)).code, 1, `${name}: refused`);
      assert.match(daemon.stderr, /mcp-bridge: /, name);
      assert.equal(
        existsSync(place.path(name)) ? lstatSync(place.path(name)).ino : undefined,
        before,
        `${name}: untouched`,
      );
    }
    const daemon = await place.daemon({ path: long, waits: false });
    assert.equal((await place.ended(daemon)).code, 1);
    assert.match(daemon.stderr, /103/);
    place.foreign?.close();
    return `${Object.keys(cases).length + 1} kinds of paths refused, none touched`;
  },

  async 'kill -9 under 50 clients'(place, { isShort }) {
    const rounds = isShort ? 3 : 30;
    const config = place.config();
    const path = place.newPath('sock');
    let lost = 0;
    let answered = 0;
    for (let round = 0; round < rounds; round++) {
      const daemon = await place.daemon({ config, path });
      const peers = await Promise.all(times(50, () => daemon.peer()));
      const calls = peers.map((peer, i) => peer.call(i % 2 ? 'slow' : 'echo', { ms: 5000, text: `${i}` }));
      await until('the server runs', async () => (await daemon.status()).instances[0]?.calls >= 25);
      const [{ pid }] = (await daemon.status()).instances;
      daemon.kill('SIGKILL');
      const answers = await Promise.all(calls);
      for (const [i, answer] of answers.entries()) {
        if (answer.lost) lost++;
        else answered += assertEqualText(answer, i % 2 ? 'done' : `${i}`);
      }
      for (const peer of peers) assert.deepEqual(peer.faults, []);
      await until('the server is gone', () => !isAlive(pid), 10_000);
    }
    assert.equal(lost + answered, 50 * rounds);
    assert(lost > 0 && (isShort || answered > 0), `${lost} lost, ${answered} answered`);
    return `${rounds} daemons killed, ${answered} calls answered, each with its own, ${lost} lost with their connection, no server left`;
  },
};
