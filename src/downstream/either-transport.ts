// Streamable HTTP, or the older SSE if the server refuses the first message over HTTP.

import { type Deferred, deferred } from '../util/deferred.ts';
import { RemoteFailure } from './remote-failure.ts';
import type { Exchange, RemoteMessage, RemoteTransport } from './remote-transport.ts';

type Sent = Promise<RemoteFailure | undefined>;

export class EitherTransport implements RemoteTransport {
  readonly #start: (kind: 'http' | 'sse') => Promise<RemoteTransport>;
  /** From the first message on; settled once a server has taken that. */
  #chosen: Deferred<RemoteTransport> | undefined;

  constructor(start: (kind: 'http' | 'sse') => Promise<RemoteTransport>) {
    this.#start = start;
  }

  async send(message: RemoteMessage, exchange: Exchange): Sent {
    if (this.#chosen !== undefined) return (await this.#chosen.promise).send(message, exchange);
    const chosen = deferred<RemoteTransport>();
    chosen.promise.catch(() => undefined); // whoever sends the first message is told
    this.#chosen = chosen;
    try {
      return await this.#sendFirst(message, exchange, chosen);
    } catch (error) {
      chosen.reject(error);
      throw error;
    }
  }

  async #sendFirst(message: RemoteMessage, exchange: Exchange, chosen: Deferred<RemoteTransport>): Sent {
    const over = async (kind: 'http' | 'sse'): Sent => {
      const transport = await this.#start(kind);
      const taken = (): void => {
        exchange.taken();
        chosen.resolve(transport);
      };
      return transport.send(message, { ...exchange, taken }).catch((error: unknown) => {
        transport.close();
        throw error;
      });
    };
    try {
      return await over('http');
    } catch (refusal) {
      if (!isOfOlderServer(refusal)) throw refusal;
      return await over('sse').catch((error: unknown) => {
        throw isOfOlderServer(error) ? refusal : error;
      });
    }
  }

  negotiated(protocolVersion: string): void {
    void this.#chosen?.promise.then((transport) => transport.negotiated(protocolVersion));
  }

  async sayGoodbye(): Promise<void> {
    await (await this.#chosen?.promise)?.sayGoodbye();
  }

  close(): void {
    // Whoever started the transports closes them.
  }
}

/** Such as POST is refused by; one that is not there, or wants to know who we are, says the same to GET. */
function isOfOlderServer(error: unknown): boolean {
  if (!(error instanceof RemoteFailure)) return false;
  const { status = 0 } = error;
  return status === 200 || (status >= 400 && status < 500 && status !== 401 && status !== 403);
}
