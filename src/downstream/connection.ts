// The interface between the runner of an instance and a running server: a child process, a server at a URL, or one that has
// connected by itself.

import type { BridgeError } from '../util/bridge-error.ts';
import type { Link } from '../wire/link.ts';
import type { ServerOutput } from './server-output.ts';

export interface ServerConnection {
  readonly link: Link;
  /** The process id, if the server is a child of the daemon. */
  readonly pid: number | undefined;
  /** The child's stderr. */
  readonly output?: ServerOutput | undefined;
  /** Resolves with a sentence on how the connection ended, once all that came has been read. Never rejects. */
  readonly ended: Promise<string>;
  /** True once messages can have reached the server. */
  readonly wasOpen: boolean;
  /** True once a server that has connected by itself has ended the connection. */
  readonly hasHungUp?: boolean;
  /** True if the server is reached in a way that the era of 2026 does not have. */
  readonly isOfEarlierEra?: boolean | undefined;
  /** True if the server is reached in a way that only the era of 2026 has. */
  readonly isOf2026Alone?: boolean | undefined;
  /** The reason why it could not be opened, where that says more than how it ended. */
  readonly failure?: BridgeError | undefined;
  /** Both sides have settled on this version of the protocol. */
  settled?(version: string): void;
  /** A text of the server, with the secrets that it was given taken out. */
  safe(text: string): string;
  /** The last lines that it wrote outside the protocol, without secrets; '' if none. */
  lastWords(): string;
  /** The line of those that says most. */
  lastLine(): string;
  /** Ends the connection, and the process if it is a child; resolves when it is gone. */
  stop(): Promise<void>;
}
