// A session in the view `discover`, for the commands that use tools. It can be asked nothing: a server's questions get an
// error. Numbers too long for JavaScript pass it unchanged, in either direction.

import type { Socket } from 'node:net';
import { BridgeError, messageOf, systemCode } from '../util/bridge-error.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import { type Frame, FrameSplitter } from '../wire/frame-splitter.ts';
import { findMembers } from '../wire/json-members.ts';

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
  /** Whether it may be done though no answer comes. */
  readonly isAct?: boolean | undefined;
}

export interface SessionOptions {
  readonly version: string;
  readonly cwd: string;
  readonly view?: string;
  /** Answers what servers ask the person; without it they are told that nobody is there. */
  readonly onElicit?: ((params: unknown) => Promise<object | undefined>) | undefined;
}

export interface Answer {
  readonly result: unknown;
  /** The result in the bytes in which it came. */
  text(): string;
}

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
  readonly options: CallOptions;
}

/** As much as `limits.maxMessageBytes` may allow, but no more than fits into a text. */
const MAX_ANSWER_BYTES = 512 * 1024 * 1024 - 1024;
const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

export class ToolClient {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  /** By the progress tokens of the calls that began them, which go on to be used. */
  readonly #tasks = new Map<number, CallOptions>();
  #lastId = 0;
  #onElicit: SessionOptions['onElicit'];

  private constructor(socket: Socket) {
    this.#socket = socket;
    const splitter = new FrameSplitter(MAX_ANSWER_BYTES, {
      frame: (b, start, end) => this.#received({ b, start, end }),
      overflowed: () => socket.destroy(),
      badFrame: () => socket.destroy(),
    });
    socket.on('data', (chunk: Buffer) => splitter.push(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#abandonAll(({ isAct }) => (isAct === true ? outcomeUnknown() : connectionLost())));
  }

  static async open(
    socket: Socket,
    { version, cwd, view = 'discover', onElicit }: SessionOptions,
  ): Promise<ToolClient> {
    const client = new ToolClient(socket);
    client.#onElicit = onElicit;
    const hello = {
      protocolVersion: '2025-11-25',
      capabilities: onElicit === undefined ? {} : { elicitation: {} },
      clientInfo: { name: 'mcp-bridge-cli', version },
      _meta: {
        'mcp-bridge/view': view,
        'mcp-bridge/cwd': cwd,
        'mcp-bridge/clientId': 'mcp-bridge-cli',
        'mcp-bridge/accepts': false,
      },
    };
    try {
      await client.request('initialize', JSON.stringify(hello), {});
    } catch (error) {
      socket.destroy();
      throw error;
    }
    client.#send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
    return client;
  }

  /** Calls a tool of the view. `args` is the text of a JSON object, on one line. */
  callTool(name: string, args: string, options: CallOptions = {}): Promise<Answer> {
    const meta = options.onProgress === undefined ? '' : `,"_meta":{"progressToken":${this.#lastId + 1}}`;
    return this.request('tools/call', `{"name":${JSON.stringify(name)},"arguments":${args}${meta}}`, options);
  }

  /** The same for one that answers at once that it will do it: waits for what comes of that. */
  async callAsTask(name: string, args: string, options: CallOptions = {}): Promise<Answer> {
    const token = this.#lastId + 1;
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

  /** Resolves when all that was sent is on its way. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.once('close', () => resolve());
      if (this.#socket.destroyed) resolve();
      this.#socket.end(() => this.#socket.destroy());
    });
  }

  /** Asks for something else. `params` is the text of a JSON object, on one line. */
  request(method: string, params: string, options: CallOptions = {}): Promise<Answer> {
    const id = ++this.#lastId;
    const { signal } = options;
    if (signal?.aborted === true) return Promise.reject(signal.reason);
    if (this.#socket.destroyed) return Promise.reject(connectionLost());
    let cancel = (): void => undefined;
    const answered = new Promise<Answer>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, options });
      cancel = () => this.#cancel(id, signal?.reason);
    });
    signal?.addEventListener('abort', cancel, { once: true });
    this.#send(`{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${params}}`);
    return answered.finally(() => signal?.removeEventListener('abort', cancel));
  }

