// The servers that calls of the meta-tools name, and what their lists say: a list from before has the last word only where
// the server cannot be asked.

import type { Call } from '../core/call.ts';
import type { JoinedBinding } from '../core/joined-lists.ts';
import type { JoinedView } from '../core/joined-view.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { noSuchServer, toolError, type Wanted } from './tool-refusal.ts';

export class NamedServers {
  readonly #all: JoinedView;

  constructor(all: JoinedView) {
    this.#all = all;
  }

  /** The server that a request is about; undefined if there is none, which is answered. What fails later names it too. */
  for(call: Call, wanted: Wanted): JoinedBinding | undefined {
    const { pending, lists } = this.#all;
    call.errorOf = (error) => toolError(error, wanted);
    const joined = lists.bindings.find(({ binding }) => binding.name === wanted.server);
    if (joined !== undefined) return joined;
    const names = lists.bindings.map(({ binding }) => binding.name);
    pending.refuse(call, call.errorOf(noSuchServer(wanted.server, names)));
    return undefined;
  }

  /** What a list from before refuses is looked at once more, when the server has been started and asked. */
  async askedOnce<Found>(joined: JoinedBinding, find: () => Found): Promise<Found> {
    const { lists } = this.#all;
    try {
      return find();
    } catch (error) {
      if (!isOfList(error) || !lists.mayBeStale(joined, 'tools')) throw error;
    }
    await lists.learnAnew(joined, 'tools');
    return find();
  }
}

const OF_LISTS: ReadonlySet<string> = new Set(['TOOL_NOT_FOUND', 'TOOL_ARGUMENTS_INVALID', 'TOOL_NEEDS_TASK']);

function isOfList(error: unknown): boolean {
  return error instanceof BridgeError && OF_LISTS.has(error.code);
}
