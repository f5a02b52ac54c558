// A connection to a bridge's socket, a line a message. It carries JSON values, and adds to those that say who asks which server the client wants to see.
import { connect } from 'node:net';

/** In the era of 2026 each request says who asks. */
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

export class SocketPeer {
  onMessage = () => undefined;
  onClose = () => undefined;
  #socket;
  #meta;

  constructor(path, server) {
    this.#socket = connect(path);
    this.#meta = { 'mcp-bridge/view': `server:${server}` };
    let rest = '';
    this.#socket.setEncoding('utf8').on('data', (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      for (const line of lines) this.onMessage(JSON.parse(line));
    });
    this.#socket.once('close', () => this.onClose()).on('error', () => this.onClose());
  }

  send(message) {
    this.#socket.write(`${JSON.stringify(this.#introduced(message))}\n`);
  }

  #introduced(message) {
    const own = message.params?._meta;
    const isIntroduction = message.method === 'initialize' || own?.[VERSION_KEY] !== undefined;
    return isIntroduction ? { ...message, params: { ...message.params, _meta: { ...own, ...this.#meta } } } : message;
  }

  close() {
    return new Promise((resolve) => {
      if (this.#socket.closed) return resolve();
      this.#socket.once('close', resolve).destroy();
    });
  }
}
