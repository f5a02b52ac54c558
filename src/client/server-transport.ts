// For a program that is an MCP server and offers itself to the bridge: a transport for the SDK's `Server` and `McpServer`,
// of either line. It connects, and connects again when the daemon has been started again; what was asked over one
// connection is never answered over another.

import { homedir } from 'node:os';
import { fullJitter } from '../util/backoff.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { JsonRpcMessage } from './bridge-transport.ts';
import type { DialInState, DialledLink } from './dialled-link.ts';
import { marked, unmarked } from './turn-ids.ts';

export interface BridgeServerOptions {
  /** The name that others are to see. */
  readonly name: string;
  readonly version?: string;
  /** Else MCP_BRIDGE_SOCKET, the config file, or the default, as for all clients. */
  readonly socketPath?: string;
  readonly reconnect?: {
    readonly enabled?: boolean;
    /** In a row, before it gives up; 20. */
    readonly maxAttempts?: number;
    readonly initialDelayMs?: number;
    readonly maxDelayMs?: number;
  };
  /** Told each time that it is connected whether others may see it, and each time that it is not any more. */
  readonly onState?: (state: DialInState | 'lost') => void;
}

type Tree = Record<string, unknown>;

const DEFAULTS = { enabled: true, maxAttempts: 20, initialDelayMs: 50, maxDelayMs: 5000 };
const INITIALIZED = 'notifications/initialized';

export class BridgeServerTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  readonly #options: BridgeServerOptions;
  #path = '';
  #link: DialledLink | undefined;
  #turn = 0;
  #isClosed = false;
  #cancelDelay: () => void = () => undefined;
  /** What the server was asked over this connection, and what it has asked, by their ids towards it. */
  readonly #asked = new Set<unknown>();
  readonly #questions = new Set<string | number>();

  constructor(options: BridgeServerOptions) {
    this.#options = options;
  }

  /** Rejects if there is no bridge, or if it does not take this server. */
  async start(): Promise<void> {
    const { socketPath: socketFlag } = this.#options;
    const { env: environment } = process;
    const { locateBridge } = await import('./locate.ts');
    const located = await locateBridge({ socketFlag, environment, cwd: process.cwd(), homedir: homedir() });
    this.#path = located.path;
    this.#serve(await this.#open());
  }

  send(message: JsonRpcMessage, _options?: object): Promise<void> {
    const line = this.#outward(message as unknown as Tree);
    const { socket } = this.#link ?? {};
    if (line === undefined || socket === undefined) return Promise.resolve();
    return new Promise((resolve) => void socket.write(`${JSON.stringify(line)}\n`, () => resolve()));
  }

  close(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#isClosed = true;
    this.#cancelDelay();
    this.#link?.socket.end();
    this.onclose?.();
    return Promise.resolve();
  }

  async #open(): Promise<DialledLink> {
    const { name, version = '' } = this.#options;
    const { DialledLink } = await import('./dialled-link.ts');
    return DialledLink.open(this.#path, { name, program: name, version });
  }

  #serve(link: DialledLink): void {
    this.#link = link;
    this.#turn++;
    this.#options.onState?.(link.state);
    link.listen({
      frame: (frame) => this.#received(frame),
      closed: () => void this.#lost(),
    });
  }

  // --- when it is lost ---

  async #lost(): Promise<void> {
    this.#link = undefined;
    if (this.#isClosed) return;
    for (const requestId of this.#asked)
      this.#hand({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
    const error = { code: -32603, message: 'The bridge has gone before it answered' };
    for (const id of this.#questions) this.#hand({ jsonrpc: '2.0', id, error });
    this.#asked.clear();
    this.#questions.clear();
    this.#options.onState?.('lost');
    try {
      const link = await this.#reconnect();
      if (link !== undefined) this.#serve(link);
    } catch (error) {
      if (error instanceof Error) this.onerror?.(error);
      await this.close();
    }
  }

  /** Undefined if it was closed meanwhile. */
  async #reconnect(): Promise<DialledLink | undefined> {
    const settings = { ...DEFAULTS, ...this.#options.reconnect };
    const { enabled, maxAttempts } = settings;
    if (!enabled) throw new BridgeError('DAEMON_NOT_RUNNING', 'The bridge has closed the connection');
    let last: unknown;
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      await this.#delay(attempt === 0 ? 0 : fullJitter(settings, attempt, Math.random()));
      if (this.#isClosed) return undefined;
      try {
        const link = await this.#open();
        if (!this.#isClosed) return link;
        link.socket.destroy();
        return undefined;
      } catch (error) {
        last = error;
        if (error instanceof BridgeError && error.code === 'REQUEST_REFUSED') throw error;
      }
    }
    throw new BridgeError(
      'DAEMON_NOT_RUNNING',
      `No bridge could be reached at ${this.#path} in ${maxAttempts} attempts`,
      {
        cause: last,
      },
    );
  }

  #delay(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#cancelDelay = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  // --- messages ---

  #received({ b, start, end }: Frame): void {
    const message: unknown = JSON.parse(b.toString('utf8', start, end));
    if (isRecord(message)) this.#hand(this.#inward(message));
  }

  #hand(message: object): void {
    this.onmessage?.(message as JsonRpcMessage);
  }

  /** With ids that say over which connection they came. */
  #inward(message: Tree): object {
    const { id, method } = message;
    if (typeof method !== 'string') {
      this.#questions.delete(id as string | number);
      return message;
    }
    const params = membersOf(message.params);
    if (id === undefined) {
      if (method !== 'notifications/cancelled') return message;
      return { ...message, params: { ...params, requestId: this.#marked(params.requestId) } };
    }
    const marked = this.#marked(id);
    this.#asked.add(marked);
    const meta = membersOf(params._meta);
    if (meta.progressToken === undefined) return { ...message, id: marked };
    const _meta = { ...meta, progressToken: this.#marked(meta.progressToken) };
    return { ...message, id: marked, params: { ...params, _meta } };
  }

  /** Undefined for what nobody waits for any more. */
  #outward(message: Tree): Tree | undefined {
    const { id, method } = message;
    if (typeof method !== 'string') {
      const own = this.#asked.delete(id) ? this.#own(id) : undefined;
      return own === undefined ? undefined : { ...message, id: own };
    }
    if (id !== undefined) {
      if (this.#link !== undefined) this.#questions.add(id as string | number);
      else
        queueMicrotask(() =>
          this.#hand({ jsonrpc: '2.0', id, error: { code: -32603, message: 'There is no bridge at the moment' } }),
        );
      return message;
    }
    if (method !== 'notifications/progress') return method === INITIALIZED ? undefined : message;
    const params = membersOf(message.params);
    const progressToken = this.#own(params.progressToken);
    return progressToken === undefined ? undefined : { ...message, params: { ...params, progressToken } };
  }

  #marked(id: unknown): string | number {
    return JSON.parse(marked(this.#turn, JSON.stringify(id))) as string | number;
  }

  #own(id: unknown): unknown {
    const text = id === undefined ? undefined : unmarked(this.#turn, JSON.stringify(id));
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  }
}
