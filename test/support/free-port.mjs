// A free port for a server of a test, or of the torture suite.

import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port that nobody listens on, and that the system gives to nobody: those that it hands out to connections, it may hand out
 * again before the server listens, or while it is away.
 */
export async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const isFree = await new Promise((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
