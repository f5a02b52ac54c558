// Clients and servers that come and go for a while: what a daemon holds must stay what it was.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { textOf } from './peer.mjs';
import { descriptorsOf, rssMib, until } from './place.mjs';

const SWITCHED = join(import.meta.dirname, 'switched.cjs');
const times = (count, make) => Array.from({ length: count }, (_, i) => make(i));

/** By least squares: how much y grows from the first sample to the last. */
function growth(samples) {
  const n = samples.length;
  const meanX = (n - 1) / 2;
  const meanY = samples.reduce((sum, y) => sum + y, 0) / n;
  const over = samples.reduce((sum, y, x) => sum + (x - meanX) * (y - meanY), 0);
  const under = samples.reduce((sum, _, x) => sum + (x - meanX) ** 2, 0);
  return (over / under) * (n - 1);
}

export const soak = {
  async 'clients and servers that come and go'(place, { isShort }) {
    const servers = times(4, (i) => `s${i}`);
    const mcpServers = Object.fromEntries(servers.map((name) => [name, { ...place.fixture(), idleMs: 300 }]));
    const daemon = await place.daemon({
      config: place.config({ mcpServers }),
      env: { NODE_OPTIONS: `--expose-gc --max-semi-space-size=2 --require ${SWITCHED}`, KEEP_NO_CODE: '1' },
    });
    const samples = { heap: [], rss: [], descriptors: [], processes: [] };
    let calls = 0;
    const visit = async (i) => {
      const peer = await daemon.peer(i % 3 ? `server:${servers[i % servers.length]}` : 'all');
      for (let n = 0; n < 5; n++, calls++) {
        const name = i % 3 ? 'echo' : `${servers[n % servers.length]}__echo`;
        const answer = await peer.soon(peer.call(name, { text: `${i}:${n}` }));
        assert.equal(textOf(answer), `${i}:${n}`);
      }
      if (i % 7 === 0) peer.call(i % 3 ? 'hold' : `${servers[0]}__hold`);
      if (i % 11 === 0) peer.send('{"jsonrpc":"2.0","id":1,"me');
      assert.deepEqual(peer.faults, []);
      peer.close();
    };
    const rounds = isShort ? 12 : 60;
    const crowds = isShort ? 8 : 20;
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < crowds; i++) await Promise.all(times(5, (k) => visit(round * 100 + i * 5 + k)));
      if (round % 4 === 3) await delay(700); // servers go
      await until('all have gone', async () => (await daemon.status()).clients === 0);
      if (round < rounds / 3) continue;
      daemon.kill('SIGUSR2'); // what is left then is in use
      samples.heap.push((await daemon.status()).memory.heapBytes / 1024);
      samples.rss.push(rssMib(daemon.pid));
      samples.descriptors.push(descriptorsOf(daemon.pid));
      samples.processes.push(place.running().length);
    }
    const held = growth(samples.heap);
    // Of each client that was there less than a hundredth of what one takes may be left.
    const visits = 5 * crowds * samples.heap.length;
    assert(
      held / visits < (isShort ? 1 : 0.1),
      `heap in use grows: ${samples.heap.map((kib) => kib.toFixed(0)).join(' ')} KiB`,
    );
    const rise = growth(samples.rss);
    const most = isShort ? 16 : 8;
    assert(rise < most, `memory grows: ${samples.rss.map((mib) => mib.toFixed(0)).join(' ')}`);
    assert(growth(samples.descriptors) < 6, `descriptors: ${samples.descriptors.join(' ')}`);
    assert(Math.max(...samples.processes) <= servers.length + 3, `processes: ${samples.processes.join(' ')}`);
    return `${calls} calls of ${rounds * 5 * crowds} clients; after warm-up heap in use ${held >= 0 ? '+' : ''}${held.toFixed(0)} KiB, memory ${rise >= 0 ? '+' : ''}${rise.toFixed(1)} MiB, descriptors ${growth(samples.descriptors).toFixed(1)}, at most ${Math.max(...samples.processes)} processes`;
  },
};
