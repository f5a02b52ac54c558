// What an instance needs of a server that runs, be it a process of ours or one at a URL.

import type { BridgeError } from '../util/bridge-error.ts';
import type { Link } from '../wire/link.ts';
import type { ServerOutput } from './server-output.ts';

export interface ServerConnection {
  readonly link: Link;
  /** Of a process of ours. */
  readonly pid: number | undefined;
  /** What that has written besides the protocol. */
  readonly output?: ServerOutput | undefined;
  /** Settles with a sentence on how it ended, once all that it said has been read. Never rejects. */
  readonly ended: Promise<string>;
  /** Why it could not be opened, where it can say more than how it ended. */
  readonly failure?: BridgeError | undefined;
  /** A text of the server's, without the values that are secrets between it and us. */
  safe(text: string): string;
  /** The last that it said besides the protocol, without secrets; '' if nothing. */
  lastWords(): string;
  /** The one line of it that says most. */
  lastLine(): string;
  /** Ends it; resolves when it is gone. */
  stop(): Promise<void>;
}
