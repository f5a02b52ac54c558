// Servers at a URL that say far too much, or nothing at all.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { descriptorsOf, until, watchMemory } from './place.mjs';

const HOSTILE = fileURLToPath(new URL('../fixtures/servers/hostile-http.mjs', import.meta.url));
const times = (n, make) => Array.from({ length: n }, (_, i) => make(i));

async function startHostile(place) {
  const child = place.spawn(process.execPath, [HOSTILE], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await once(child.stdout, 'data');
  return { type: 'http', url: `http://127.0.0.1:${Number(port)}/mcp` };
}

export const http = {
  async 'a server at a URL that says too much'(place, { isShort }) {
    const mcpServers = { hostile: await startHostile(place), fixture: place.fixture() };
    const daemon = await place.daemon({ config: place.config({ mcpServers }) });
    const other = await place.pulse(daemon);
    const client = await daemon.peer('server:hostile');
    const memory = watchMemory(daemon.pid);
    const rounds = isShort ? 1 : 10;
    let refused = 0;
    for (const tool of times(rounds, () => ['bomb', 'event', 'endless']).flat()) {
      const { error } = await client.soon(client.call(tool));
      assert.equal(error?.data?.code, 'SERVER_ANSWER_REFUSED', tool);
      refused++;
    }
    for (let i = 0; i < rounds; i++)
      assert((await client.soon(client.call('costly'))).result, 'what is just costly comes');
    const rise = memory();
    const { p99, longest } = await other.look();
    assert(isShort || p99 < 50, `another's p99 was ${p99} ms`);
    assert(rise < 128, `memory rose by ${rise} MiB`);
    client.close();
    return `${refused} answers of 300 MiB and more refused, ${rounds} of 7 MiB of JSON passed on; another's p99 ${p99.toFixed(2)} ms, its longest call ${longest.toFixed(0)} ms, memory rose by ${rise.toFixed(0)} MiB`;
  },

  async 'a server at a URL that never answers'(place, { isShort }) {
    const mcpServers = { hostile: await startHostile(place), fixture: place.fixture() };
    const daemon = await place.daemon({ config: place.config({ mcpServers }) });
    const other = await place.pulse(daemon);
    const waiting = await daemon.peer('server:hostile');
    const before = descriptorsOf(daemon.pid);
    const rounds = isShort ? 2 : 20;
    let most = 0;
    for (let round = 0; round < rounds; round++) {
      const client = await daemon.peer('server:hostile');
      for (let i = 0; i < 100; i++) void client.call('silent').catch(() => undefined);
      await until('they are under way', () => descriptorsOf(daemon.pid) > before + 90);
      most = Math.max(most, descriptorsOf(daemon.pid));
      if (round % 2)
        for (let i = 0; i < 100; i++) client.say({ method: 'notifications/cancelled', params: { requestId: i } });
      client.close();
      await until('their descriptors are back', () => descriptorsOf(daemon.pid) <= before + 3);
    }
    waiting.close();
    const { p99 } = await other.look();
    return `${rounds * 100} calls of clients that left, at most ${most - before} descriptors, all given back; another's p99 ${p99.toFixed(2)} ms`;
  },
};
