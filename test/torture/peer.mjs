// A client of raw lines that believes nothing: it counts the answers of each of its ids, and an id that is answered twice,
// or that it never used, is a fault.
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const PATIENCE_MS = 30_000;
const HELLO = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'torture', version: '1' } };

export class Peer {
  #socket;
  #waiting = new Map();
  #answered = new Set();
  #rest = [];
  #nextId = 1;
  /** What was wrong with what came. */
  faults = [];
  notices = [];
  /** What servers ask, if there is somebody to answer it; else that is a fault. */
  questions;
  isClosed = false;
  bytesIn = 0;

  constructor(socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', () => socket.destroy()).on('end', () => socket.end());
    this.closed = new Promise((resolve) =>
      socket.once('close', () => {
        this.isClosed = true;
        for (const { resolve: give } of this.#waiting.values()) give({ lost: true });
        this.#waiting.clear();
        resolve();
      }),
    );
  }

  static async open(path) {
    const socket = connect({ path, allowHalfOpen: true });
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Peer(socket);
  }

  /** One that is initialized. */
  static async ready(path, meta = {}, capabilities = {}) {
    const peer = await Peer.open(path);
    peer.hello = await peer.begin(meta, capabilities);
    if (peer.hello.result === undefined) throw new Error(`initialize: ${JSON.stringify(peer.hello)}`);
    peer.send('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    return peer;
  }

  begin(meta = { 'mcp-bridge/view': 'server:fixture' }, capabilities = {}) {
    return this.ask('initialize', { ...HELLO, capabilities, _meta: meta });
  }

  /** Bytes as they are; whether there is room for more. */
  send(bytes) {
    return this.#socket.write(bytes);
  }

  drained() {
    return new Promise((resolve) => this.#socket.once('drain', resolve).once('close', resolve));
  }

  /** Resolves to { result } or { error }, or { lost } if the connection went first. */
  ask(method, params, id = this.#nextId++) {
    return this.askRaw(JSON.stringify({ jsonrpc: '2.0', id, method, params }), id);
  }

  call(name, args = {}, id = undefined) {
    return this.ask('tools/call', { name, arguments: args }, id);
  }

  askRaw(line, id) {
    const answer = this.expect(id);
    this.send(`${line}\n`);
    return answer;
  }

  /** An answer, or a notice. */
  say(message) {
    this.send(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  /** The answer to what is sent in another way. */
  expect(id) {
    if (this.isClosed) return Promise.resolve({ lost: true });
    return new Promise((resolve) => this.#waiting.set(id, { resolve }));
  }

  /** The same, but an answer that never comes is one too. */
  soon(answer, patienceMs = PATIENCE_MS) {
    return Promise.race([answer, delay(patienceMs, { never: true }, { ref: false })]);
  }

  stopReading() {
    this.#socket.pause();
  }

  resumeReading() {
    this.#socket.resume();
  }

  end() {
    this.#socket.end();
  }

  close() {
    this.#socket.destroy();
  }

  #read(chunk) {
    this.bytesIn += chunk.length;
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.#rest.push(chunk.subarray(from, at));
      this.#take(Buffer.concat(this.#rest).toString());
      this.#rest = [];
      from = at + 1;
    }
    if (from < chunk.length) this.#rest.push(chunk.subarray(from));
  }

  #take(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      this.faults.push(`not JSON: ${line.slice(0, 100)}`);
      return;
    }
    if (message.method !== undefined) return this.#asked(message);
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) {
      const kind = this.#answered.has(message.id) ? 'answered twice' : 'never asked';
      if (message.id !== null) this.faults.push(`${kind}: ${line.slice(0, 200)}`);
      else this.notices.push(message);
      return;
    }
    this.#waiting.delete(message.id);
    this.#answered.add(message.id);
    waiting.resolve(message);
  }

  #asked(message) {
    if (message.id === undefined) this.notices.push(message);
    else if (message.method === 'ping') this.say({ id: message.id, result: {} });
    else if (this.questions !== undefined) this.questions.push(message);
    else this.faults.push(`asked: ${message.method}`);
  }
}

export const textOf = (answer) => answer.result?.content?.[0]?.text;
