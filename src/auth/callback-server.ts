// The page to which the browser returns with the code: a server on loopback, open for one sign-in. It accepts a code with the
// state of this sign-in only.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BridgeError, systemCode } from '../util/bridge-error.ts';
import type { Clock } from '../util/clock.ts';

const HOST = '127.0.0.1';
const PATH = '/callback';
const TIME_LIMIT_MIN = 5;

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

  /** Waits for the code that comes with this state. A request with another state is refused, and the wait goes on. */
  code(state: string, clock: Clock): Promise<string> {
    return new Promise((resolve, reject) => {
      const timer = clock.after(TIME_LIMIT_MIN * 60_000, () => reject(tooLate()));
      this.#server.on('request', (request, response) => {
        const outcome = outcomeOf(request, response, state);
        if (outcome === undefined) return;
        timer.cancel();
        if (outcome instanceof BridgeError) reject(outcome);
        else resolve(outcome);
      });
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeIdleConnections();
  }
}

/** Answers the browser. Undefined for a request that has nothing to do with the sign-in. */
function outcomeOf(
  request: IncomingMessage,
  response: ServerResponse,
  state: string,
): string | BridgeError | undefined {
  const { pathname, searchParams } = new URL(`http://${HOST}${request.url ?? '/'}`);
  const answer = (status: number, text: string): void => {
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(text);
  };
  if (request.method !== 'GET' || pathname !== PATH) return void answer(404, 'There is nothing here.');
  if (searchParams.get('state') !== state) return void answer(400, 'This is not the answer that was waited for.');
  const code = searchParams.get('code');
  if (code === null) {
    answer(200, 'The sign-in has failed; the terminal says more. This window can be closed.');
    return refused(searchParams.get('error'));
  }
  answer(200, 'mcp-bridge has its answer. This window can be closed.');
  return code;
}

function refused(error: string | null): BridgeError {
  const why = error === null || !/^[\w.-]{1,64}$/.test(error) ? 'no code came back' : error;
  return new BridgeError('AUTH_FAILED', `The sign-in was refused: ${why}`);
}

function tooLate(): BridgeError {
  return new BridgeError('AUTH_FAILED', `Nobody has signed in within ${TIME_LIMIT_MIN} minutes`, {
    hint: 'Run the command again.',
  });
}
