// Clients that send too much, take too little, or do nothing, and what the others notice of it.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Peer, textOf } from './peer.mjs';
import { descriptorsOf, isAlive, rssMib, STEADY, until, watchMemory } from './place.mjs';

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));
const MIB = 1 << 20;
/** Of one client: `limits.maxInFlightPerClient`. */
const MOST_IN_FLIGHT = 256;
/** So long a server is not read for the sake of one that takes nothing. */
const GRACE_MS = 250;
const SWITCHED = join(import.meta.dirname, 'switched.cjs');

/**
 * How long another of the same server waits at most when one that takes nothing is cut off, each time; the shortest first.
 * Little is meant for that one, as the server's own time for it is not the bridge's doing.
 */
async function waitsOfNeighbours(place, count) {
  const limits = { maxQueuedBytesPerClient: 256 * 1024, stallTimeoutMs: 60_000 };
  const daemon = await place.daemon({ config: place.config({ limits }) });
  const same = await place.pulse(daemon, 'server:fixture', STEADY);
  const waits = [];
  while (waits.length < count) {
    await same.look();
    const deaf = await daemon.peer();
    deaf.stopReading();
    for (let i = 0; i < 3; i++) deaf.call('blob', { mib: 1 });
    await until('it is cut off', async () => (await daemon.status()).counters.clientsOverQueued > waits.length);
    deaf.close();
    let { longest } = await same.look();
    // One that waited until now says so with its answer.
    await until('it is served again', async () => {
      const after = await same.look();
      longest = Math.max(longest ?? 0, after.longest ?? 0);
      return after.calls > 10;
    });
    waits.push(longest);
  }
  assert((await daemon.status()).counters.serversPaused >= count);
  return waits.sort((a, b) => a - b);
}

/** In MiB, without what can be given back: the least of some looks, as it goes on working. */
async function heapInUse(daemon) {
  const looks = [];
  while (looks.length < 5) {
    daemon.kill('SIGUSR2');
    looks.push((await daemon.status()).memory.heapBytes / MIB);
  }
  return Math.min(...looks);
}

/** A server that is stopped in the middle, with more for it than it may have queued: what becomes of who asked it that. */
async function stopsReading(place, isShort) {
  const mcpServers = { fixture: place.fixture(), other: place.fixture(), stuck: place.fixture() };
  const limits = { callTimeoutMs: isShort ? 3000 : 10_000 };
  const daemon = await place.daemon({ config: place.config({ mcpServers, limits }) });
  const other = await place.pulse(daemon, 'server:other');
  const client = await daemon.peer('all');
  for (const name of ['stuck', 'fixture']) assert.equal(textOf(await client.call(`${name}__echo`, { text: 'x' })), 'x');
  const reportOfStuck = async () => (await daemon.status()).instances.find(({ server }) => server === 'stuck');
  const { pid } = await reportOfStuck();
  const before = await other.look();
  process.kill(pid, 'SIGSTOP');
  try {
    const text = 'x'.repeat(100_000);
    const calls = times(18, (i) => client.call('stuck__echo', { text }, `stuck-${i}`));
    await until('more is meant for it than may be queued', async () => {
      const { counters } = await daemon.status();
      return counters.waitedForServer > 0;
    });
    // A notice that it has to have too, and what does not concern it.
    client.say({ method: 'notifications/cancelled', params: { requestId: 'stuck-0' } });
    await until('that has been read', async () => (await daemon.status()).counters.cancelled > 0);
    const pong = client.ask('ping');
    const echoes = times(20, (i) => client.call('fixture__echo', { text: `${i}` }));
    assert.deepEqual((await client.soon(pong)).result, {}, 'its ping is answered');
    for (const [i, echo] of echoes.entries())
      assert.equal(textOf(await client.soon(echo)), `${i}`, 'and what it asks of another server');
    const answers = await Promise.all(calls.slice(1).map((call) => client.soon(call)));
    for (const answer of answers) assert(answer.error, 'what it asked that one is an error');
    assert.equal(textOf(await client.soon(client.call('fixture__echo', { text: 'after' }))), 'after');
    assert.deepEqual(client.faults, []);
    client.close();
    await until('nothing is left of it', async () => {
      const { clients, instances } = await daemon.status();
      const others = instances.filter(({ server }) => server !== 'stuck');
      return clients === 1 && others.every(({ inFlight }) => inFlight <= 1);
    });
    const during = await other.look();
    assert(isShort || during.p99 < 3 * before.p99, `another's p99 ${before.p99} → ${during.p99} ms`);
    process.kill(pid, 'SIGCONT');
    const late = await daemon.peer('server:stuck');
    assert.equal(textOf(await late.soon(late.call('echo', { text: 'late' }))), 'late');
    await until('and nothing of what it was asked', async () => (await reportOfStuck()).inFlight === 0);
    return `one that stopped reading: ${answers.length} calls told, who made them was served by others`;
  } finally {
    if (isAlive(pid)) process.kill(pid, 'SIGCONT');
  }
}

