// Finds the server that a meta-tool call names. If its kept list may be stale, it asks the server before it refuses
// anything.

import type { Call } from '../core/call.ts';
import { type JoinedLists, type JoinedServer, mayBeStale } from '../core/joined-lists.ts';
import type { PendingRequests } from '../core/pending-requests.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { noSuchServer, toolError, type Wanted } from './tool-refusal.ts';

export class NamedServers {
  readonly #pending: PendingRequests;

  constructor(pending: PendingRequests) {
    this.#pending = pending;
  }

  /** Finds the server of a call. If there is none, answers the call and returns undefined. */
  for(call: Call, lists: JoinedLists, wanted: Wanted): JoinedServer | undefined {
    const joined = lists.serverNamed(wanted.server);
    if (joined !== undefined) return joined;
    const names = lists.servers.map(({ name }) => name);
    this.#pending.refuse(call, toolError(noSuchServer(wanted.server, names), wanted));
    return undefined;
  }

  /** Repeats a lookup that failed on a kept list, after starting and asking the server. */
  async askedOnce<Found>(lists: JoinedLists, joined: JoinedServer, find: () => Found): Promise<Found> {
    try {
      return find();
    } catch (error) {
      if (!isOfList(error) || !mayBeStale(joined, 'tools')) throw error;
    }
    await lists.askAgain(joined, 'tools');
    return find();
  }
}

const OF_LISTS: ReadonlySet<string> = new Set(['TOOL_NOT_FOUND', 'TOOL_ARGUMENTS_INVALID', 'TOOL_NEEDS_TASK']);

function isOfList(error: unknown): boolean {
  return error instanceof BridgeError && OF_LISTS.has(error.code);
}
