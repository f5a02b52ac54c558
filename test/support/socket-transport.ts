// The least that the SDK's clients need to speak over the bridge's socket: any stdio framing put on a socket will do.

import { connect, type Socket } from 'node:net';

export class SocketTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  // The two lines of the SDK disagree on this type, and agree on what it holds.
  onmessage?: (message: never) => void;
  readonly #path: string;
  #socket: Socket | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  async start(): Promise<void> {
    const socket = connect(this.#path);
    this.#socket = socket;
    let rest = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.onmessage?.(JSON.parse(line) as never);
    });
    socket.on('close', () => this.onclose?.());
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  }

  send(message: unknown): Promise<void> {
    return new Promise((resolve) => this.#socket?.write(`${JSON.stringify(message)}\n`, () => resolve()));
  }

  close(): Promise<void> {
    this.#socket?.destroy();
    return Promise.resolve();
  }
}
