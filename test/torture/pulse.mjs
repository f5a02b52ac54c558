// An ordinary client in a process of its own, so that what it measures is not the doing of the one who makes the trouble:
// it calls, one call after the other, with a pause between them if one is given. At each message it says how that went since
// the last one.
//   node pulse.mjs SOCKET VIEW [PAUSE_MS]
import { setTimeout as delay } from 'node:timers/promises';
import { Peer, textOf } from './peer.mjs';

const [path, view, pauseMs = '0'] = process.argv.slice(2);
const peer = await Peer.ready(path, { 'mcp-bridge/view': view });
let took = [];
let wrong = 0;

function report() {
  const sorted = took.sort((a, b) => a - b);
  const p99 = sorted[Math.floor(sorted.length * 0.99)];
  process.send({ calls: sorted.length, p99, longest: sorted.at(-1), wrong, faults: peer.faults });
  took = [];
}

/** Somebody looked before a call had ended: they are told after the next one. */
let isLookedFor = false;
process.on('message', () => {
  if (took.length > 0) report();
  else isLookedFor = true;
});
process.on('disconnect', () => process.exit(0));
for (let i = 0; ; i++) {
  const began = performance.now();
  const answer = await peer.soon(peer.call('echo', { text: `${i}` }));
  took.push(performance.now() - began);
  if (textOf(answer) !== `${i}`) wrong++;
  if (isLookedFor) report();
  isLookedFor = false;
  if (pauseMs !== '0') await delay(Number(pauseMs));
}
