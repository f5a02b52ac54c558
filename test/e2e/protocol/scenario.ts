// What a scenario of the protocol is, and what its bodies share.

import type { McpClient } from '../../support/mcp-client.ts';
import type { Peer, Setup, Trait } from '../../support/ways.ts';

export interface ProtocolScenario {
  readonly title: string;
  /** The ids of the requirements that it shows. */
  readonly shows: readonly string[];
  /** Runs only where there is all of this. */
  readonly needs?: readonly Trait[];
  readonly setup?: Setup;
  /**
   * True if it sees nothing of what other clients do at the same server, nor they of what it does. Such scenarios share a
   * bridge. Lists that change, log messages, and what the server has `seen` concern all its clients.
   */
  readonly isIndependent?: true;
  run(peer: Peer): Promise<void>;
}

export async function ready(peer: Peer, capabilities: object = {}): Promise<McpClient> {
  const client = await peer.connect();
  await client.initialize(capabilities);
  return client;
}

/** What came in at the server. */
export interface Seen {
  readonly initialize: {
    readonly protocolVersion: string;
    readonly capabilities: Readonly<Record<string, unknown>>;
    readonly clientInfo: unknown;
  };
  readonly notifications: readonly string[];
  readonly cancelled: readonly unknown[];
  readonly progress: readonly Readonly<Record<string, unknown>>[];
  readonly cursors: readonly (string | null)[];
  readonly subscribed: readonly string[];
  readonly unsubscribed: readonly string[];
  readonly levels: readonly string[];
  readonly tasks: readonly { readonly method: string; readonly taskId?: string }[];
}

export const seenBy = async (client: McpClient): Promise<Seen> => JSON.parse(await client.text('seen')) as Seen;

/** Asks until the server has seen it. */
export async function untilSeen(client: McpClient, holds: (seen: Seen) => boolean): Promise<Seen> {
  for (;;) {
    const seen = await seenBy(client);
    if (holds(seen)) return seen;
  }
}
