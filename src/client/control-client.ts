// A session of the role `control`: asks the daemon about itself. For the command line and scripts.

import type { Socket } from 'node:net';
import { JSONRPCClient, type JSONRPCResponse } from 'json-rpc-2.0';
import type { ControlAnswer, ControlMethod, ControlParams } from '../control/report.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import { FrameSplitter } from '../wire/frame-splitter.ts';
import { notBridge, openBridgeSocket } from './bridge-socket.ts';
import { valueIn } from './bytes.ts';

export type {
  AcceptReport,
  ChangedServer,
  ChangedTool,
  ClientReport,
  ControlAnswer,
  ControlMethod,
  ControlParams,
  DialledInReport,
  LogsReport,
  ProcessLog,
  ServerRefresh,
  ShownDefinition,
  StatusReport,
} from '../control/report.ts';

/** How long the daemon may take for an answer that it has at hand. */
const ANSWER_TIMEOUT_MS = 10_000;
/** Its own answers may be long, those of 10,000 clients for instance. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export class ControlClient {
  readonly #socket: Socket;
  readonly #rpc: JSONRPCClient;
  readonly path: string;
  /** It has said what no bridge says. */
  #isForeign = false;

  private constructor(path: string, socket: Socket) {
    this.path = path;
    this.#socket = socket;
    this.#rpc = new JSONRPCClient((request) => void socket.write(`${JSON.stringify(request)}\n`));
    const splitter = new FrameSplitter(MAX_ANSWER_BYTES, {
      frame: (b, start, end) => this.#received(valueIn(b, start, end)),
      overflowed: () => socket.destroy(),
      badFrame: () => socket.destroy(),
    });
    socket.on('data', (chunk: Buffer) => splitter.push(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#rpc.rejectAllPendingRequests('the daemon closed the connection'));
  }

  /** `open` is how to get to the daemon, if not by its socket alone. */
  static async open(path: string, version: string, open = openBridgeSocket): Promise<ControlClient> {
    const client = new ControlClient(path, await open(path));
    const initialized = client.#request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'mcp-bridge', version },
      _meta: { 'mcp-bridge/role': 'control' },
    });
    try {
      if (isBridge(await initialized)) return client;
    } catch (error) {
      client.close();
      throw client.#isForeign ? notBridge(path) : error;
    }
    client.close();
    throw notBridge(path);
  }

  #received(message: unknown): void {
    if (isRecord(message)) return this.#rpc.receive(message as unknown as JSONRPCResponse);
    this.#isForeign = true;
    this.#socket.destroy();
  }

  /** Calls a control method. The answer's type is that of the method: only a daemon of this build or an older one answers. */
  async call<Method extends ControlMethod>(
    method: Method,
    params: ControlParams<Method> = {},
    timeoutMs = ANSWER_TIMEOUT_MS,
  ): Promise<ControlAnswer<Method>> {
    return (await this.#request(method, params, timeoutMs)) as ControlAnswer<Method>;
  }

  async #request(method: string, params: object, timeoutMs = ANSWER_TIMEOUT_MS): Promise<unknown> {
    try {
      return await this.#rpc.timeout(timeoutMs).request(method, params);
    } catch (error) {
      throw new BridgeError('DAEMON_UNRESPONSIVE', `The daemon at ${this.path} did not answer: ${messageOf(error)}`, {
        cause: error,
        hint: 'Is it stopped or overloaded? See: mcp-bridge logs',
      });
    }
  }

  /** Resolves when the daemon has closed the connection. */
  untilClosed(): Promise<void> {
    if (this.#socket.destroyed) return Promise.resolve();
    return new Promise((resolve) => this.#socket.once('close', () => resolve()));
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** A bridge says as whom it knows who asks, and no other server does. */
function isBridge(answer: unknown): boolean {
  return typeof membersOf(membersOf(answer)._meta)['mcp-bridge/clientId'] === 'string';
}
