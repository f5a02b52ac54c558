// A client that knows nothing but lines of JSON over a byte stream: no SDK, no help, nothing hidden.

import { connect } from 'node:net';
import type { Readable, Writable } from 'node:stream';

export interface Message {
  jsonrpc?: string;
  id?: unknown;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: Record<string, unknown> };
}

export class RawClient {
  /** What it says of itself. */
  clientInfo: object = { name: 'raw', version: '1' };
  readonly lines: string[] = [];
  readonly #input: Readable;
  readonly #output: Writable;
  #rest = '';
  #read = 0;
  /** Answers that came while another one was waited for. */
  readonly #early: Message[] = [];
  #wake: (() => void)[] = [];
  isClosed = false;
  #onQuestion: ((question: Message) => object | undefined) | undefined;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
    input.setEncoding('utf8');
    input.on('data', (chunk: string) => {
      const lines = (this.#rest + chunk).split('\n');
      this.#rest = lines.pop() ?? '';
      this.lines.push(...lines.filter((line) => !this.#isAnswered(line)));
      this.#notify();
    });
    const closed = (): void => {
      this.isClosed = true;
      this.#notify();
    };
    input.on('close', closed).on('end', closed).on('error', closed);
    input.on('end', () => output.end());
    output.on('error', () => undefined);
  }

  #isAnswered(line: string): boolean {
    if (this.#onQuestion === undefined || line === '') return false;
    const message = JSON.parse(line) as Message;
    if (message.method === undefined || message.id === undefined) return false;
    const answer = this.#onQuestion(message);
    if (answer !== undefined) this.send({ jsonrpc: '2.0', id: message.id, ...answer });
    return true;
  }

  static async connect(path: string): Promise<RawClient> {
    const socket = connect({ path, allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new RawClient(socket, socket);
  }

  send(message: object | string | Buffer): void {
    this.#output.write(
      Buffer.isBuffer(message) ? message : `${typeof message === 'string' ? message : JSON.stringify(message)}\n`,
    );
  }

  /** Sends bytes as they are; resolves when the kernel took them. */
  write(bytes: Buffer): Promise<void> {
    return new Promise((resolve) => this.#output.write(bytes, () => resolve()));
  }

  /** Answers what servers ask from here on; undefined leaves a question unanswered. */
  answerQuestions(answer: (question: Message) => object | undefined): void {
    this.#onQuestion = answer;
  }

  readOn(): void {
    this.#input.resume();
  }

  stopReading(): void {
    this.#input.pause();
  }

  end(): void {
    this.#output.end();
  }

  destroy(): void {
    this.#input.destroy();
    this.#output.destroy();
  }

  /** The next line as it came; rejects when the connection closes first. */
  async nextLine(): Promise<string> {
    await this.#until(() => this.#read < this.lines.length);
    return this.lines[this.#read++] as string;
  }

  async next(): Promise<Message> {
    return JSON.parse(await this.nextLine()) as Message;
  }

  /** The answer with this id. Answers that come before it are kept for whoever waits for them next: their order is not promised. Only one wait at a time. */
  async answerTo(id: unknown): Promise<Message> {
    const early = this.#early.findIndex((answer) => answer.id === id);
    if (early >= 0) return this.#early.splice(early, 1)[0] as Message;
    for (;;) {
      const message = await this.next();
      if (message.method !== undefined) continue;
      if (message.id === id) return message;
      this.#early.push(message);
    }
  }

  /** The next notification or question of a kind. Answers that come before it are kept, as they are for `answerTo`. */
  async told(method: string): Promise<Message> {
    for (;;) {
      const message = await this.next();
      if (message.method === method) return message;
      if (message.method === undefined) this.#early.push(message);
    }
  }

  request(id: unknown, method: string, params?: object): Promise<Message> {
    this.send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
    return this.answerTo(id);
  }

  callTool(id: unknown, name: string, args: object = {}, meta?: object): Promise<Message> {
    return this.request(id, 'tools/call', { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) });
  }

  async initialize(meta?: object, id: unknown = 'init', capabilities: object = {}): Promise<Message> {
    const answer = await this.request(id, 'initialize', {
      protocolVersion: '2025-06-18',
      capabilities,
      clientInfo: this.clientInfo,
      ...(meta === undefined ? {} : { _meta: meta }),
    });
    this.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return answer;
  }

  untilClosed(): Promise<void> {
    return this.#until(() => this.isClosed, false);
  }

  async #until(holds: () => boolean, rejectWhenClosed = true): Promise<void> {
    while (!holds()) {
      if (this.isClosed && rejectWhenClosed) throw new Error('The connection closed first');
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  #notify(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}

export function textOf(answer: Message): string {
  const content = answer.result?.content as { text: string }[] | undefined;
  return content?.[0]?.text ?? JSON.stringify(answer);
}
