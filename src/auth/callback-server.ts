// The page that the browser returns to with the answer: a server on loopback, open for one sign-in. It accepts only an
// answer with this sign-in's state, and judges nothing else in it.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';

const HOST = '127.0.0.1';
const PATH = '/callback';
const TIME_LIMIT_MIN = 5;

/** The answer that the browser brought back. */
export interface CallbackAnswer {
  readonly code: string | undefined;
  /** The reason for a missing code. */
  readonly error: string | undefined;
  /** The authorization server that answers, if it names itself (RFC 9207). */
  readonly issuer: string | undefined;
}

export class CallbackServer {
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://${HOST}:${(server.address() as AddressInfo).port}${PATH}`;
  }

  /** Listens on the port, or on any free one if none is given. */
  static async open(port = 0): Promise<CallbackServer> {
    const server = createServer();
    try {
      await once(server.listen(port, HOST), 'listening');
    } catch (error) {
      const why = systemCode(error) ?? 'unknown error';
      throw new BridgeError('AUTH_FAILED', `Cannot wait for the browser on port ${port}: ${why}`, {
        cause: error,
        hint: 'oauth.callbackPort in the definition of the server names the port.',
      });
    }
    return new CallbackServer(server);
  }

  /** Waits for the answer with this state. Refuses a request with another state, and waits on. */
  answer(state: string, clock: Clock): Promise<CallbackAnswer> {
    return new Promise((resolve, reject) => {
      const timer = clock.after(TIME_LIMIT_MIN * 60_000, () => reject(tooLate()));
      this.#server.on('request', (request, response) => {
        const answer = answerIn(request, response, state);
        if (answer === undefined) return;
        timer.cancel();
        resolve(answer);
      });
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeIdleConnections();
  }
}

/** Answers the browser. Returns undefined for a request that does not belong to the sign-in. */
function answerIn(request: IncomingMessage, response: ServerResponse, state: string): CallbackAnswer | undefined {
  const { pathname, searchParams } = new URL(`http://${HOST}${request.url ?? '/'}`);
  const answer = (status: number, text: string): void => {
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(text);
  };
  if (request.method !== 'GET' || pathname !== PATH) return void answer(404, 'There is nothing here.');
  if (searchParams.get('state') !== state) return void answer(400, 'This is not the answer that was waited for.');
  const code = searchParams.get('code') ?? undefined;
  if (code === undefined) answer(200, 'The sign-in has failed; the terminal says more. This window can be closed.');
  else answer(200, 'mcp-bridge has its answer; the terminal says more. This window can be closed.');
  return { code, error: searchParams.get('error') ?? undefined, issuer: searchParams.get('iss') ?? undefined };
}

function tooLate(): BridgeError {
  return new BridgeError('AUTH_FAILED', `Nobody has signed in within ${TIME_LIMIT_MIN} minutes`, {
    hint: 'Run the command again.',
  });
}
