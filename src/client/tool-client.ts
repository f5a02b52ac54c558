// A session for the commands that use tools, in the view `discover` by default. Servers may ask it to show a form, and
// nothing else. Numbers too long for JavaScript pass unchanged, in both directions.

import type { Socket } from 'node:net';
import { outcomeUnknownAfter } from '../protocol/rpc-codes.ts';
import { BridgeError, messageOf } from '../util/bridge-error.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import { MAX_TEXT_BYTES } from './bytes.ts';
import type { Refusal } from './rpc-refusal.ts';
import { type Answer, RpcFailure, RpcSession } from './rpc-session.ts';

export type { Answer };

export interface Progress {
  readonly progress: number | undefined;
  readonly total: number | undefined;
  readonly message: string;
}

export interface LogMessage {
  readonly level: string;
  readonly data: unknown;
}

export interface CallOptions {
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly onLog?: ((message: LogMessage) => void) | undefined;
  /** Cancels the call; it then fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** True for a call that changes something: it may have been done even without an answer. */
  readonly isAct?: boolean | undefined;
}

export interface SessionOptions {
  readonly version: string;
  readonly cwd: string;
  readonly view?: string;
  /** The id that others know the client by. */
  readonly clientId?: string;
  /** True if long results stay whole. */
  readonly wantsWholeResults?: boolean;
  /** Answers the forms that servers show to the person. Without it, their questions are refused. */
  readonly onElicit?: ((params: unknown) => Promise<object | undefined>) | undefined;
}

export class ToolClient {
  readonly #socket: Socket;
  readonly #rpc: RpcSession;
  /** The options of open requests by their ids, which are also their progress tokens. */
  readonly #requests = new Map<number, CallOptions>();
  /** The options of tasks by the progress token of the call that began each; the server goes on using that token. */
  readonly #tasks = new Map<number, CallOptions>();

  private constructor(socket: Socket, onElicit: SessionOptions['onElicit']) {
    this.#socket = socket;
    this.#rpc = new RpcSession(socket, {
      maxFrameBytes: MAX_TEXT_BYTES,
      onRequest: (method, params) =>
        method === 'elicitation/create' && onElicit !== undefined ? elicited(onElicit(params)) : undefined,
      onNotification: (method, params) => this.#notified(method, params),
    });
  }

  static async open(
    socket: Socket,
    { version, cwd, view = 'discover', clientId = 'mcp-bridge-cli', wantsWholeResults, onElicit }: SessionOptions,
  ): Promise<ToolClient> {
    const client = new ToolClient(socket, onElicit);
    try {
      await client.#rpc.initialize({
        capabilities: onElicit === undefined ? {} : { elicitation: {} },
        clientInfo: { name: clientId, version },
        _meta: {
          'mcp-bridge/view': view,
          'mcp-bridge/cwd': cwd,
          'mcp-bridge/clientId': clientId,
          'mcp-bridge/accepts': false,
          ...(wantsWholeResults === true && { 'mcp-bridge/results': 'whole' }),
        },
      });
    } catch (error) {
      socket.destroy();
      throw failureOf(error, {});
    }
    client.#rpc.notify('notifications/initialized');
    return client;
  }

  /** Calls a tool of the view. `args` is the text of a JSON object, on one line. */
  callTool(name: string, args: string, options: CallOptions = {}): Promise<Answer> {
    const meta = options.onProgress === undefined ? '' : `,"_meta":{"progressToken":${this.#rpc.nextId}}`;
    return this.request('tools/call', `{"name":${JSON.stringify(name)},"arguments":${args}${meta}}`, options);
  }

  /** Calls a tool that answers at once with a task, and waits for the task's result. */
  async callAsTask(name: string, args: string, options: CallOptions = {}): Promise<Answer> {
    const token = this.#rpc.nextId;
    const called = `"name":${JSON.stringify(name)},"arguments":${args}`;
    this.#tasks.set(token, options);
    try {
      const begun = await this.request(
        'tools/call',
        `{${called},"task":{},"_meta":{"progressToken":${token}}}`,
        options,
      );
      const { taskId } = membersOf(membersOf(begun.result).task);
      if (typeof taskId !== 'string') return begun;
      return await this.request('tasks/result', JSON.stringify({ taskId }), options);
    } finally {
      this.#tasks.delete(token);
    }
  }

  /** Closes the session. Resolves when everything sent is on its way. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.once('close', () => resolve());
      if (this.#socket.destroyed) resolve();
      this.#socket.end(() => this.#socket.destroy());
    });
  }

  /** Sends any other request. `params` is the text of a JSON object, on one line. */
  async request(method: string, params: string, options: CallOptions = {}): Promise<Answer> {
    const id = this.#rpc.nextId;
    this.#requests.set(id, options);
    try {
      return await this.#rpc.request(method, params, { signal: options.signal });
    } catch (error) {
      throw failureOf(error, options);
    } finally {
      this.#requests.delete(id);
    }
  }

  #notified(method: string, params: Readonly<Record<string, unknown>>): void {
    if (method === 'notifications/progress') {
      const token = Number(params.progressToken);
      const options = this.#rpc.isOpen(token) ? this.#requests.get(token) : this.#tasks.get(token);
      options?.onProgress?.(progressFrom(params));
    } else if (method === 'notifications/message') {
      const message = { level: textOf(params.level), data: params.data };
      for (const [id, { onLog }] of this.#requests) if (this.#rpc.isOpen(id)) onLog?.(message);
    }
  }
}

/**
 * Answers a form. A fault of this side is an error, because the person has declined nothing. A form that cannot be
 * shown is declined.
 */
async function elicited(answer: Promise<object | undefined>): Promise<object> {
  try {
    return (await answer) ?? { action: 'decline' };
  } catch (error) {
    throw new Error(`The form could not be shown: ${messageOf(error)}`, { cause: error });
  }
}

/** Returns the error of a failed request. A signal's reason stays unchanged. */
function failureOf(error: unknown, { isAct }: CallOptions): unknown {
  if (!(error instanceof RpcFailure)) return error;
  if (error.refusal !== undefined) return refusalError(error.refusal);
  return isAct === true ? outcomeUnknown() : connectionLost();
}

function connectionLost(): BridgeError {
  return new BridgeError('DAEMON_NOT_RUNNING', 'The daemon has closed the connection', {
    hint: 'See: mcp-bridge status',
  });
}

function outcomeUnknown(): BridgeError {
  return new BridgeError('OUTCOME_UNKNOWN', outcomeUnknownAfter('The daemon went away'), {
    hint: 'Look at what it was to change before it is called again. What has become of the daemon: mcp-bridge status',
  });
}

function progressFrom({ progress, total, message }: Readonly<Record<string, unknown>>): Progress {
  const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
  return { progress: numberOf(progress), total: numberOf(total), message: textOf(message) };
}

/**
 * Returns the error of a refusal. The daemon's errors bring a hint and keep their code; from a server the code may be
 * anything.
 */
function refusalError({ message, hint, error }: Refusal): BridgeError {
  // Language models read only the message, so it contains the hint too.
  const isTwice = hint !== undefined && message.endsWith(`. ${hint}`);
  const plain = isTwice ? message.slice(0, -hint.length - 2) : message;
  return new BridgeError('REQUEST_REFUSED', plain || 'It failed, and nothing was said of why', {
    ...(hint !== undefined && { hint }),
    cause: error,
  });
}
