// Single lines, each of them allowed, that ask for far more than they are long.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { Peer, textOf } from './peer.mjs';
import { until, watchMemory } from './place.mjs';

const COSTLY = fileURLToPath(new URL('../fixtures/servers/costly.mjs', import.meta.url));
const MOST_BYTES = 8 << 20;
const MEMORY_MIB = 256;
const repeated = (text, bytes) =>
  Array(Math.floor(bytes / (text.length + 1)))
    .fill(text)
    .join(',');

/** Lists of so many bytes, for the tools of the server. */
const LISTS = {
  unique: (bytes) => Array.from({ length: Math.floor(bytes / 14) }, (_, i) => `{"i":${i}}`).join(','),
  members: (bytes) => repeated('{}', bytes),
  choices: (bytes) => repeated('"value-1499"', bytes),
};

async function lists(daemon, bytes) {
  const peer = await daemon.peer('discover');
  let id = 100;
  for (const [tool, listOf] of Object.entries(LISTS)) {
    const args = `{"server":"costly","tool":"${tool}","arguments":{"l":[${listOf(bytes - 400)}]}}`;
    const line = `{"jsonrpc":"2.0","id":${++id},"method":"tools/call","params":{"name":"execute_tool","arguments":${args}}}`;
    const answer = await peer.soon(peer.askRaw(line, id));
    assert(Number(textOf(answer)) > 1000, `${tool}: ${JSON.stringify(answer).slice(0, 200)}`);
  }
  peer.close();
}

/** A batch of nothings: one answer, and not one for each. */
async function batch(daemon, bytes) {
  const peer = await Peer.open(daemon.path);
  const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  await peer.soon(peer.ask('initialize', params));
  const refusal = peer.soon(peer.expect(null));
  peer.send(`[${repeated('0', bytes - 2)}]\n`);
  assert.equal((await refusal).error?.code, -32600);
  peer.close();
}

async function subscriptions(daemon, bytes, times) {
  const peer = await daemon.peer('all');
  const uri = `mcp-bridge://costly/${'x'.repeat(bytes - 400)}`;
  for (let i = 0; i < times; i++)
    assert((await peer.soon(peer.ask('resources/subscribe', { uri }))).error, 'it is more than may be subscribed to');
  peer.close();
}

export const costly = {
  async 'lines that cost more than they are long'(place, { isShort }) {
    const bytes = isShort ? 2 << 20 : MOST_BYTES;
    const mcpServers = { costly: { command: process.execPath, args: [COSTLY] }, other: place.fixture() };
    const daemon = await place.daemon({ config: place.config({ mcpServers }) });
    const other = await place.pulse(daemon, 'server:other');
    const before = await other.look();
    const risen = watchMemory(daemon.pid);
    await lists(daemon, bytes);
    await batch(daemon, bytes);
    await subscriptions(daemon, bytes, isShort ? 5 : 50);
    const during = await other.look();
    const most = risen();
    assert(most < MEMORY_MIB, `memory rose by ${most.toFixed(0)} MiB`);
    await until('nothing is left of it', async () => (await daemon.status()).clients === 1);
    return `long lists, a batch and subscriptions of ${bytes / (1 << 20)} MiB: memory rose by ${most.toFixed(0)} MiB, another's longest call ${before.longest.toFixed(0)} → ${during.longest.toFixed(0)} ms`;
  },
};
