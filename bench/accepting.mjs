// Tells when something accepts connections on a socket.
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const STEP_MS = 1;
const LONGEST_MS = 10_000;

/** Resolves once a connection could be made; the first try comes at once. `child` is who should accept. */
export async function untilAccepting(path, child) {
  const deadline = performance.now() + LONGEST_MS;
  while (!(await accepts(path))) {
    if (child.exitCode !== null || performance.now() > deadline) throw new Error(`nothing accepts on ${path}`);
    await delay(STEP_MS);
  }
}

function accepts(path) {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
