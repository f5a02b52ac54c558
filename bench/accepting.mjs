// Tells when something accepts connections on a socket.
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const STEP_MS = 1;
const LONGEST_MS = 10_000;

/** Resolves once a connection could be made; `child` is who should accept, on a path or { host, port }. */
export async function untilAccepting(where, child) {
  const deadline = performance.now() + LONGEST_MS;
  while (!(await accepts(where))) {
    if (child.exitCode !== null || performance.now() > deadline)
      throw new Error(`nothing accepts on ${JSON.stringify(where)}`);
    await delay(STEP_MS);
  }
}

function accepts(where) {
  return new Promise((resolve) => {
    const socket = connect(where);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