  #cancel(id: number, reason: unknown): void {
    const params = { requestId: id, reason: 'Nobody waits for it any more' };
    this.#send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }));
    this.#waiting.get(id)?.reject(reason);
    this.#waiting.delete(id);
  }

  #send(line: string): void {
    this.#socket.write(`${line}\n`);
  }

  #received({ b, start, end }: Frame): void {
    const message = messageIn({ b, start, end });
    if (message === undefined) {
      this.#socket.destroy();
      return;
    }
    if (typeof message.method === 'string') return this.#asked(message.method, message);
    // What the daemon could not read has no id, a message over its limit for instance.
    if (message.id === null) return this.#abandonAll(() => errorFrom(message.error));
    const waiting = this.#waiting.get(Number(message.id));
    if (waiting === undefined) return;
    this.#waiting.delete(Number(message.id));
    if (message.error !== undefined) return waiting.reject(errorFrom(message.error));
    const text = (): string => {
      const span = findMembers(b, start, ['result'])?.spans.get('result');
      return span === undefined ? JSON.stringify(message.result) : b.toString('utf8', span.from, span.to);
    };
    waiting.resolve({ result: message.result, text });
  }

  #asked(method: string, { id, params }: Readonly<Record<string, unknown>>): void {
    if (id === undefined) return this.#notified(method, membersOf(params));
    if (method === 'elicitation/create' && this.#onElicit !== undefined) return void this.#elicit(id, params);
    const error = { code: METHOD_NOT_FOUND, message: 'The command line of mcp-bridge answers no such questions' };
    const answer = method === 'ping' ? { result: {} } : { error };
    this.#send(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  }

  /** Questions of one session come one after the other; a form that cannot be shown is declined. */
  async #elicit(id: unknown, params: unknown): Promise<void> {
    const answer = await this.#answerTo(params);
    this.#send(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  }

  /** An error of ours is told as one: the person has declined nothing. */
  async #answerTo(params: unknown): Promise<object> {
    try {
      return { result: (await this.#onElicit?.(params)) ?? { action: 'decline' } };
    } catch (error) {
      return { error: { code: INTERNAL_ERROR, message: `The form could not be shown: ${messageOf(error)}` } };
    }
  }

  #notified(method: string, params: Readonly<Record<string, unknown>>): void {
    if (method === 'notifications/progress') {
      const token = Number(params.progressToken);
      const options = this.#waiting.get(token)?.options ?? this.#tasks.get(token);
      options?.onProgress?.(progressFrom(params));
    } else if (method === 'notifications/message') {
      const message = { level: textOf(params.level), data: params.data };
      for (const { options } of this.#waiting.values()) options.onLog?.(message);
    }
  }

  #abandonAll(why: (options: CallOptions) => BridgeError): void {
    for (const { reject, options } of this.#waiting.values()) reject(why(options));
    this.#waiting.clear();
  }
}

function messageIn({ b, start, end }: Frame): Readonly<Record<string, unknown>> | undefined {
  try {
    return membersOf(JSON.parse(b.toString('utf8', start, end)));
  } catch (error) {
    if (!(error instanceof SyntaxError) && systemCode(error) !== 'ERR_STRING_TOO_LONG') throw error;
    return undefined; // longer than a text may be, or not from a bridge
  }
}

function connectionLost(): BridgeError {
  return new BridgeError('DAEMON_NOT_RUNNING', 'The daemon has closed the connection', {
    hint: 'See: mcp-bridge status',
  });
}

function outcomeUnknown(): BridgeError {
  const message = 'The daemon went away while this call was under way; whether it was done is not known';
  return new BridgeError('OUTCOME_UNKNOWN', message, {
    hint: 'Look at what it was to change before it is called again. What has become of the daemon: mcp-bridge status',
  });
}

function progressFrom({ progress, total, message }: Readonly<Record<string, unknown>>): Progress {
  const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
  return { progress: numberOf(progress), total: numberOf(total), message: textOf(message) };
}

/** The daemon's errors bring a hint. Their code stays theirs: a server may put anything there. */
function errorFrom(error: unknown): BridgeError {
  const { message, data } = membersOf(error);
  const hint = textOf(membersOf(data).hint);
  const said = textOf(message);
  // Language models read the message alone, so it has the hint as well.
  const plain = hint !== '' && said.endsWith(`. ${hint}`) ? said.slice(0, -hint.length - 2) : said;
  return new BridgeError('REQUEST_REFUSED', plain || 'It failed, and nothing was said of why', {
    ...(hint === '' ? {} : { hint }),
    cause: error,
  });
}
