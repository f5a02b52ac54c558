// A client that asks for large answers one after another, in a process of its own.
//   over IPC: { target, meta, calls, kib }, answered with { seconds, p50, p99, callsPerSecond, faults }
import { RawClient, Tally } from './raw-client.mjs';
import { quantile } from './statistics.mjs';

async function read({ target, meta, calls, kib }) {
  const tally = new Tally();
  const client = new RawClient(target, tally);
  await client.initialize(meta);
  let faults = 0;
  const latenciesUs = [];
  const began = performance.now();
  for (let i = 0; i < calls; i++) {
    const sentMs = performance.now();
    const { content } = await client.request('tools/call', { name: 'blob', arguments: { kib } });
    latenciesUs.push((performance.now() - sentMs) * 1000);
    if (content[0].text.length !== kib * 1024) faults++;
  }
  const seconds = (performance.now() - began) / 1000;
  const [p50, p99] = [0.5, 0.99].map((q) => quantile(latenciesUs, q));
  client.close();
  return {
    seconds,
    p50,
    p99,
    callsPerSecond: calls / seconds,
    faults: faults + tally.faults,
    firstFault: tally.firstFault ?? 'a length is wrong',
  };
}

process.on('message', async (order) => {
  process.send(await read(order).catch((error) => ({ seconds: Number.NaN, faults: 1, firstFault: error.message })));
});
process.on('disconnect', () => process.exit(0));
