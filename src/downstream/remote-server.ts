// A connection to a server at a URL, over the SDK's transports, which are loaded with the first of them.

import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { RemoteServer } from '../core/server-definition.ts';
import { messageOf } from '../util/bridge-error.ts';
import { deferred } from '../util/deferred.ts';
import { redact } from './child-env.ts';
import type { LaunchContext } from './child-process.ts';
import type { ServerConnection } from './connection.ts';
import { RemoteLink } from './remote-link.ts';
import { fillIn } from './variables.ts';

export class RemoteConnection implements ServerConnection {
  readonly link: RemoteLink;
  readonly pid = undefined;
  readonly ended: Promise<string>;
  readonly #definition: RemoteServer;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #secrets: Readonly<Record<string, string>>;
  readonly #transport: Promise<Transport>;
  readonly #end = deferred<string>();
  #lastError = '';

  constructor(definition: RemoteServer, context: LaunchContext) {
    this.#definition = definition;
    const used = new Map<string, string>();
    const filled = Object.entries(definition.headers).map(([name, value]) => {
      const place = `The header ${name} of server ${definition.name}`;
      return [name, fillIn(value, context.environment, place, used)] as const;
    });
    this.#headers = Object.fromEntries(filled);
    this.#secrets = { ...Object.fromEntries(used), ...this.#headers };
    this.ended = this.#end.promise;
    this.#transport = this.#open();
    this.#transport.catch((error: unknown) => this.#over(`could not be reached: ${this.#safe(error)}`));
    this.link = new RemoteLink(this.#transport, { ...context, describe: (error) => this.#safe(error) });
  }

  lastWords(): string {
    return this.#lastError;
  }

  async stop(): Promise<void> {
    this.#over('was stopped');
    await this.#transport.then((transport) => transport.close()).catch(() => undefined); // it is gone either way
  }

  async #open(): Promise<Transport> {
    const { transport: kind } = this.#definition;
    if (kind === 'auto')
      return new EitherTransport(
        () => this.#make('http'),
        () => this.#make('sse'),
        this,
      );
    const transport = await this.#make(kind);
    await this.attach(transport);
    return transport;
  }

  /** Begins to hear a transport. */
  async attach(transport: Transport): Promise<void> {
    transport.onmessage = (message: JSONRPCMessage) => this.#received(transport, message);
    transport.onerror = (error) => {
      this.#lastError = this.#safe(error);
      // The server has forgotten the session: the next call begins a new one.
      if ('code' in error && error.code === 404) this.#over('has ended the session');
    };
    transport.onclose = () => this.#over('closed the connection');
    await transport.start();
  }

  async #make(kind: 'http' | 'sse'): Promise<Transport> {
    const url = new URL(this.#definition.url);
    const options = { requestInit: { headers: this.#headers } };
    if (kind === 'sse') {
      const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js');
      return new SSEClientTransport(url, options);
    }
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    return new StreamableHTTPClientTransport(url, options) as Transport;
  }

  #received(transport: Transport, message: JSONRPCMessage): void {
    // Later requests must name the version that the first answer has settled on.
    if ('result' in message && typeof message.result.protocolVersion === 'string')
      transport.setProtocolVersion?.(message.result.protocolVersion);
    this.link.receive(message);
  }

  safe(text: string): string {
    return redact(text, this.#secrets);
  }

  #safe(error: unknown): string {
    return this.safe(messageOf(error)).slice(0, 500);
  }

  #over(how: string): void {
    this.#end.resolve(how);
    this.link?.destroy();
  }
}

/** Streamable HTTP, or SSE if the server refuses the first message over HTTP. */
class EitherTransport implements Transport {
  readonly #makers: readonly (() => Promise<Transport>)[];
  readonly #owner: Pick<RemoteConnection, 'attach'>;
  #chosen: Transport | undefined;

  constructor(http: () => Promise<Transport>, sse: () => Promise<Transport>, owner: Pick<RemoteConnection, 'attach'>) {
    this.#makers = [http, sse];
    this.#owner = owner;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#chosen !== undefined) return this.#chosen.send(message);
    const [http, sse] = this.#makers;
    this.#chosen = await this.#try(http, message).catch(() => this.#try(sse, message));
  }

  async #try(make: (() => Promise<Transport>) | undefined, message: JSONRPCMessage): Promise<Transport> {
    const transport = await make?.();
    if (transport === undefined) throw new Error('no transport');
    await this.#owner.attach(transport);
    await transport.send(message);
    return transport;
  }

  async close(): Promise<void> {
    await this.#chosen?.close();
  }
}
