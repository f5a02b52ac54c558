// The interface of a source of servers: definitions in files, or servers that connect by themselves.

import type { ConnectionSource } from '../downstream/instance-runner.ts';
import type { ServerDefinition } from '../model/server-definition.ts';

/** Several sources provide a client's servers. If two have a server of the same name, the earlier source wins. */
export interface ServerSource extends ConnectionSource {
  /** Finds the servers for clients in this directory; undefined if they are known. */
  prepare(cwd: string | undefined): Promise<void> | undefined;
  /** The servers for clients in this directory, by name. */
  of(cwd: string | undefined): ReadonlyMap<string, ServerDefinition>;
  /** The servers of all clients; a name may occur more than once. */
  all(): Iterable<ServerDefinition>;
  /** A server that is in no list, by its name. */
  unlisted?(name: string): ServerDefinition | undefined;
  /** Another name by which one of these servers is reached now, unless a server of another source has it. */
  alsoAs?(name: string): string | undefined;
}
