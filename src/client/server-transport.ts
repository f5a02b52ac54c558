// A transport for the SDK's `Server` and `McpServer`, of both SDK lines, for a program that is an MCP server and offers
// itself to the bridge. It connects, and reconnects after a restart of the daemon. A request over one connection is
// never answered over another.

import type { DialInState } from '../protocol/inbound-server.ts';
import { INTERNAL_ERROR } from '../protocol/rpc-codes.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { JsonRpcMessage } from './bridge-transport.ts';
import { valueIn } from './bytes.ts';
import {
  checkOptions,
  checkReconnect,
  type OptionKinds,
  type ReconnectOptions,
  reconnectSettings,
  unfit,
} from './library-options.ts';
import { callListener, handMessage } from './listener-call.ts';
import type { RegisteredLink, ServerRegistration } from './server-registration.ts';
import type { TurnRequests } from './turn-requests.ts';

export interface BridgeServerOptions {
  /** The name that others see. */
  readonly name: string;
  readonly version?: string | undefined;
  /**
   * The path of the socket; by default `MCP_BRIDGE_SOCKET`, the config file, or the default path, as for all clients.
   */
  readonly socketPath?: string | undefined;
  /** True to start a daemon if none runs; by default `mcpBridge.autoConnect` of the config file, or true. */
  readonly autostart?: boolean | undefined;
  /** The settings for reconnecting to a lost daemon; missing ones come from the config file. */
  readonly reconnect?: ReconnectOptions | undefined;
  /** The config file to use; the usual places are not searched then. */
  readonly configFile?: string | undefined;
  /**
   * Called on each connection with the decision whether others may see the server, again when that changes, and with
   * `lost` when the connection is gone.
   */
  readonly onState?: ((state: DialInState | 'lost') => void) | undefined;
}

const SERVER_OPTIONS: OptionKinds<BridgeServerOptions> = {
  name: 'a string',
  version: 'a string',
  socketPath: 'a string',
  autostart: 'true or false',
  reconnect: 'anything',
  configFile: 'a string',
  onState: 'a function',
};

type Tree = Record<string, unknown>;

const RENAMING = 'Choose another name: the option `name` of BridgeServerTransport.';
const INITIALIZED = 'notifications/initialized';

