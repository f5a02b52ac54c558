// An MCP server that the bridge knows by name, wherever the definition was found.

import type { ToolFilter } from './tool-rules.ts';

/** The clients that share one instance: those that can, all, or none. */
export type Sharing = 'auto' | 'shared' | 'dedicated';

/** Known reasons not to share a program like others, in words for people. */
export interface ServerNature {
  /** The state that it keeps for a client and that another client would see. */
  readonly keepsState?: string;
  /** The writes that simultaneous calls would lose. */
  readonly losesWrites?: string;
}

export interface ClientFilter {
  /** The program, such as `codex`. */
  readonly client: string;
  readonly tools: ToolFilter;
}

interface AnyServer {
  readonly name: string;
  readonly description: string;
  /** The time limit of a call; undefined for the default. */
  readonly timeoutMs: number | undefined;
  /** The time limit of its start; undefined for the default. */
  readonly startTimeoutMs: number | undefined;
  /** The tool filter of the file where the definition was found. */
  readonly tools: ToolFilter;
  /** The filters of other clients with the same server, if they differ. */
  readonly filters?: readonly ClientFilter[];
  /** Ids of equal definitions, which mean it too. */
  readonly alsoNamed?: readonly string[] | undefined;
  /** The setting for who may share an instance, if there is one; see sharing.ts. */
  readonly sharing: Sharing | undefined;
  /**
   * The maximum number of tool calls per instance at a time; 0 for no limit, undefined for the default of its nature.
   */
  readonly maxConcurrentCalls?: number | undefined;
  readonly nature?: ServerNature | undefined;
  /** True if its tools' hints (`readOnlyHint`, `idempotentHint`) are trusted. */
  readonly trustHints: boolean;
  /** How long it may run without a client; undefined for the default. */
  readonly idleMs: number | undefined;
  /** True if a project defines it; otherwise it is the user's own. */
  readonly isOfProject?: boolean;
}

/** A program that uses its stdin and stdout. */
export interface StdioServer extends AnyServer {
  readonly transport: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute, if the definition has one. */
  readonly cwd: string | undefined;
  /** The directory of its definition: used without a cwd, and for clients that do not name their directory. */
  readonly dir: string | undefined;
  /** A directory that is created before it starts. */
  readonly dataDir?: string;
}

/** A server at a URL. `auto` tries Streamable HTTP, then the older SSE. */
export interface RemoteServer extends AnyServer {
  readonly transport: 'http' | 'sse' | 'ws' | 'auto';
  readonly url: string;
  /** Values may contain environment variables, ${NAME} or ${NAME:-otherwise}, unless they were filled in already. */
  readonly headers: Readonly<Record<string, string>>;
  readonly isFilledIn: boolean;
  readonly headersHelper: HeadersHelper | undefined;
  readonly oauth: OAuthSettings;
}

/** A shell command that prints more headers as JSON, for each connection. */
export interface HeadersHelper {
  readonly command: string;
  /** Absolute, or undefined for the daemon's own. */
  readonly cwd: string | undefined;
}

/** Sign-in settings, for servers that do not publish them or need a known client. */
export interface OAuthSettings {
  /** The id of a client that is registered there; without it the bridge registers one. */
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly scope: string | undefined;
  /** The port for the browser's redirect; without it, any free one. */
  readonly callbackPort: number | undefined;
}

/** A server that connects to the bridge by itself, and is offered while it is connected. */
export interface DialInServer extends AnyServer {
  readonly transport: 'dial-in';
}

/** A server that another daemon runs on its host and offers over the bus. */
export interface BusServer extends AnyServer {
  readonly transport: 'bus';
  /** Its name on its host. */
  readonly offeredName: string;
  /** Undefined for any host that offers it. */
  readonly host: string | undefined;
  /**
   * For a server of any host: the names of the servers that may answer. A tool forbidden for one of them is forbidden.
   */
  readonly anyOf?: readonly string[];
  /** True if only one of the hosts that offer it serves it at a time. */
  readonly isLeased?: boolean;
  /** Identifies the program that its owner runs; with another mark, earlier knowledge does not apply. */
  readonly mark: string;
}

export type ServerDefinition = StdioServer | RemoteServer | DialInServer | BusServer;
