// What a connection that outlives sockets and daemons is given: whom it serves, and how it gets to a daemon.

import type { Duplex } from 'node:stream';
import type { ComebackOptions } from './reconnect-policy.ts';
import type { ServedClient } from './served-client.ts';

export interface ConnectionOptions extends ComebackOptions {
  readonly client: ServedClient;
  /** Opens a connection to the daemon, which is started if there is none and `mayStart`. */
  readonly dial: (mayStart: boolean) => Promise<Duplex>;
  /** Goes into `_meta` of the client's `initialize`, where the client has not set it itself. */
  readonly meta: Readonly<Record<string, unknown>>;
}
