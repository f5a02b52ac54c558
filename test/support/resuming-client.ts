// A client that can resume, in the slowest and most obvious way: it keeps everything that it has ever sent, and counts
// what it has got line by line. The wire is a link in memory or a socket.

import { setTimeout as passTime } from 'node:timers/promises';
import type { CoreInMemory, Message, TestLink } from './core-in-memory.ts';
import { RawClient } from './raw-client.ts';

export interface Wire {
  /** The whole lines that came, and more of them as they come. */
  readonly lines: readonly string[];
  say(text: string | Buffer): void;
  /** Ends the connection without a word. */
  drop(): void;
  /** Lets something happen. */
  settle(): Promise<void>;
}

export function wireInMemory(core: CoreInMemory): Wire & { readonly link: TestLink } {
  const { link } = core.connect();
  return {
    link,
    lines: link.lines,
    say: (text) => link.push(typeof text === 'string' ? Buffer.from(text) : text),
    drop: () => link.destroy(),
    settle: () => core.settle(),
  };
}

export async function wireOverSocket(path: string): Promise<Wire & { readonly client: RawClient }> {
  const client = await RawClient.connect(path);
  return {
    client,
    lines: client.lines,
    say: (text) => client.send(typeof text === 'string' ? Buffer.from(text) : text),
    drop: () => client.destroy(),
    settle: () => passTime(2).then(() => undefined),
  };
}

type Meta = Readonly<Record<string, unknown>>;

export class ResumingClient {
  wire: Wire;
  /** What came behind the handshake, but for what is between the bridge and this client. */
  readonly messages: Message[] = [];
  /** `bridge/leaving`, once it has come. */
  leaving: Meta | undefined;
  /** All bytes since the handshake; every character is one. */
  sent = '';
  receivedBytes = 0;
  /** What the bridge says it has. */
  acknowledgedBytes = 0;
  meta: Meta = {};
  #read = 0;
  #isGreeted = false;
  #resumes = 0;

  constructor(wire: Wire) {
    this.wire = wire;
  }

  /** Connects, shakes hands, and is ready. */
  static async ready(wire: Wire, meta: Meta = {}, more: object = {}): Promise<ResumingClient> {
    const client = new ResumingClient(wire);
    await client.shakeHands(meta, more);
    return client;
  }

  /** From the beginning, also with another daemon. */
  async shakeHands(meta: Meta = {}, more: object = {}): Promise<Message> {
    const answer = await this.#ask('init', { ...meta, 'mcp-bridge/resume': true }, more);
    this.sent = '';
    this.receivedBytes = 0;
    this.say({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return answer;
  }

  /** With another daemon everything begins anew. */
  follow(wire: Wire): Promise<Message> {
    this.wire = wire;
    this.#read = 0;
    this.#isGreeted = false;
    this.leaving = undefined;
    return this.shakeHands();
  }

  get token(): string {
    return String(this.meta['mcp-bridge/resumeToken']);
  }

  /** Says something, now or when it is connected again. */
  say(...messages: object[]): void {
    const text = messages.map((message) => `${JSON.stringify(message)}\n`).join('');
    this.sent += text;
    if (this.#isGreeted) this.wire.say(text);
  }

  call(id: number | string, name = 'tool', args: object = {}, meta?: object): void {
    const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) };
    this.say({ jsonrpc: '2.0', id, method: 'tools/call', params });
  }

  acknowledge(): void {
    this.take();
    this.say({ jsonrpc: '2.0', method: 'bridge/received', params: { bytes: this.receivedBytes } });
  }

  drop(): void {
    this.take();
    this.#isGreeted = false;
    this.wire.drop();
  }

  /** Comes back on another connection; the answer, which may be a refusal. */
  async resume(wire: Wire, wish: Meta = {}): Promise<Message> {
    const token = this.token;
    this.take();
    this.wire = wire;
    this.#read = 0;
    this.#isGreeted = false;
    const resume = { token, received: this.receivedBytes, ...wish };
    const answer = await this.#ask(`resume-${++this.#resumes}`, { 'mcp-bridge/resume': resume });
    if (answer.error === undefined) this.wire.say(this.sent.slice(Number(this.meta['mcp-bridge/received'])));
    return answer;
  }

  async #ask(id: string, meta: Meta, more: object = {}): Promise<Message> {
    const clientInfo = { name: 'resuming', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo, ...more, _meta: meta };
    this.wire.say(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'initialize', params })}\n`);
    while (this.wire.lines.length === this.#read) await this.wire.settle();
    const answer = JSON.parse(this.wire.lines[this.#read++] as string) as Message;
    const { _meta } = (answer.result ?? {}) as { _meta?: Meta };
    if (answer.error === undefined) {
      this.meta = _meta ?? {};
      this.#isGreeted = true;
    }
    return answer;
  }

  /** Reads what has come. */
  take(): void {
    if (!this.#isGreeted) return;
    while (this.#read < this.wire.lines.length) {
      const line = this.wire.lines[this.#read++] as string;
      this.receivedBytes += Buffer.byteLength(line) + 1;
      const message = JSON.parse(line) as Message;
      if (message.method === 'bridge/received') this.acknowledgedBytes = Number(message.params?.bytes);
      else if (message.method === 'bridge/leaving') this.leaving = message.params;
      else this.messages.push(message);
    }
  }

  async until(holds: () => boolean): Promise<void> {
    for (this.take(); !holds(); this.take()) await this.wire.settle();
  }

  async answerTo(id: number | string): Promise<Message> {
    await this.until(() => this.answersTo(id).length > 0);
    return this.answersTo(id)[0] as Message;
  }

  answersTo(id: number | string): Message[] {
    this.take();
    return this.messages.filter((message) => message.method === undefined && message.id === id);
  }

  notices(method: string): Message[] {
    this.take();
    return this.messages.filter((message) => message.method === method);
  }
}
