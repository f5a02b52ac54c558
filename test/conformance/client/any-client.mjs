// A client without any knowledge of a server: it takes all that is listed, calls each tool with arguments made from its schema, and
// answers questions in the same way. It speaks either era.

const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };
const CLIENT_INFO = { name: 'any-client', version: '1' };
const INITIALIZE = { protocolVersion: '2025-11-25', capabilities: CAPABILITIES, clientInfo: CLIENT_INFO };
/** The members of `_meta` by which each request says who asks, where there is no handshake. */
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': CAPABILITIES,
  'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
};
/** More rounds of questions than any scenario has. */
const MOST_ROUNDS = 8;

const METHOD_NOT_FOUND = -32601;
/** Time for a server to notice what a client does after its last answer, such as opening a stream again. */
const LAST_WORDS_MS = 100;

export class AnyClient {
  #openPeer;
  #surely;
  #meta;
  #peer;
  #pending = new Map();
  #lastId = 0;

  /** `surely` makes a request until there is no point in trying any more. With a `view`, each request names it: no handshake does. */
  constructor(openPeer, surely, view) {
    this.#openPeer = openPeer;
    this.#surely = surely;
    this.#meta = view === undefined ? undefined : { ...ENVELOPE, 'mcp-bridge/view': view };
  }

  /** Does all that the server offers. `calls` go before what would be made from the schemas. */
  async tryAll(calls) {
    const { capabilities } = await this.#surely(() => this.#begin());
    const { tools } = await this.#ask('tools/list');
    const all = calls ?? tools.map((tool) => ({ name: tool.name, arguments: argumentsFor(tool, tools) }));
    for (const call of all) await this.#ask('tools/call', call).catch(expectNoCalls);
    if (capabilities.resources !== undefined) await this.#readResources();
    if (capabilities.prompts !== undefined) await this.#getPrompts();
    await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS));
  }

  async close() {
    await this.#peer?.close();
  }

  async #readResources() {
    const { resources } = await this.#ask('resources/list');
    for (const { uri } of resources) await this.#ask('resources/read', { uri });
  }

  async #getPrompts() {
    const { prompts } = await this.#ask('prompts/list');
    for (const { name, arguments: wanted = [] } of prompts) {
      const values = Object.fromEntries(wanted.map((argument) => [argument.name, 'text']));
      await this.#ask('prompts/get', { name, arguments: values });
    }
  }

  /** On a connection of its own each time: one that was refused is over. */
  async #begin() {
    await this.#peer?.close();
    this.#peer = this.#openPeer();
    this.#peer.onMessage = (message) => this.#take(message);
    this.#peer.onClose = () => this.#failAll(new Error('The bridge has closed the connection.'));
    if (this.#meta !== undefined) return this.#request('server/discover', {});
    const result = await this.#request('initialize', INITIALIZE);
    this.#peer.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return result;
  }

  /** Asks until the answer is complete: one with questions is asked again, with their answers. */
  async #ask(method, params = {}) {
    let result = await this.#surely(() => this.#request(method, params));
    for (let round = 0; result.resultType === 'input_required' && round < MOST_ROUNDS; round++) {
      const { inputRequests, requestState } = result;
      const state = requestState === undefined ? {} : { requestState };
      const given = inputRequests === undefined ? {} : { inputResponses: answersTo(inputRequests) };
      result = await this.#surely(() => this.#request(method, { ...params, ...given, ...state }));
    }
    return result;
  }

  #request(method, params) {
    const id = ++this.#lastId;
    const meta = this.#meta === undefined ? {} : { _meta: this.#meta };
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#peer.send({ jsonrpc: '2.0', id, method, params: { ...params, ...meta } });
    });
  }

  #take({ id, method, params, result, error }) {
    if (method !== undefined) return id === undefined ? undefined : this.#answer(id, method, params);
    const { resolve, reject } = this.#pending.get(id) ?? {};
    this.#pending.delete(id);
    if (error === undefined) resolve?.(result);
    else reject?.(Object.assign(new Error(error.message), { code: error.code, data: error.data }));
  }

  #answer(id, method, params) {
    const result = answers[method]?.(params);
    const error = { code: -32601, message: `There is no ${method} here.` };
    this.#peer.send({ jsonrpc: '2.0', id, ...(result === undefined ? { error } : { result }) });
  }

  #failAll(error) {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

const answersTo = (questions) =>
  Object.fromEntries(Object.entries(questions).map(([key, { method, params }]) => [key, answers[method](params)]));

/** Some of the suite's servers list tools only to see what a client does with the list. */
function expectNoCalls(error) {
  if (error.code !== METHOD_NOT_FOUND) throw error;
}

const answers = {
  ping: () => ({}),
  'roots/list': () => ({ roots: [] }),
  'elicitation/create': ({ requestedSchema }) => ({ action: 'accept', content: valueFor(requestedSchema) }),
  'sampling/createMessage': () => ({
    role: 'assistant',
    model: 'none',
    content: { type: 'text', text: 'An answer.' },
  }),
};

/** A tool that wants to see a schema gets the first that was listed, as it came. */
function argumentsFor({ inputSchema }, [{ inputSchema: schema }]) {
  const values = valueFor(inputSchema);
  return Object.hasOwn(values, 'schema') ? { ...values, schema } : values;
}

const simple = { string: 'text', integer: 1, number: 1, boolean: true, array: [], null: null };

/** A value that fits the schema, with its defaults, as far as the schema is plain. */
function valueFor({ type, enum: choices, default: usual, properties = {} } = {}) {
  if (usual !== undefined) return usual;
  if (choices !== undefined) return choices[0];
  if (type !== 'object') return simple[type] ?? 'text';
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueFor(schema)]));
}
