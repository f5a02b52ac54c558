// Streamable HTTP, or the older SSE if the server refuses the first message over HTTP.

import type { Transport, TransportSendOptions } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { RemoteFailure } from './remote-failure.ts';

export class EitherTransport implements Transport {
  readonly #start: (kind: 'http' | 'sse') => Promise<Transport>;
  /** From the first message on. */
  #chosen: Promise<Transport> | undefined;

  constructor(start: (kind: 'http' | 'sse') => Promise<Transport>) {
    this.#start = start;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.#chosen !== undefined) return (await this.#chosen).send(message, options);
    this.#chosen = this.#choose(message);
    await this.#chosen;
  }

  async #choose(message: JSONRPCMessage): Promise<Transport> {
    try {
      return await this.#try('http', message);
    } catch (refusal) {
      if (!isOfOlderServer(refusal)) throw refusal;
      return this.#try('sse', message).catch((error: unknown) => {
        throw isOfOlderServer(error) ? refusal : error;
      });
    }
  }

  async #try(kind: 'http' | 'sse', message: JSONRPCMessage): Promise<Transport> {
    const transport = await this.#start(kind);
    try {
      await transport.send(message);
      return transport;
    } catch (error) {
      delete transport.onclose;
      await transport.close();
      throw error;
    }
  }

  /** Whoever started them closes them. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Such as POST is refused by; one that is not there, or wants to know who we are, says the same to GET. */
function isOfOlderServer(error: unknown): boolean {
  if (!(error instanceof RemoteFailure)) return false;
  const { status = 0 } = error;
  return status === 200 || (status >= 400 && status < 500 && status !== 401 && status !== 403);
}
