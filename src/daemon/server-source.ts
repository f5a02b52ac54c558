// The interface of what servers come from: definitions in files, and servers that connect by themselves.

import type { ConnectionSource } from '../downstream/instance-runner.ts';
import type { ServerDefinition } from '../model/server-definition.ts';

/** Several sources make up the servers of a client. Of two servers with one name, the earlier source's is offered. */
export interface ServerSource extends ConnectionSource {
  /** Finds out what there is for clients that work there; undefined if that is known. */
  prepare(cwd: string | undefined): Promise<void> | undefined;
  /** The servers for clients that work there, by their names. */
  of(cwd: string | undefined): ReadonlyMap<string, ServerDefinition>;
  /** The servers for all clients; a name may stand for several. */
  all(): Iterable<ServerDefinition>;
  /** A server that no list has, by its name. */
  unlisted?(name: string): ServerDefinition | undefined;
}
