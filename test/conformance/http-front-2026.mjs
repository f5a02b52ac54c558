// The front for revision 2026-07-28, for the tests only: no sessions, one request for each POST. All requests of one front
// share a peer that speaks lines. It changes ids alone, because two requests may have the same one, and checks what only
// HTTP has: headers, status codes, Host and Origin.
import { once } from 'node:events';
import { createServer } from 'node:http';

const KEY = 'io.modelcontextprotocol/';
const VERSION_HEADER = 'mcp-protocol-version';
const [PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS] = [-32700, -32600, -32601, -32602];
const HEADER_MISMATCH = -32020;
/** HeaderMismatch, MissingRequiredClientCapability, UnsupportedProtocolVersion. */
const OF_THE_ENVELOPE = new Set([HEADER_MISMATCH, -32021, -32022, PARSE_ERROR, INVALID_REQUEST]);
/** Whose names stand in a header too. */
const NAMED = {
  ...{ 'tools/call': 'name', 'prompts/get': 'name', 'resources/read': 'uri' },
  ...{ 'tasks/get': 'taskId', 'tasks/update': 'taskId', 'tasks/cancel': 'taskId' },
};

const metaOf = (message) => message.params?._meta ?? {};
const hasEnvelope = (message) =>
  typeof metaOf(message)[`${KEY}protocolVersion`] === 'string' &&
  typeof metaOf(message)[`${KEY}clientCapabilities`] === 'object';

/** Why the headers do not fit the body; undefined if they do. */
function mismatch(headers, message) {
  const version = metaOf(message)[`${KEY}protocolVersion`];
  if (headers[VERSION_HEADER] === undefined) return 'MCP-Protocol-Version is missing';
  if (version !== undefined && headers[VERSION_HEADER] !== version) return 'MCP-Protocol-Version differs from _meta';
  if (headers['mcp-method'] !== message.method) return 'Mcp-Method differs from the method';
  const wanted = message.params?.[NAMED[message.method]];
  if (wanted !== undefined && decoded(headers['mcp-name']) !== wanted) return 'Mcp-Name differs from the body';
  return undefined;
}

function decoded(header) {
  const [, base64] = /^=\?base64\?(.*)\?=$/.exec(header ?? '') ?? [];
  return base64 === undefined ? header : Buffer.from(base64, 'base64').toString('utf8');
}

function statusOf(code, message) {
  if (code === METHOD_NOT_FOUND) return 404;
  if (OF_THE_ENVELOPE.has(code)) return 400;
  return code === INVALID_PARAMS && !hasEnvelope(message) ? 400 : 200;
}

/** One POST with a request in it: its answer is JSON if nothing comes before it, else a stream. */
class Exchange {
  message;
  #response;

  constructor(message, response) {
    this.message = message;
    this.#response = response;
  }

  notify(notice) {
    if (!this.#response.headersSent)
      this.#response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    this.#event(notice);
  }

  answer(answer) {
    const whole = { ...answer, id: this.message.id };
    if (!this.#response.headersSent) return respond(this.#response, statusOf(answer.error?.code, this.message), whole);
    this.#event(whole);
    this.#response.end();
  }

  #event(message) {
    this.#response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }
}

function respond(response, status, message) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(message && JSON.stringify(message));
}

const failure = (id, code, message) => ({ jsonrpc: '2.0', id, error: { code, message } });

export class HttpFront2026 {
  #peer;
  #server = createServer((request, response) => void this.#handle(request, response));
  /** By the ids that the peer knows them by. */
  #open = new Map();
  #lastId = 0;

  /** Listens on a free port. */
  static async open(openPeer) {
    const front = new HttpFront2026();
    front.#peer = openPeer();
    front.#peer.onMessage = (message) => front.#fromPeer(message);
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
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
    await this.#peer.close();
  }

  async #handle(request, response) {
    const { host, origin } = request.headers;
    if (host !== this.#host || (origin !== undefined && origin !== `http://${this.#host}`))
      return respond(response, 403, failure(null, INVALID_REQUEST, 'Host or Origin is not allowed'));
    if (request.method !== 'POST') return respond(response, 405);
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    let message;
    try {
      message = JSON.parse(body);
    } catch {
      return respond(response, 400, failure(null, PARSE_ERROR, 'This is no JSON'));
    }
    this.#take(message, request.headers, response);
  }

  #take(message, headers, response) {
    if (Array.isArray(message) || typeof message.method !== 'string')
      return respond(response, 400, failure(message.id ?? null, INVALID_REQUEST, 'This is no request'));
    if (message.id === undefined) {
      this.#peer.send(message);
      return respond(response, 202);
    }
    const why = mismatch(headers, message);
    if (why !== undefined) return respond(response, 400, failure(message.id, HEADER_MISMATCH, why));
    this.#ask(message, response);
  }

  #ask(message, response) {
    const id = `f${++this.#lastId}`;
    this.#open.set(id, new Exchange(message, response));
    response.on('close', () => {
      // A client that hangs up before the answer has cancelled.
      if (!this.#open.delete(id)) return;
      this.#peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    });
    this.#peer.send({ ...message, id });
  }

  #fromPeer(message) {
    if (message.method === undefined) return this.#answered(message);
    const id = this.#requestOf(message);
    const exchange = this.#open.get(id);
    exchange?.notify(this.#renamed(message, id, exchange.message.id));
  }

  #answered(message) {
    const exchange = this.#open.get(message.id);
    this.#open.delete(message.id);
    exchange?.answer(this.#renamed(message, message.id, exchange.message.id));
  }

  /** A subscription goes by the id of its request. */
  #renamed(message, id, own) {
    const key = `${KEY}subscriptionId`;
    const member = message.method === undefined ? 'result' : 'params';
    const part = message[member];
    if (part?._meta?.[key] !== id) return message;
    return { ...message, [member]: { ...part, _meta: { ...part._meta, [key]: own } } };
  }

  /** The request on whose stream a message goes. */
  #requestOf({ method, params }) {
    const subscription = params?._meta?.[`${KEY}subscriptionId`];
    if (subscription !== undefined) return subscription;
    const open = [...this.#open].filter(([, exchange]) => exchange.message.method !== 'subscriptions/listen');
    if (method === 'notifications/progress')
      return open.find(([, { message }]) => metaOf(message).progressToken === params.progressToken)?.[0];
    return open.length === 1 ? open[0][0] : undefined;
  }
}
