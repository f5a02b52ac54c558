// A client of the library, which comes back when its connection has dropped; it counts what is answered as a peer does.
// And a way to the daemon that drops all connections when it is told to.
import { connect, createServer } from 'node:net';

const LIBRARY = new URL('../../dist/client.js', import.meta.url);
const RECONNECT = { enabled: true, maxAttempts: 50, initialDelayMs: 20, maxDelayMs: 500 };

export class LastingPeer {
  #transport;
  #waiting = new Map();
  #nextId = 1;
  faults = [];
  /** How often its session went on. */
  resumed = 0;

  static async ready(socketPath, view = 'server:fixture') {
    const { BridgeTransport } = await import(LIBRARY);
    const peer = new LastingPeer();
    const transport = new BridgeTransport({ socketPath, view, autostart: false, reconnect: RECONNECT });
    peer.#transport = transport;
    transport.onmessage = (message) => peer.#take(message);
    transport.onerror = (error) => peer.faults.push(error.message);
    transport.on('resumed', () => peer.resumed++);
    await transport.start();
    const clientInfo = { name: 'torture', version: '1' };
    await peer.ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    await transport.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return peer;
  }

  call(name, args = {}) {
    return this.ask('tools/call', { name, arguments: args });
  }

  ask(method, params) {
    const id = this.#nextId++;
    const answer = new Promise((resolve) => this.#waiting.set(id, resolve));
    this.#transport.send({ jsonrpc: '2.0', id, method, params }).catch((error) => this.faults.push(error.message));
    return answer;
  }

  close() {
    return this.#transport.close();
  }

  #take(message) {
    if (message.method !== undefined) return;
    const resolve = this.#waiting.get(message.id);
    if (resolve === undefined)
      this.faults.push(`not asked, or answered twice: ${JSON.stringify(message).slice(0, 200)}`);
    this.#waiting.delete(message.id);
    resolve?.(message);
  }
}

/** Listens at one path and passes on to another. */
export async function brittleWay(path, to) {
  const sockets = new Set();
  const server = createServer((client) => {
    const daemon = connect(to);
    for (const [one, other] of [
      [client, daemon],
      [daemon, client],
    ]) {
      sockets.add(one);
      one.on('error', () => one.destroy()).pipe(other);
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise((resolve) => server.listen(path, resolve));
  return {
    path,
    drop() {
      for (const socket of sockets) socket.destroy();
    },
    close() {
      this.drop();
      server.close();
    },
  };
}
