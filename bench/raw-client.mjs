// One MCP client in raw JSON-RPC. Each call sends a text of its own, and the answer must hold exactly that one;
// whatever else comes is counted in the tally and never overlooked.
import { openConnection } from './connection.mjs';

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

/** What a client of 2026 says in each request. */
const WHO = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** Declares nothing, answers pings, and expects no notifications. */
const PLAIN = { capabilities: {}, answers: { ping: {} }, takesNotifications: false };

export class RawClient {
  #connection;
  #tally;
  #profile;
  #pending = new Map();
  #nextId = 1;
  #isClosing = false;
  #lostTo;
  /** How often the other side pinged it. */
  pingsAnswered = 0;

  /** The last member of the params of each request. */
  #metaJson = '';

  /** `profile` is what kind of client this is: { capabilities, answers: method -> result, takesNotifications, era }. */
  constructor(target, tally, profile = {}) {
    this.#tally = tally;
    this.#profile = { ...PLAIN, ...profile };
    this.#connection = openConnection(target, {
      message: (message) => this.#onMessage(message),
      lost: (reason) => this.#onLost(reason),
      failed: (id, reason) => this.#take(id)?.(undefined, reason),
    });
  }

  /** Of the process in between, if this client started one. */
  get pid() {
    return this.#connection.pid;
  }

  async initialize(meta) {
    if (this.#profile.era === '2026') {
      this.#metaJson = `"_meta":${JSON.stringify({ ...WHO, ...meta })}`;
      return this.request('server/discover');
    }
    const clientInfo = { name: 'bench', version: '1.0.0' };
    const { capabilities } = this.#profile;
    const params = { protocolVersion: PROTOCOL, capabilities, clientInfo, ...(meta && { _meta: meta }) };
    const result = await this.request('initialize', params);
    this.#connection.send('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
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

  /**
   * Calls `echo`, or the `tool` that it is here, with a text of its own and checks the answer: a name, or { server, tool }
   * for one that is run by `execute_tool`. done(outcome) follows in any case: 'right', 'wrong', 'refused' by an answer that
   * says so, or 'lost' with the connection or the response.
   */
  echo(text, done, tool = 'echo') {
    this.#send('tools/call', callOf(tool, `{"text":${text.json}}`), (message, fault) => {
      done(this.#judge(text, message, fault));
    });
  }

  close() {
    this.#isClosing = true;
    this.#connection.close();
  }

  #judge(text, message, fault) {
    if (fault !== undefined) return this.#note('errors', fault, 'lost');
    if (message.error || message.result?.isError) return this.#note('errors', JSON.stringify(message), 'refused');
    if (!text.isIn(message.result)) return this.#note('mismatches', JSON.stringify(message), 'wrong');
    return 'right';
  }

  #note(kind, what, outcome) {
    this.#tally.note(kind, what);
    return outcome;
  }

  #send(method, paramsJson, onAnswer) {
    if (this.#lostTo !== undefined) return void setImmediate(onAnswer, undefined, this.#lostTo);
    const id = this.#nextId++;
    this.#pending.set(id, onAnswer);
    this.#connection.send(
      `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${this.#withMeta(paramsJson)}}\n`,
      id,
    );
  }

  #withMeta(paramsJson) {
    if (this.#metaJson === '') return paramsJson;
    return `${paramsJson.slice(0, -1)}${paramsJson === '{}' ? '' : ','}${this.#metaJson}}`;
  }

  /** Who waits for this answer, if anybody does; nobody does any more. */
  #take(id) {
    const onAnswer = this.#pending.get(id);
    this.#pending.delete(id);
    return onAnswer;
  }

  #onMessage(message) {
    if (message.method !== undefined) return this.#onAsked(message);
    const onAnswer = this.#take(message.id);
    if (onAnswer === undefined) return this.#tally.note('strays', JSON.stringify(message));
    onAnswer(message);
  }

  #onAsked({ id, method }) {
    const { answers, takesNotifications } = this.#profile;
    if (id === undefined && takesNotifications) return;
    if (answers[method] === undefined) return this.#tally.note('strays', method);
    if (method === 'ping') this.pingsAnswered++;
    this.#connection.send(`${JSON.stringify({ jsonrpc: '2.0', id, result: answers[method] })}\n`);
  }

  #onLost(reason) {
    if (!this.#isClosing && this.#pending.size === 0) this.#tally.note('errors', `connection lost: ${reason}`);
    this.#isClosing = true;
    this.#lostTo ??= `connection lost: ${reason}`;
    const unanswered = [...this.#pending.values()];
    this.#pending.clear();
    for (const onAnswer of unanswered) onAnswer(undefined, this.#lostTo);
  }
}

function callOf(tool, args) {
  if (typeof tool === 'string') return `{"name":"${tool}","arguments":${args}}`;
  const inner = `{"server":"${tool.server}","tool":"${tool.tool}","arguments":${args}}`;
  return `{"name":"execute_tool","arguments":${inner}}`;
}
