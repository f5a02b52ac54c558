// One MCP client in raw JSON-RPC, over a Unix socket or a command's stdio. Each call sends a text of its own, and the
// answer must hold exactly that one; whatever else comes is counted in the tally and never overlooked.
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { lineReader } from './line-reader.mjs';
import { turnWriter } from './turn-writer.mjs';

const PROTOCOL = '2025-06-18';
const EXCERPT = 200;

export class Tally {
  errors = 0;
  mismatches = 0;
  strays = 0;
  firstFault;

  get faults() {
    return this.errors + this.mismatches + this.strays;
  }

  note(kind, what) {
    this[kind]++;
    this.firstFault ??= `${kind}: ${String(what).slice(0, EXCERPT)}`;
  }
}

/** Where a client connects to: { unix } or { command: [program, ...args] }. */
function open(target) {
  if (target.unix !== undefined) {
    const socket = connect(target.unix);
    return { input: socket, output: socket, close: () => socket.destroy(), pid: undefined };
  }
  const [command, ...args] = target.command;
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'ignore'] });
  const close = () => {
    child.stdin.end();
    child.kill();
  };
  child.stdin.on('error', () => child.kill());
  child.on('error', () => child.stdout.destroy());
  return { input: child.stdout, output: child.stdin, close, pid: child.pid };
}

export class RawClient {
  #peer;
  #write;
  #tally;
  #pending = new Map();
  #nextId = 1;
  #isClosing = false;
  /** How often the other side pinged it. */
  pingsAnswered = 0;

  constructor(target, tally) {
    this.#tally = tally;
    this.#peer = open(target);
    this.#write = turnWriter(this.#peer.output);
    this.#peer.input.on(
      'data',
      lineReader((line) => this.#onLine(line)),
    );
    this.#peer.input.on('error', (error) => this.#onGone(error.message)).on('close', () => this.#onGone('closed'));
  }

  /** Of the process in between, if this client started one. */
  get pid() {
    return this.#peer.pid;
  }

  async initialize(meta) {
    const clientInfo = { name: 'bench', version: '1.0.0' };
    const params = { protocolVersion: PROTOCOL, capabilities: {}, clientInfo, ...(meta && { _meta: meta }) };
    const result = await this.request('initialize', params);
    this.#write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    return result;
  }

  request(method, params = {}) {
    return new Promise((resolve, reject) => {
      this.#send(method, JSON.stringify(params), (message, fault) => {
        if (fault !== undefined) reject(new Error(fault));
        else if (message.error) reject(new Error(JSON.stringify(message.error)));
        else resolve(message.result);
      });
    });
  }

  /** Calls `echo` with a text of its own and checks the answer; done() follows in any case. */
  echo(text, done) {
    this.#send('tools/call', `{"name":"echo","arguments":{"text":${text.json}}}`, (message, fault) => {
      if (fault !== undefined) this.#tally.note('errors', fault);
      else if (message.error || message.result?.isError) this.#tally.note('errors', JSON.stringify(message));
      else if (!text.isIn(message.result)) this.#tally.note('mismatches', JSON.stringify(message));
      done();
    });
  }

  close() {
    this.#isClosing = true;
    this.#peer.close();
  }

  #send(method, paramsJson, onAnswer) {
    const id = this.#nextId++;
    this.#pending.set(id, onAnswer);
    this.#write(`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${paramsJson}}\n`);
  }

  #onLine(line) {
    const message = JSON.parse(line.toString());
    if (message.method !== undefined) return this.#onAsked(message);
    const onAnswer = this.#pending.get(message.id);
    if (onAnswer === undefined) return this.#tally.note('strays', line);
    this.#pending.delete(message.id);
    onAnswer(message);
  }

  #onAsked({ id, method }) {
    if (method !== 'ping') return this.#tally.note('strays', method);
    this.pingsAnswered++;
    this.#write(`${JSON.stringify({ jsonrpc: '2.0', id, result: {} })}\n`);
  }

  #onGone(reason) {
    if (!this.#isClosing && this.#pending.size === 0) this.#tally.note('errors', `connection lost: ${reason}`);
    this.#isClosing = true;
    const unanswered = [...this.#pending.values()];
    this.#pending.clear();
    for (const onAnswer of unanswered) onAnswer(undefined, `connection lost: ${reason}`);
  }
}
