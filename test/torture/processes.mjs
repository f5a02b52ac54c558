// Servers that die, loop, hang on to life, or talk too much, and machines that cannot start them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chownSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { textOf } from './peer.mjs';
import { descriptorsOf, FIXTURE, isAlive, NotRun, until, watchMemory } from './place.mjs';

/** So low that just so many are free: the kernel gives out the lowest ones. */
function limitWithFree(pid, free) {
  const taken = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let limit = 0;
  for (let left = free; left > 0 || taken.has(limit); limit++) if (!taken.has(limit)) left--;
  return limit;
}

function limitDescriptors({ pid }, most) {
  execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${most}:`]);
}

const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

export const processes = {
  async 'crashes in the middle of calls'(place, { isShort }) {
    const servers = isShort ? 10 : 250;
    const rounds = 4; // five deaths within a minute open the breaker
    const names = times(servers, (i) => `s${i}`);
    const mcpServers = Object.fromEntries(names.map((name) => [name, place.fixture()]));
    const daemon = await place.daemon({ config: place.config({ mcpServers }) });
    let errors = 0;
    for (let round = 0; round < rounds; round++) {
      for (let from = 0; from < names.length; from += 10) {
        const some = names.slice(from, from + 10);
        const crash = async (name) => {
          const peer = await daemon.peer(`server:${name}`);
          const held = peer.call('hold');
          const crashed = peer.call('crash');
          const answers = await Promise.all([peer.soon(held, 60_000), peer.soon(crashed, 60_000)]);
          for (const answer of answers) assert.equal(answer.error?.code, -32603, JSON.stringify(answer));
          errors += answers.length;
          assert.deepEqual(peer.faults, []);
          return peer;
        };
        const peers = await Promise.all(some.map(crash));
        const clients = await daemon.clients();
        assert.equal(clients.length, peers.length);
        assert.equal(
          clients.reduce((sum, { inFlight }) => sum + inFlight, 0),
          0,
          'no call is left',
        );
        const { instances } = await daemon.status();
        assert.equal(
          instances.reduce((sum, { inFlight }) => sum + inFlight, 0),
          0,
          'nor one of a server',
        );
        for (const peer of peers) peer.close();
        await Promise.all(peers.map(({ closed }) => closed));
      }
    }
    return `${servers * rounds} crashes, ${errors} calls, one error each, no call left`;
  },

  async 'a crash loop'(place) {
    const starts = place.path('starts');
    writeFileSync(starts, '');
    const startedSoFar = () => readFileSync(starts, 'latin1').trim().split('\n').length;
    const config = place.config({
      mcpServers: { fixture: place.fixture({ FIXTURE_STARTS: starts }) },
      limits: { brokenMs: 3000 },
    });
    const daemon = await place.daemon({ config });
    const peer = await daemon.peer();
    const codes = [];
    // Until it is left alone: five deaths. What stands between them are pauses.
    await until('it counts as broken', async () => {
      codes.push((await peer.soon(peer.call('crash'))).error?.data?.code);
      return codes.at(-1) === 'SERVER_BROKEN';
    });
    assert.deepEqual(new Set(codes), new Set(['SERVER_CRASHED', 'SERVER_BROKEN']));
    assert.equal(startedSoFar(), 5);
    // Nobody asks it to: the first call after the pause starts it.
    let refused = 1;
    await until('it is tried again', async () => {
      const answer = await peer.soon(peer.call('echo', { text: 'again' }));
      if (textOf(answer) === 'again') return true;
      assert.equal(answer.error?.data?.code, 'SERVER_BROKEN');
      assert.equal(startedSoFar(), 5, 'it is not started meanwhile');
      refused++;
      return false;
    });
    for (let i = 0; i < 20; i++) assert.equal(textOf(await peer.soon(peer.call('echo', { text: `${i}` }))), `${i}`);
    assert.equal(startedSoFar(), 6);
    const { counters, instances } = await daemon.status();
    assert.deepEqual([counters.serversBroken, instances[0].state], [1, 'ready']);
    assert.deepEqual(peer.faults, []);
    return `after 5 starts SERVER_BROKEN, ${refused} times within the pause; the 6th start served again`;
  },

  async 'trees of processes'(place) {
    const tree = {
      command: '/bin/sh',
      args: ['-c', `sh -c '"${process.execPath}" "${FIXTURE}"; true'; true`],
      env: place.fixture().env,
    };
    const daemon = await place.daemon({ config: place.config({ mcpServers: { fixture: tree } }) });
    const peer = await daemon.peer();
    assert.equal(textOf(await peer.call('echo', { text: 'x' })), 'x');
    const all = place.running().filter((pid) => pid !== daemon.pid);
    assert(all.length >= 3, `${all.length} processes`);
    await daemon.stop();
    await until('the tree is gone', () => all.every((pid) => !isAlive(pid)));
    const again = await place.daemon({ config: place.config({ mcpServers: { fixture: tree } }) });
    await (await again.peer()).call('echo', { text: 'x' });
    const those = place.running().filter((pid) => pid !== again.pid);
    again.kill('SIGKILL');
    await until('the tree of a killed daemon is gone', () => those.every((pid) => !isAlive(pid)));
    return `${all.length} processes gone after the end, ${those.length} after kill -9`;
  },

  async 'a server that lives on when its input ends, and its daemon is killed'(place) {
    const stubborn = {
      command: '/bin/sh',
      args: ['-c', `trap "" TERM HUP INT; "${process.execPath}" "${FIXTURE}"; while :; do sleep 1; done`],
      env: place.fixture().env,
    };
    const daemon = await place.daemon({ config: place.config({ mcpServers: { fixture: stubborn } }) });
    await (await daemon.peer()).call('echo', { text: 'x' });
    const those = place.running().filter((pid) => pid !== daemon.pid);
    daemon.kill('SIGKILL');
    const began = performance.now();
    await until('it is gone', () => those.every((pid) => !isAlive(pid)));
    return `${those.length} processes gone within ${((performance.now() - began) / 1000).toFixed(1)} s`;
  },

  async '100 MB on stderr'(place, { isShort }) {
    const mib = isShort ? 10 : 100;
    const written = place.path('written');
    const script = `import { writeFileSync } from 'node:fs';
const words = Buffer.alloc(1 << 20, 'e'.repeat(99) + '\\n');
let bytes = 0;
const next = (error) => {
  if (error) process.exit(1);
  writeFileSync(${JSON.stringify(written)}, String(bytes));
  if (bytes < ${mib} << 20) process.stderr.write(words, next);
  bytes += words.length;
};
next();
import(${JSON.stringify(FIXTURE)});`;
    const loud = { command: process.execPath, args: ['--input-type=module', '-e', script], env: place.fixture().env };
    const daemon = await place.daemon({ config: place.config({ mcpServers: { fixture: loud } }) });
    const risen = watchMemory(daemon.pid);
    const peer = await daemon.peer();
    for (let i = 0; i < 200; i++) assert.equal(textOf(await peer.soon(peer.call('echo', { text: `${i}` }))), `${i}`);
    // Its pipe takes no more than what is read: the last of it was taken when it is written.
    await until('all of it was written', () => Number(readFileSync(written, 'latin1')) >= mib << 20, 60_000);
    const most = risen();
    assert(most < 64, `memory rose by ${most.toFixed(0)} MiB`);
    assert.equal((await daemon.status()).instances[0].restarts, 0);
    return `${Number(readFileSync(written, 'latin1')) >> 20} MiB written, memory rose by ${most.toFixed(0)} MiB at most`;
  },

  async 'noise on stdout'(place) {
    const daemon = await place.daemon({
      config: place.config({ mcpServers: { fixture: place.fixture({ FIXTURE_NOISE: '1' }) } }),
    });
    const peer = await daemon.peer();
    for (const line of [
      '',
      '   ',
      'hello',
      '{"jsonrpc":"2.0"}',
      '[]',
      '{"id":99999,"jsonrpc":"2.0","result":{}}',
      '\u001b[31mred',
      '{"jsonrpc":"2.0","id":1,"id":2,"result":1}',
    ])
      assert.equal(textOf(await peer.soon(peer.call('print', { line }))), 'ok', line);
    assert.deepEqual(peer.faults, []);
    const { serverNoise, strayResponses } = (await daemon.status()).counters;
    // Two at its start, empty lines are none, and an answer that nobody waits for is counted as that.
    assert.deepEqual([serverNoise, strayResponses], [6, 1]);
    return `${serverNoise} lines counted and dropped`;
  },

  async 'a server whose input is closed'(place) {
    const daemon = await place.daemon();
    const peer = await daemon.peer();
    await peer.soon(peer.call('closeInput'));
    const answers = [];
    for (let i = 0; i < 5; i++) answers.push(await peer.soon(peer.call('echo', { text: `${i}` })));
    assert(
      answers.some((answer) => textOf(answer) !== undefined),
      'it is started again',
    );
    assert(answers.every((answer) => !answer.never));
    return `${answers.filter(textOf).length} of 5 calls by a new process, the others one error each`;
  },

  async 'programs that cannot be started'(place) {
    const notProgram = place.path('not-a-program');
    writeFileSync(notProgram, 'text', { mode: 0o600 });
    const mcpServers = {
      fixture: place.fixture(),
      missing: { command: '/no/such/program' },
      text: { command: notProgram },
      directory: { command: place.dir },
      empty: { command: process.execPath, args: ['-e', ''] },
    };
    const daemon = await place.daemon({ config: place.config({ mcpServers }) });
    const all = await daemon.peer('all');
    const { result } = await all.soon(all.ask('tools/list', {}));
    assert(
      result.tools.some(({ name }) => name === 'fixture__echo'),
      'one bad server hides no other',
    );
    const errors = [];
    for (const name of ['missing', 'text', 'directory', 'empty']) {
      const peer = await daemon.peer('all');
      const answer = await peer.soon(peer.ask('tools/call', { name: `${name}__x`, arguments: {} }));
      assert(answer.error, name);
      errors.push(answer.error.data?.code);
    }
    return `told ${[...new Set(errors)].join(', ')}; the others are listed`;
  },

  async 'no descriptors for a server'(place) {
    // A start takes eight of them at once: pairs for its input, output and stderr, and a pipe that says how it went.
    // The last has more, for what else the daemon may have open at that moment.
    const numbers = [0, 1, 2, 3, 4, 5, 6, 7, 16];
    const names = numbers.map((free) => `s${free}`);
    const mcpServers = Object.fromEntries(['fixture', ...names].map((name) => [name, place.fixture()]));
    const daemon = await place.daemon({ config: place.config({ mcpServers }) });
    const peer = await daemon.peer('all');
    const echo = (name) => peer.soon(peer.call(`${name}__echo`, { text: name }));
    assert.equal(textOf(await echo('fixture')), 'fixture');
    const before = descriptorsOf(daemon.pid);
    const refused = [];
    for (const [i, name] of names.entries()) {
      limitDescriptors(daemon, limitWithFree(daemon.pid, numbers[i]));
      const answers = await Promise.all(times(6, () => echo(name)));
      const errors = answers.filter(({ error }) => error !== undefined);
      assert(errors.length === 0 || errors.length === answers.length, 'all who wait for a start are told the same');
      if (errors.length > 0) refused.push(name);
      else for (const answer of answers) assert.equal(textOf(answer), name, JSON.stringify(answer));
      for (const { error } of errors) {
        assert.equal(error.data?.code, 'SERVER_START_FAILED');
        assert.match(error.message, /EMFILE/);
      }
      assert.equal(textOf(await echo('fixture')), 'fixture', 'a server that runs is not concerned');
    }
    assert.deepEqual(refused, names.slice(0, -1), 'for want of one it is not started');
    assert.equal(daemon.child.exitCode, null);
    assert.deepEqual(peer.faults, []);
    limitDescriptors(daemon, 1000);
    for (const name of refused)
      await until(`${name} starts then`, async () => textOf(await echo(name)) === name, 40_000);
    const { instances } = await daemon.status();
    assert.equal(instances.filter(({ state }) => state === 'ready').length, 1 + names.length);
    peer.close();
    // The client has gone, and who has looked.
    await until('none is lost', () => descriptorsOf(daemon.pid) === before - 1 + 3 * names.length);
    return `with 0 to 7 free ${refused.length} starts failed with EMFILE, each told to 6 callers; with 16 it is served, and all are when there are some`;
  },

  async 'no more processes for a server'(place) {
    if (process.getuid() !== 0) throw new NotRun('needs root, to be somebody with a limit of processes of his own');
    const uid = 61_234;
    for (const dir of [place.dir, place.path('home')]) chownSync(dir, uid, uid);
    const config = place.config();
    chownSync(config, uid, uid);
    const daemon = await place.daemon({
      config,
      shell: `exec setpriv --reuid ${uid} --regid ${uid} --clear-groups "$0" "$@"`,
    });
    const limit = (most) => execFileSync('prlimit', ['--pid', `${daemon.pid}`, `--nproc=${most}:`], { uid, gid: uid });
    const peer = await daemon.peer('all');
    limit(1);
    const calls = () => Promise.all(times(6, () => peer.soon(peer.call('fixture__echo', { text: 'x' }))));
    const refused = await calls();
    for (const answer of refused) assert.equal(answer.error?.data?.code, 'SERVER_START_FAILED', JSON.stringify(answer));
    assert.equal(daemon.child.exitCode, null);
    limit(1000);
    await until(
      'it is served when there is room',
      async () => (await calls()).every((answer) => textOf(answer) === 'x'),
      40_000,
    );
    return `${refused.length} of 6 calls refused, and served when there was room`;
  },
  async 'no memory for a server'(place) {
    const none = place.path('none');
    const env = { NODE_OPTIONS: `--require ${join(import.meta.dirname, 'switched.cjs')}`, NO_MEMORY: none };
    const daemon = await place.daemon({ env });
    const peer = await daemon.peer('all');
    writeFileSync(none, '');
    const calls = () => Promise.all(times(6, () => peer.soon(peer.call('fixture__echo', { text: 'x' }))));
    const refused = await calls();
    for (const { error } of refused) {
      assert.equal(error?.data?.code, 'SERVER_START_FAILED');
      assert.match(error.message, /ENOMEM/);
    }
    assert.equal(daemon.child.exitCode, null);
    unlinkSync(none);
    await until(
      'it is served when there is some',
      async () => (await calls()).every((answer) => textOf(answer) === 'x'),
      40_000,
    );
    return `${refused.length} of 6 calls refused, and served when there was some`;
  },
};
