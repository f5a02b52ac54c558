// The n-th thing that the daemon asks of the system fails, for every n of a whole day of its: it may refuse to start, it
// may refuse a call, it never crashes, hangs, or leaves a process.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Peer, textOf } from './peer.mjs';
import { until } from './place.mjs';

const INJECTION = join(import.meta.dirname, 'failing-calls.cjs');

/** Starts, serves, is asked about, and stops. What of it was refused. */
async function day(place, n, count) {
  const env = { NODE_OPTIONS: `--require ${INJECTION}`, FAIL_AT: String(n), FAIL_COUNT: count };
  const home = place.newPath('home');
  const daemon = await place.daemon({ env: { ...env, HOME: home }, waits: false });
  await until('it listens or ends', () => daemon.isListening || daemon.child.exitCode !== null);
  if (!daemon.isListening) {
    const { code } = await daemon.exited;
    assert.equal(code, 1, `a start that fails exits with 1: ${daemon.stderr}`);
    assert.match(daemon.stderr, /mcp-bridge: /);
    return 'did not start';
  }
  const answers = [];
  const ask = async (peer, answer) => {
    const got = await peer.soon(answer, 20_000);
    assert(!got.never, 'every request is answered');
    answers.push(got);
    return got;
  };
  const peer = await Peer.open(daemon.path);
  await ask(peer, peer.begin());
  await ask(peer, peer.ask('tools/list', {}));
  const crashed = peer.call('crash');
  await ask(peer, crashed);
  await ask(peer, peer.call('echo', { text: 'after' }));
  const other = await Peer.open(daemon.path);
  await ask(other, other.begin({ 'mcp-bridge/view': 'all' }));
  await ask(other, other.ask('tools/list', {}));
  const last = await ask(other, other.call('fixture__echo', { text: 'last' }));
  await daemon.status().catch((error) => error);
  assert.deepEqual([...peer.faults, ...other.faults], []);
  daemon.kill('SIGTERM');
  const { code, signal } = await place.ended(daemon);
  assert.equal(signal, null, daemon.stderr);
  assert(code === 0 || /mcp-bridge: /.test(daemon.stderr), `ended with ${code}: ${daemon.stderr}`);
  assert(!/Uncaught|UnhandledPromise|node:internal|\.cjs:\d+\n/.test(daemon.stderr), daemon.stderr);
  return textOf(last) === 'last' ? 'served' : 'refused something';
}

export const faults = {
  async 'every call of the system fails once'(place, { isShort }) {
    const count = place.path('count');
    assert.equal(await day(place, 0, count), 'served');
    await until('it has counted', () => existsSync(count));
    const calls = Number(readFileSync(count, 'utf8'));
    const tally = {};
    const step = isShort ? Math.ceil(calls / 12) : 1;
    for (let n = 1; n <= calls; n += step) {
      try {
        const outcome = await day(place, n, place.path('count'));
        tally[outcome] = (tally[outcome] ?? 0) + 1;
      } catch (error) {
        throw new Error(`the ${n}th of ${calls} calls: ${error.message}`);
      }
    }
    const outcomes = Object.entries(tally).map(([outcome, times]) => `${times} ${outcome}`);
    return `${calls} calls of the system: ${outcomes.join(', ')}`;
  },
};
