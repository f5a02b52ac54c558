// An MCP client for scenarios that know nothing of the way to the server: it keeps what has come until somebody asks for it,
// and spells the names of tools and prompts as they are listed there.

import { type Message, type RawClient, textOf } from './raw-client.ts';

export interface Item {
  readonly name?: string;
  readonly uri?: string;
  readonly uriTemplate?: string;
  readonly title?: string;
}

export type ListKind = 'tools' | 'prompts' | 'resources' | 'templates';

const LISTS = {
  tools: { method: 'tools/list', member: 'tools', changed: 'tools' },
  prompts: { method: 'prompts/list', member: 'prompts', changed: 'prompts' },
  resources: { method: 'resources/list', member: 'resources', changed: 'resources' },
  templates: { method: 'resources/templates/list', member: 'resourceTemplates', changed: 'resources' },
} as const;

export interface McpClientOptions {
  /** What comes before the server's own names. */
  readonly prefix: string;
  /** `_meta` of `initialize`. */
  readonly meta?: object | undefined;
  /** Whether a list has what every server has to say: one that is slow comes later, and then the list has changed. */
  readonly isWhole?: (items: readonly Item[]) => boolean;
  /** The server whose tools are run by `execute_tool`. */
  readonly executes?: string | undefined;
}

export class McpClient {
  readonly raw: RawClient;
  readonly prefix: string;
  readonly #meta: object | undefined;
  readonly #isWhole: (items: readonly Item[]) => boolean;
  readonly #executes: string | undefined;
  /** What nobody has asked for yet. */
  readonly #inbox: Message[] = [];
  #nextId = 1;
  #hasClosed = false;
  #wake: (() => void)[] = [];

  constructor(raw: RawClient, { prefix, meta, isWhole = () => true, executes }: McpClientOptions) {
    this.raw = raw;
    this.prefix = prefix;
    this.#meta = meta;
    this.#isWhole = isWhole;
    this.#executes = executes;
    void this.#read();
  }

  async #read(): Promise<void> {
    try {
      for (;;) {
        const message = (await this.raw.next()) as Message | Message[];
        this.#inbox.push(...[message].flat());
        this.#notify();
      }
    } catch {
      this.#hasClosed = true; // whoever waits is told so
      this.#notify();
    }
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  // --- names ---

  tool(name: string): string {
    return `${this.prefix}${name}`;
  }

  /** The URI of a page of an app: a joined view puts the server into it. */
  page(uri: string): string {
    return this.prefix === '' ? uri : `ui://mcp-bridge/${this.prefix.replace(/__$/, '')}/${uri}`;
  }

  prompt(name: string): string {
    return `${this.prefix}${name}`;
  }

  // --- what comes ---

  /** The first message of its kind that nobody has taken yet. */
  async take(isIt: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const at = this.#inbox.findIndex(isIt);
      if (at >= 0) return this.#inbox.splice(at, 1)[0] as Message;
      if (this.#hasClosed) throw new Error('The connection closed first');
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  answerTo(id: unknown): Promise<Message> {
    return this.take((message) => message.method === undefined && message.id === id);
  }

  /** A notification, or a question of the server's. */
  told(method: string): Promise<Message> {
    return this.take((message) => message.method === method);
  }

  /** What has come of it and was not taken. */
  untaken(method: string): Message[] {
    return this.#inbox.filter((message) => message.method === method);
  }

  // --- what goes ---

  send(message: object): void {
    this.raw.send({ jsonrpc: '2.0', ...message });
  }

  /** Sends a request; its id. */
  begin(method: string, params?: object): number {
    const id = this.#nextId++;
    this.send({ id, method, ...(params === undefined ? {} : { params }) });
    return id;
  }

  request(method: string, params?: object): Promise<Message> {
    return this.answerTo(this.begin(method, params));
  }

  initialize(capabilities: object = {}, protocolVersion = '2025-11-25'): Promise<Message> {
    const answer = this.request('initialize', {
      protocolVersion,
      capabilities,
      clientInfo: { name: 'scenario', version: '1' },
      ...(this.#meta === undefined ? {} : { _meta: this.#meta }),
    });
    return answer.then((message) => {
      this.send({ method: 'notifications/initialized' });
      return message;
    });
  }

  /** Of a call of the server's tool. */
  paramsOf(tool: string, args: object = {}): object {
    const server = this.#executes;
    if (server === undefined) return { name: this.tool(tool), arguments: args };
    return { name: 'execute_tool', arguments: { server, tool, arguments: args } };
  }

  /** Calls a tool of another server. */
  callAt(server: string, tool: string, args: object = {}): Promise<Message> {
    const executed = { name: 'execute_tool', arguments: { server, tool, arguments: args } };
    const params = this.#executes === undefined ? { name: `${server}__${tool}`, arguments: args } : executed;
    return this.request('tools/call', params);
  }

  /** Sends a call; its id. `rest` are further params. */
  beginCall(name: string, args: object = {}, rest: object = {}): number {
    return this.begin('tools/call', { ...this.paramsOf(name, args), ...rest });
  }

  call(name: string, args: object = {}, rest: object = {}): Promise<Message> {
    return this.answerTo(this.beginCall(name, args, rest));
  }

  async text(name: string, args: object = {}): Promise<string> {
    return textOf(await this.call(name, args));
  }

  /** All items of a list, page by page, once all servers have said theirs and `holds` is true of them. */
  async listAll(kind: ListKind, holds: (items: readonly Item[]) => boolean = () => true): Promise<Item[]> {
    for (;;) {
      const items = await this.#listOnce(kind);
      if (this.#isWhole(items) && holds(items)) return items;
      await this.told(`notifications/${LISTS[kind].changed}/list_changed`);
    }
  }

  async #listOnce(kind: ListKind): Promise<Item[]> {
    if (kind === 'tools' && this.#executes !== undefined) return this.#toolsListed(this.#executes);
    const { method, member } = LISTS[kind];
    const items: Item[] = [];
    let cursor: unknown;
    do {
      const { result } = await this.request(method, cursor === undefined ? undefined : { cursor });
      items.push(...((result?.[member] ?? []) as Item[]));
      cursor = result?.nextCursor;
    } while (cursor !== undefined);
    return items;
  }

  async #toolsListed(server: string): Promise<Item[]> {
    const params = { name: 'list_tools', arguments: { server } };
    const { tools } = JSON.parse(textOf(await this.request('tools/call', params))) as { tools: { name: string }[] };
    return tools.map(({ name, ...rest }) => ({ ...rest, name: this.tool(name) }));
  }

  /** Of a list that goes by names, what the server itself lists, by its own names. */
  async names(kind: 'tools' | 'prompts'): Promise<string[]> {
    const names = (await this.listAll(kind)).map(({ name }) => name ?? '');
    return names.filter((name) => name.startsWith(this.prefix)).map((name) => name.slice(this.prefix.length));
  }
}
