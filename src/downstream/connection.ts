// The interface between an instance's runner and a running server: a child process, a server at a URL, or a server that
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
  /** Resolves with a sentence on how the connection ended, after everything that arrived was read. Never rejects. */
  readonly ended: Promise<string>;
  /** True once messages may have reached the server. */
  readonly wasOpen: boolean;
  /** True once a server that has connected by itself has ended the connection. */
  readonly hasHungUp?: boolean;
  /** True if the server is reached in a way that 2026 no longer has. */
  readonly isOfEarlierEra?: boolean | undefined;
  /** True if the server is reached in a way that only 2026 has. */
  readonly isOf2026Alone?: boolean | undefined;
  /** The reason why it could not be opened, if that says more than how it ended. */
  readonly failure?: BridgeError | undefined;
  /** Called when both sides have agreed on this version of the protocol. */
  settled?(version: string): void;
  /** A text of the server without the secrets that it was given. */
  safe(text: string): string;
  /** The last lines that it wrote outside the protocol, without secrets; '' if none. */
  lastWords(): string;
  /** The most informative of those lines. */
  lastLine(): string;
  /** Ends the connection, and the process if it is a child; resolves when it is gone. */
  stop(): Promise<void>;
}