export class BridgeServerTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JsonRpcMessage) => void) | undefined;
  readonly #options: BridgeServerOptions;
  #dialIn: ServerRegistration | undefined;
  #link: RegisteredLink | undefined;
  #hasStarted = false;
  #isClosed = false;
  /** Loaded on connecting, like everything that a program without a connection does not need. */
  #requests: TurnRequests | undefined;

  /** Throws a BridgeError if an option is invalid. */
  constructor(options: BridgeServerOptions) {
    checkOptions(options, SERVER_OPTIONS, 'BridgeServerTransport');
    if (options.name === undefined)
      throw unfit('BridgeServerTransport needs the option name', "As in: { name: 'ide' }");
    checkReconnect(options.reconnect);
    this.#options = options;
  }

  /**
   * Connects; starts the daemon if there is none. Rejects if that fails, or if the daemon does not take this server.
   */
  async start(): Promise<void> {
    if (this.#hasStarted) throw new BridgeError('USAGE', 'This transport was started already: each has one server');
    this.#hasStarted = true;
    const dialIn = await this.#makeDialIn();
    this.#dialIn = dialIn;
    if (!this.#isClosed) await dialIn.register();
    if (this.#isClosed) throw new BridgeError('USAGE', 'This transport was closed while it connected');
    dialIn
      .stay((link) => this.#serve(link))
      .catch((error: unknown) => {
        if (error instanceof Error) callListener(() => this.onerror?.(error));
        void this.close();
      });
  }

  async #makeDialIn(): Promise<ServerRegistration> {
    const { name, version = '', socketPath, configFile, autostart, reconnect, onState } = this.#options;
    const [{ locateBridge }, { librarySettings, ownPlace }, { ServerRegistration }, { TurnRequests }] =
      await loadCore();
    this.#requests = new TurnRequests();
    const place = ownPlace(process.env);
    const located = await locateBridge({ socketFlag: socketPath, configFile, cwd: process.cwd(), ...place });
    return new ServerRegistration({
      hello: { name, version, program: name, renaming: RENAMING },
      where: located.where,
      start: librarySettings(located, autostart, place),
      reconnect: reconnectSettings(reconnect, located.reconnect),
      told: (state) => callListener(() => onState?.(state)),
      lost: () => this.#lost(),
    });
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
    this.#dialIn?.leave();
    callListener(() => this.onclose?.());
    return Promise.resolve();
  }

  #serve(link: RegisteredLink): Promise<void> {
    this.#link = link;
    this.#requests?.begin();
    return new Promise((closed) => link.listen({ frame: (frame) => this.#received(link, frame), closed }));
  }

  /** Called when the connection is lost: nobody waits for requests over it, and nobody answers the server's own. */
  #lost(): void {
    this.#link = undefined;
    const { abandoned = [], unanswered = [], error } = this.#requests?.end() ?? {};
    for (const id of abandoned)
      this.#hand({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: JSON.parse(id) as unknown },
      });
    for (const id of unanswered) this.#hand({ jsonrpc: '2.0', id: JSON.parse(id) as unknown, error });
    callListener(() => this.#options.onState?.('lost'));
  }

  // --- messages ---

  #received(link: RegisteredLink, { b, start, end }: Frame): void {
    const message = valueIn(b, start, end);
    const requests = this.#requests;
    if (!isRecord(message) || requests === undefined) return;
    const { id, method, params } = message;
    if (id === undefined && typeof method === 'string' && link.takes(method, () => params)) return;
    this.#hand(inward(message, requests));
  }

  #hand(message: object): void {
    handMessage(this, () => message as JsonRpcMessage);
  }

  /** Prepares a message for the bridge; undefined if nobody waits for it any more. */
  #outward(message: Tree): Tree | undefined {
    const { id, method } = message;
    if (typeof method !== 'string') {
      const own = this.#requests?.answered(JSON.stringify(id));
      return own === undefined ? undefined : { ...message, id: JSON.parse(own) as unknown };
    }
    if (id !== undefined) {
      if (this.#link !== undefined) this.#requests?.questionAsked(JSON.stringify(id));
      else
        queueMicrotask(() =>
          this.#hand({
            jsonrpc: '2.0',
            id,
            error: { code: INTERNAL_ERROR, message: 'There is no bridge at the moment' },
          }),
        );
      return message;
    }
    if (method !== 'notifications/progress') return method === INITIALIZED ? undefined : message;
    const params = membersOf(message.params);
    const progressToken = this.#own(params.progressToken);
    return progressToken === undefined ? undefined : { ...message, params: { ...params, progressToken } };
  }

  #own(id: unknown): unknown {
    const text = id === undefined ? undefined : this.#requests?.unmark(JSON.stringify(id));
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  }
}

/** Returns the bridge's message as the server gets it. Its ids name its connection. */
function inward(message: Tree, requests: TurnRequests): object {
  const { id, method } = message;
  if (typeof method !== 'string') {
    requests.questionAnswered(JSON.stringify(id));
    return message;
  }
  const marked = (value: unknown): unknown => JSON.parse(requests.mark(JSON.stringify(value)));
  const params = membersOf(message.params);
  if (id === undefined) {
    if (method !== 'notifications/cancelled') return message;
    return { ...message, params: { ...params, requestId: marked(params.requestId) } };
  }
  const towards: unknown = JSON.parse(requests.asked(JSON.stringify(id)));
  const meta = membersOf(params._meta);
  if (meta.progressToken === undefined) return { ...message, id: towards };
  const _meta = { ...meta, progressToken: marked(meta.progressToken) };
  return { ...message, id: towards, params: { ...params, _meta } };
}

/** Loads the code that connects; a program may never need it. */
function loadCore() {
  return Promise.all([
    import('./locate.ts'),
    import('./library-start.ts'),
    import('./server-registration.ts'),
    import('./turn-requests.ts'),
  ]);
}
