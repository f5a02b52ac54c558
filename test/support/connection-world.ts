// A client's connection that lasts, with a daemon of which each byte is moved by hand, on a clock that is turned by hand.

import '../../src/client/later.ts'; // loaded with the first loss: not in the middle of a test
import type { ConnectionEvent } from '../../src/client/connection-options.ts';
import { ResumingConnection } from '../../src/client/resuming-connection.ts';
import { UnreadTraffic } from '../../src/client/unread-traffic.ts';
import type { BridgeError } from '../../src/util/bridge-error.ts';
import { eachFrame } from '../../src/wire/frame-pieces.ts';
import { FakeClock } from './fake-clock.ts';
import type { Message } from './raw-client.ts';
import { ScriptedDaemon } from './scripted-daemon.ts';

export const ALL: number = Number.POSITIVE_INFINITY;

export interface WorldOptions {
  readonly random?: () => number;
  readonly maxAttempts?: number;
  readonly isEnabled?: boolean;
  readonly meta?: object;
}

export class World {
  readonly clock = new FakeClock();
  readonly daemon = new ScriptedDaemon();
  readonly heard: Message[] = [];
  readonly events: ConnectionEvent[] = [];
  readonly attemptsMs: number[] = [];
  readonly starts: boolean[] = [];
  /** Whether lines come as chunks, as from a client's pipe, or one by one, as from the library. */
  inChunks = true;
  closed: { error: BridgeError | undefined } | undefined;
  readonly connection: ResumingConnection;

  constructor({ random = () => 0.5, maxAttempts = 10_000, isEnabled = true, meta = {} }: WorldOptions = {}) {
    this.connection = new ResumingConnection({
      client: {
        frame: (b, start, end) => void this.heard.push(JSON.parse(b.toString('utf8', start, end)) as Message),
        frames: (b, start, end) =>
          eachFrame(b, start, end, (one, from, to) => {
            this.heard.push(JSON.parse(one.toString('utf8', from, to)) as Message);
          }),
        longFrame: (pieces) => void this.heard.push(JSON.parse(Buffer.concat([...pieces]).toString()) as Message),
        isDone: () => true,
        flush: () => true,
        full: () => undefined,
        event: (event) => void this.events.push(event),
        closed: (error) => {
          this.closed = { error };
        },
      },
      dial: (mayStart) => {
        this.attemptsMs.push(this.clock.now());
        this.starts.push(mayStart);
        return new Promise((resolve) => resolve(this.daemon.dial()));
      },
      path: () => '/the/socket',
      reconnect: { isEnabled, maxAttempts, initialDelayMs: 100, maxDelayMs: 5000 },
      unread: (stream, requests) => new UnreadTraffic(stream, requests),
      meta: { 'mcp-bridge/cwd': '/', ...meta },
      clock: this.clock,
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          const aborted = (): void => reject(signal.reason as Error);
          this.clock.after(ms, () => {
            signal.removeEventListener('abort', aborted);
            resolve();
          });
          signal.addEventListener('abort', aborted);
        }),
      random,
    });
    this.connection.open(this.daemon.dial());
  }

  say(message: object): void {
    this.write(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  /** The client writes a line, whatever it is. */
  write(text: string): void {
    const line = Buffer.from(`${text}\n`);
    if (this.inChunks) this.connection.frames(line, 0, line.length);
    else this.connection.frame(line, 0, line.length - 1);
    this.connection.flush();
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 12; turn++) await new Promise(setImmediate);
  }

  /** Moves all bytes there are. */
  async exchange(rounds = 6): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      this.daemon.take(ALL);
      this.daemon.give(ALL);
      await this.settle();
    }
  }

  async introduce(): Promise<void> {
    this.say({ id: 'hello', method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {} } });
    await this.settle();
    await this.exchange(2);
    this.say({ method: 'notifications/initialized' });
    await this.settle();
    await this.exchange(2);
  }

  /** Lets time pass until the connection is there again. */
  async untilBack(): Promise<void> {
    for (let round = 0; round < 60; round++) {
      await this.exchange(2);
      if (this.events.at(-1)?.kind === 'resumed') return;
      this.clock.advance(1000);
      await this.settle();
    }
    throw new Error(`it did not come back: ${JSON.stringify(this.events.at(-1))}`);
  }

  answersTo(id: unknown): Message[] {
    return this.heard.filter((message) => message.method === undefined && message.id === id);
  }

  told(method: string): Message[] {
    return this.heard.filter((message) => message.method === method);
  }
}

export const call = (id: unknown, name = 'unsafe'): object => ({
  id,
  method: 'tools/call',
  params: { name, arguments: { text: String(id) } },
});

export async function ready(options?: WorldOptions): Promise<World> {
  const world = new World(options);
  await world.introduce();
  return world;
}
