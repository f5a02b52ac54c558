// A session of the role `control`: asks the daemon about itself, for the command line and scripts.

import type { Socket } from 'node:net';
import type { EventBatch } from '../control/event-report.ts';
import type { ControlAnswer, ControlMethod, ControlParams } from '../control/report.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { membersOf } from '../util/json-value.ts';
import { notBridge, openBridgeSocket } from './bridge-socket.ts';
import { RpcFailure, RpcSession } from './rpc-session.ts';

export { type DaemonEvent, EVENT_KINDS, type EventBatch, type WatchParams } from '../control/event-report.ts';
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

/** The daemon's time for an answer that needs no work. */
const ANSWER_TIMEOUT_MS = 10_000;
/** The maximum size of a daemon's own answer; a list of 10,000 clients is long. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export class ControlClient {
  readonly #socket: Socket;
  readonly #rpc: RpcSession;
  readonly path: string;

  /** Called with the events of watches. */
  onEvents: ((batch: EventBatch) => void) | undefined;

  private constructor(path: string, socket: Socket) {
    this.path = path;
    this.#socket = socket;
    this.#rpc = new RpcSession(socket, {
      maxFrameBytes: MAX_ANSWER_BYTES,
      onNotification: (method, params) => {
        // The daemon is of this build or an older one, so the params have this type.
        if (method === 'bridge/event') this.onEvents?.(params as unknown as EventBatch);
      },
    });
  }

  /** Connects with `open`, which may use more than the socket. */
  static async open(path: string, version: string, open = openBridgeSocket): Promise<ControlClient> {
    const client = new ControlClient(path, await open(path));
    const clientInfo = { name: 'mcp-bridge', version };
    const _meta = { 'mcp-bridge/role': 'control' };
    try {
      const { result } = await client.#rpc.initialize({ clientInfo, _meta }, ANSWER_TIMEOUT_MS);
      if (isBridge(result)) return client;
    } catch (error) {
      client.close();
      throw error instanceof RpcFailure && error.kind === 'foreign' ? notBridge(path) : client.#unresponsive(error);
    }
    client.close();
    throw notBridge(path);
  }

  /**
   * Calls a control method. The answer has the method's type, because only a daemon of this build or an older one
   * answers.
   */
  async call<Method extends ControlMethod>(
    method: Method,
    params: ControlParams<Method> = {},
    timeoutMs = ANSWER_TIMEOUT_MS,
  ): Promise<ControlAnswer<Method>> {
    try {
      const { result } = await this.#rpc.request(method, JSON.stringify(params), { timeoutMs });
      return result as ControlAnswer<Method>;
    } catch (error) {
      throw this.#unresponsive(error);
    }
  }

  #unresponsive(error: unknown): BridgeError {
    return new BridgeError('DAEMON_UNRESPONSIVE', `The daemon at ${this.path} did not answer: ${messageOf(error)}`, {
      cause: error,
      hint: 'Is it stopped or overloaded? See: mcp-bridge logs',
    });
  }

  /** Resolves when the daemon has closed the connection. */
  untilClosed(): Promise<void> {
    if (this.#socket.destroyed) return Promise.resolve();
    return new Promise((resolve) => this.#socket.once('close', () => resolve()));
  }

  /** Stops reading what the daemon sends; `resume` goes on. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** True for the answer of a bridge: only a bridge names the client's id. */
function isBridge(answer: unknown): boolean {
  return typeof membersOf(membersOf(answer)._meta)['mcp-bridge/clientId'] === 'string';
}
