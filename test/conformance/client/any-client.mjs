// A client without any knowledge of a server: it takes all that is listed, calls each tool with arguments made from its schema, and
// answers questions in the same way.

const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: { elicitation: {}, sampling: {}, roots: {} },
  clientInfo: { name: 'any-client', version: '1' },
};

const METHOD_NOT_FOUND = -32601;
/** Time for a server to notice what a client does after its last answer, such as opening a stream again. */
const LAST_WORDS_MS = 100;

export class AnyClient {
  #openPeer;
  #surely;
  #peer;
  #pending = new Map();
  #lastId = 0;

  /** `surely` makes a request until there is no point in trying any more. */
  constructor(openPeer, surely) {
    this.#openPeer = openPeer;
    this.#surely = surely;
  }

  /** Does all that the server offers. `calls` go before what would be made from the schemas. */
  async tryAll(calls) {
    const { capabilities } = await this.#surely(() => this.#initialize());
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
  async #initialize() {
    await this.#peer?.close();
    this.#peer = this.#openPeer();
    this.#peer.onMessage = (message) => this.#take(message);
    this.#peer.onClose = () => this.#failAll(new Error('The bridge has closed the connection.'));
    const result = await this.#request('initialize', INITIALIZE);
    this.#peer.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return result;
  }

  #ask(method, params = {}) {
    return this.#surely(() => this.#request(method, params));
  }

  #request(method, params) {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#peer.send({ jsonrpc: '2.0', id, method, params });
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