/** Writes a line that never ends until it is cut off; so many bytes the other side has taken, or the kernel for it. */
async function takenOfOneLine(path, chunk) {
  const socket = connect(path);
  let taken = 0;
  // Who writes on when it is cut off is told so by the write: that is no end of its own.
  const closed = new Promise((resolve) => socket.once('close', () => resolve(true)));
  socket.on('error', () => socket.destroy()).resume();
  for (let isCutOff = false; !isCutOff; ) {
    const written = new Promise((resolve) => socket.write(chunk, (error) => resolve(error != null)));
    isCutOff = await Promise.race([written, closed]);
    if (!isCutOff) taken += chunk.length;
    assert(taken < 64 * MIB, 'a line without an end is taken on and on');
  }
  await closed;
  return taken;
}

export const flow = {
  async 'a client that stops reading while 200 MB are meant for it'(place, { isShort }) {
    const daemon = await place.daemon({
      config: place.config({
        mcpServers: { fixture: place.fixture(), other: place.fixture() },
        limits: { stallTimeoutMs: 60_000 }, // so that it is cut off for what is queued, and for nothing else
      }),
    });
    const same = await daemon.peer();
    assert.equal(textOf(await same.call('echo', { text: 'x' })), 'x');
    let came = 0;
    /** Tells when it is cut off, and is over when its server has done with what it was asked. */
    const leaveUntaken = async (cutOff = () => undefined) => {
      const deaf = await daemon.peer();
      deaf.stopReading();
      for (let i = 0; i < 50; i++) deaf.call('blob', { mib: 4 });
      came++;
      await until('it is cut off', async () => (await daemon.status()).counters.clientsCutOff === came, 60_000);
      cutOff();
      deaf.close();
      assert.equal(textOf(await same.soon(same.call('echo', { text: 'x' }), 60_000)), 'x');
      const { clientsCutOff, clientsOverQueued, clientsStalled } = (await daemon.status()).counters;
      assert.deepEqual([clientsCutOff, clientsOverQueued, clientsStalled], [came, came, 0]);
    };
    const several = isShort ? 3 : 8;
    const [untilFirst, untilLast] = [watchMemory(daemon.pid), watchMemory(daemon.pid)];
    let first;
    await leaveUntaken(() => {
      first = untilFirst();
    });
    while (came < several) await leaveUntaken();
    const most = untilLast();
    // Beside a whole test suite V8 collects later: the bound is for a machine that does nothing else.
    assert(first < (isShort ? 96e6 : 64e6) / MIB, `memory rose by ${first.toFixed(0)} MiB`);
    // What is still read for those who have gone is garbage until it is collected.
    assert(most < 192e6 / MIB, `one after the other, memory rose by ${most.toFixed(0)} MiB`);
    const other = await place.pulse(daemon, 'server:other');
    const rounds = [];
    // In turns, as other work on the machine comes and goes, and each as often as makes 200 MB or more.
    for (let round = 0; round < (isShort ? 1 : 3); round++) {
      await other.look();
      const reading = await daemon.peer();
      const answers = await Promise.all(times(50, () => reading.soon(reading.call('blob', { mib: 4 }), 60_000)));
      for (const answer of answers) assert.equal(textOf(answer)?.length, 4 * MIB, 'who reads gets all, however slowly');
      reading.close();
      const before = await other.look();
      for (let bout = 0; bout < (isShort ? 1 : 3); bout++) await leaveUntaken();
      const during = await other.look();
      rounds.push({ before, during, ratio: during.p99 / before.p99 });
    }
    const { before, during, ratio } = rounds.toSorted((a, b) => a.ratio - b.ratio)[rounds.length >> 1];
    const p99s = `another's p99 ${before.p99.toFixed(2)} ms beside one that reads, ${during.p99.toFixed(2)} ms beside such`;
    // Beside a whole test suite a ratio says more of that than of the bridge.
    assert(isShort || ratio < 3, p99s);
    const waits = await waitsOfNeighbours(place, isShort ? 3 : 20);
    const median = waits[waits.length >> 1];
    assert(isShort || median < 2 * GRACE_MS, `others of the same server waited for ${median.toFixed(0)} ms`);
    return `${came} such, each cut off; memory rose by ${first.toFixed(0)} MiB until the first was, by ${most.toFixed(0)} MiB at most with ${several} of them; ${p99s}; one of the same server waited for ${median.toFixed(0)} ms, ${waits.at(-1).toFixed(0)} ms at most`;
  },

  async 'a server that hangs'(place, { isShort }) {
    const patienceMs = 1500;
    const daemon = await place.daemon({
      config: place.config({
        mcpServers: { fixture: place.fixture(), hangs: place.fixture({ FIXTURE_SILENT: '1' }) },
        limits: { startTimeoutMs: patienceMs },
      }),
    });
    const other = await place.pulse(daemon);
    const before = await other.look();
    const waiting = await Promise.all(times(20, () => Peer.open(daemon.path)));
    const hellos = waiting.map((each) => each.soon(each.begin({ 'mcp-bridge/view': 'server:hangs' })));
    for (const hello of await Promise.all(hellos)) assert(hello.error, 'who waits for it gets an error');
    const during = await other.look();
    assert(3 * during.p99 < patienceMs, `another has waited for it too: ${during.p99.toFixed(0)} ms`);
    const told = await stopsReading(place, isShort);
    return `20 clients told, another's p99 ${before.p99.toFixed(2)} → ${during.p99.toFixed(2)} ms; ${told}`;
  },

  async 'a flood of requests by one client'(place, { isShort }) {
    const count = isShort ? 10_000 : 100_000;
    const daemon = await place.daemon({ env: { NODE_OPTIONS: `--expose-gc --require ${SWITCHED}` } });
    const other = await place.pulse(daemon, 'server:fixture', STEADY);
    const idleMib = await heapInUse(daemon);
    await other.look();
    await delay(500);
    const before = await other.look();
    const risen = watchMemory(daemon.pid);
    const flooding = await daemon.peer();
    let right = 0;
    const answers = times(count, (i) =>
      flooding.call('echo', { text: `${i}` }, i + 1000).then((answer) => (right += textOf(answer) === `${i}`)),
    );
    // One that always has something waiting too: its turns are as many as the flood's.
    const busy = await daemon.peer();
    let isOver = false;
    let turns = 0;
    const work = async () => {
      for (; !isOver; turns++) assert.equal(textOf(await busy.call('echo', { text: 'turn' })), 'turn');
    };
    const works = times(4 * MOST_IN_FLIGHT, work);
    await until('both are at it', () => turns > MOST_IN_FLIGHT && right > 0);
    const [turnsBefore, rightBefore] = [turns, right];
    const inUse = [(await heapInUse(daemon)) - idleMib];
    assert(isShort || right < count, 'the flood is at its height');
    await Promise.all(answers);
    const share = (turns - turnsBefore) / (right - rightBefore);
    isOver = true;
    await Promise.all(works);
    const during = await other.look();
    const most = risen();
    inUse.push((await heapInUse(daemon)) - idleMib);
    assert.equal(right, count);
    assert.deepEqual([...flooding.faults, ...busy.faults], []);
    // Both are one process here, which has its hands full with the flood. In turns: test/unit/core/fairness.test.ts.
    assert(share > (isShort ? 1 / 8 : 1 / 3), `${turns} turns beside ${count}`);
    // One call after the other: each waits for no more than what both may have under way.
    assert(during.calls > count / (4 * MOST_IN_FLIGHT), `another made only ${during.calls} calls`);
    // Some 256 under way and 1 MiB that waits, of each of two; the rest is garbage, which the next collection takes.
    assert(Math.max(...inUse) < 16, `${inUse.map((mib) => mib.toFixed(1))} MiB more are in use`);
    assert(isShort || most < 192e6 / MIB, `memory rose by ${most.toFixed(0)} MiB`);
    return `${count} answered; for each turn of the flood another as busy had ${share.toFixed(2)}, one that calls now and then made ${during.calls} calls, its p99 ${before.p99.toFixed(2)} → ${during.p99.toFixed(2)} ms, memory rose by ${most.toFixed(0)} MiB, of which ${inUse[0].toFixed(1)} MiB were in use, and ${Math.max(0, inUse[1]).toFixed(1)} afterwards`;
  },

  async '1 GB without a newline'(place, { isShort }) {
    const bytes = (isShort ? 64 : 1024) * MIB;
    const daemon = await place.daemon();
    const peer = await daemon.peer();
    const risen = watchMemory(daemon.pid);
    let taken = 0;
    let connections = 0;
    for (; taken < bytes; connections++) taken += await takenOfOneLine(daemon.path, Buffer.alloc(MIB, 'a'));
    assert.equal(textOf(await peer.soon(peer.call('echo', { text: 'x' }))), 'x');
    const most = risen();
    const { counters, clients } = await daemon.status();
    assert.equal(counters.oversizedFrames, connections, 'each was cut off for that');
    assert.equal(counters.clientsAccepted, connections + 1 + 1, 'and no other');
    assert.equal(clients, 1);
    assert(taken / connections <= 16 * MIB, `${taken / connections} bytes of each were taken`);
    assert(most < 96, `memory rose by ${most.toFixed(0)} MiB`);
    return `${(taken / MIB).toFixed(0)} MiB of ${connections} connections taken, each was cut off, memory rose by ${most.toFixed(0)} MiB`;
  },

  async '500 silent connections'(place) {
    const limits = { handshakeTimeoutMs: 1000, maxClients: 500 };
    const daemon = await place.daemon({ config: place.config({ limits }) });
    const silent = await Promise.all(times(500, () => Peer.open(daemon.path)));
    await new Promise((resolve) => setTimeout(resolve, 1500));
    for (let i = 0; i < 100; i++) {
      const peer = await daemon.peer();
      assert.equal(textOf(await peer.soon(peer.call('echo', { text: 'x' }))), 'x');
    }
    await Promise.all(silent.slice(0, 100).map(({ closed }) => closed));
    const { counters } = await daemon.status();
    assert(counters.handshakeTimeouts >= 100, `${counters.handshakeTimeouts} gave way`);
    return 'they stay; 100 gave way to 100 clients that spoke, all served';
  },

  async '10,000 connections'(place, { isShort }) {
    const count = isShort ? 400 : 10_000;
    const daemon = await place.daemon();
    const before = rssMib(daemon.pid);
    const peers = [];
    while (peers.length < count)
      peers.push(...(await Promise.all(times(Math.min(200, count - peers.length), () => daemon.peer()))));
    const answers = await Promise.all(peers.map((peer, i) => peer.soon(peer.call('echo', { text: `${i}` }))));
    assert.equal(answers.filter((answer, i) => textOf(answer) === `${i}`).length, count);
    const each = ((rssMib(daemon.pid) - before) * 1024) / count;
    assert(isShort || each < 64, `${each.toFixed(0)} KiB each`);
    for (const peer of peers) peer.close();
    await until('all have gone', async () => (await daemon.status()).clients === 0);
    await until('their descriptors too', () => descriptorsOf(daemon.pid) < 60);
    return `${count} called and answered, ${each.toFixed(1)} KiB each, no descriptor left`;
  },

  async 'a client that comes and goes in every state'(place, { isShort }) {
    const daemon = await place.daemon();
    const rounds = isShort ? 30 : 300;
    await (await daemon.peer()).call('echo', { text: 'x' });
    const before = descriptorsOf(daemon.pid);
    for (let i = 0; i < rounds; i++) {
      const peer = await Peer.open(daemon.path);
      if (i % 3 > 0)
        peer.send(
          '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"},"_meta":{"mcp-bridge/view":"server:fixture"}}}\n',
        );
      if (i % 3 > 1)
        peer.send(
          '{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"slow","arguments":{"ms":50}}}\n{"jsonrpc":"2.0","id":2,"meth',
        );
      await delay(i % 5);
      peer.close();
    }
    await until('all have gone', async () => (await daemon.status()).clients <= 1);
    await until('nothing is under way for them', async () => {
      const [{ instances }, clients] = [await daemon.status(), await daemon.clients()];
      return [...instances, ...clients].every(({ inFlight }) => inFlight === 0);
    });
    await until('no descriptor is left', () => descriptorsOf(daemon.pid) <= before + 2);
    return `${rounds} came and went`;
  },
};
