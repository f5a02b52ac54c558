// A client of the bridge in one line.

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { BRIDGE_OPTIONS, type BridgeOptions, BridgeTransport } from './bridge-transport.ts';
import { checkOptions, type OptionKinds } from './library-options.ts';

/** The part of `Client` that both lines of the SDK have. */
export interface ConnectableClient<Transport> {
  connect(transport: Transport): Promise<void>;
}

export interface ConnectOptions extends BridgeOptions {
  /** The name and version with which the client introduces itself. */
  readonly name?: string | undefined;
  readonly version?: string | undefined;
}

interface AllOptions extends ConnectOptions {
  readonly client?: ConnectableClient<BridgeTransport> | undefined;
}

const CONNECT_OPTIONS: OptionKinds<AllOptions> = {
  client: 'a client of the SDK',
  name: 'a string',
  version: 'a string',
  ...BRIDGE_OPTIONS,
};

/** Connects a client of the SDK that already exists. */
export async function connectToBridge<C extends ConnectableClient<BridgeTransport>>(
  options: BridgeOptions & { readonly client: C },
): Promise<C>;
/**
 * Connects a new `Client` of `@modelcontextprotocol/sdk`, and loads that package for it. Its `transport` has the
 * events.
 */
export async function connectToBridge(options?: ConnectOptions): Promise<Client>;
export async function connectToBridge(all: AllOptions = {}): Promise<unknown> {
  checkOptions(all, CONNECT_OPTIONS, 'connectToBridge');
  const { client, name = 'mcp-bridge-client', version = '0', ...options } = all;
  const transport = new BridgeTransport(options);
  const connected = client ?? (await newClient(name, version));
  await connected.connect(transport);
  return connected;
}

async function newClient(name: string, version: string): Promise<ConnectableClient<BridgeTransport>> {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  return new Client({ name, version }) as ConnectableClient<BridgeTransport>;
}
