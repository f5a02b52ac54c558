// What stands behind one HTTP session: whoever speaks MCP a line a message, over a process's pipes or over a socket.
// It carries JSON values, and adds to those that say who asks what the client wants to see.
import { connect } from 'node:net';

/** In the era of 2026 each request says who asks. */
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

class Peer {
  onMessage = () => undefined;
  onClose = () => undefined;
  #writable;
  #end;
  #meta;

  constructor({ readable, writable, end, meta }) {
    this.#writable = writable;
    this.#end = end;
    this.#meta = meta;
    let rest = '';
    readable.setEncoding('utf8').on('data', (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      for (const line of lines) this.onMessage(JSON.parse(line));
    });
    readable.once('close', () => this.onClose());
    writable.on('error', () => this.onClose());
  }

  send(message) {
    this.#writable.write(`${JSON.stringify(this.#introduced(message))}\n`);
  }

  close() {
    return this.#end();
  }

  #introduced(message) {
    const own = message.params?._meta;
    const isIntroduction = message.method === 'initialize' || own?.[VERSION_KEY] !== undefined;
    if (!isIntroduction || this.#meta === undefined) return message;
    return { ...message, params: { ...message.params, _meta: { ...own, ...this.#meta } } };
  }
}

/** A process of its own, which ends when its input does. */
export function processPeer(workspace, args) {
  const child = workspace.start(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const end = () => {
    child.stdin.end();
    return workspace.ended(child);
  };
  return new Peer({ readable: child.stdout, writable: child.stdin, end });
}

/** A connection to a bridge's socket, which says what it wants to see. */
export function socketPeer(path, server) {
  const socket = connect(path);
  const end = () =>
    new Promise((resolve) => {
      if (socket.closed) return resolve();
      socket.once('close', resolve).destroy();
    });
  return new Peer({ readable: socket, writable: socket, end, meta: { 'mcp-bridge/view': `server:${server}` } });
}
