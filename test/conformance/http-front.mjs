// A front that speaks Streamable HTTP, for the tests only: it joins each HTTP session to a peer of its own, and passes
// every message on as it is. The same front stands before a server and before the bridge, so what differs is theirs.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

const isRequest = (message) => message.method !== undefined && message.id !== undefined;
const isAnswer = (message) => message.method === undefined;

/** One HTTP session and its peer. */
class Session {
  #transport;
  #peer;
  /** The client's requests that wait for their answers: id to progress token. */
  #open = new Map();

  constructor(transport, peer) {
    this.#transport = transport;
    this.#peer = peer;
    transport.onmessage = (message) => this.#fromClient(message);
    transport.onclose = () => peer.close();
    peer.onMessage = (message) => this.#fromPeer(message);
    peer.onClose = () => transport.close();
  }

  async close() {
    await this.#transport.close();
    await this.#peer.close();
  }

  #fromClient(message) {
    if (isRequest(message)) this.#open.set(message.id, message.params?._meta?.progressToken);
    this.#peer.send(message);
  }

  #fromPeer(message) {
    const relatedRequestId = isAnswer(message) ? undefined : this.#requestOf(message);
    if (isAnswer(message)) this.#open.delete(message.id);
    this.#transport.send(message, { relatedRequestId }).catch(() => undefined); // a client that has hung up gets none
  }

  /** Whose stream a message of the server's goes on; undefined stands for the one that belongs to no request. */
  #requestOf({ method, params }) {
    const ids = [...this.#open.keys()];
    if (method === 'notifications/progress') return ids.find((id) => this.#open.get(id) === params.progressToken);
    return ids.length === 1 ? ids[0] : undefined;
  }
}

export class HttpFront {
  #openPeer;
  /** By their ids. One that is over stays, and answers so. */
  #sessions = new Map();
  #server = createServer((request, response) => this.#handle(request, response));

  /** Listens on a free port. `openPeer` is asked for a peer for each session. */
  static async open(openPeer) {
    const front = new HttpFront();
    front.#openPeer = openPeer;
    await once(front.#server.listen(0, '127.0.0.1'), 'listening');
    return front;
  }

  get #host() {
    return `127.0.0.1:${this.#server.address().port}`;
  }

  get url() {
    return `http://${this.#host}/mcp`;
  }

  async close() {
    await Promise.all([...this.#sessions.values()].map(({ session }) => session.close()));
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }

  async #handle(request, response) {
    const id = request.headers['mcp-session-id'];
    const transport = id === undefined ? this.#newTransport() : this.#sessions.get(id)?.transport;
    if (transport === undefined) return response.writeHead(404).end('There is no such session.');
    await transport.handleRequest(request, response);
  }

  /** Its peer is opened with the session, for a request may be refused before there is one. */
  #newTransport() {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#sessions.set(id, { transport, session: new Session(transport, this.#openPeer()) });
      },
      enableDnsRebindingProtection: true,
      allowedHosts: [this.#host],
      allowedOrigins: [`http://${this.#host}`],
    });
    return transport;
  }
}
