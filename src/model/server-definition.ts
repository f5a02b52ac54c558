// An MCP server that the bridge knows by name, wherever the definition was found.

import type { ToolFilter } from './tool-rules.ts';

/** Clients that share one instance: those that can, all of them, or none. */
export type Sharing = 'auto' | 'shared' | 'dedicated';

/** Reasons not to share a server as others are shared, as far as the bridge knows the program; for people. */
export interface ServerNature {
  /** It keeps something for a client that another one would see. */
  readonly keepsState?: string;
  /** Calls at the same time destroy what others have done. */
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
  /** How long a call may take; undefined for the default. */
  readonly timeoutMs: number | undefined;
  /** How long it may take to start; undefined for the default. */
  readonly startTimeoutMs: number | undefined;
  /** The tool filter of the file where the definition was found. */
  readonly tools: ToolFilter;
  /** The filters of clients that have the same server, where they differ. */
  readonly filters?: readonly ClientFilter[];
  /** Other ids that mean it, of definitions that are the same. */
  readonly alsoNamed?: readonly string[] | undefined;
  /** The setting for who may share an instance, if there is one; see sharing.ts. */
  readonly sharing: Sharing | undefined;
  /** Calls of tools that one instance gets at a time; 0 for no bound, undefined for what its nature asks for. */
  readonly maxConcurrentCalls?: number | undefined;
  readonly nature?: ServerNature | undefined;
  /** True if the hints on its tools (`readOnlyHint`, `idempotentHint`) are believed. */
  readonly trustHints: boolean;
  /** How long it may run with no client; undefined for the default. */
  readonly idleMs: number | undefined;
  /** True if a project has brought it; else it is the user's own. */
  readonly isOfProject?: boolean;
}

/** A program that speaks on its stdin and stdout. */
export interface StdioServer extends AnyServer {
  readonly transport: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute, if the definition has one. */
  readonly cwd: string | undefined;
  /** The directory of its definition, to run in without a cwd, and for clients that do not say where they work. */
  readonly dir: string | undefined;
  /** A directory that is made for it before it starts. */
  readonly dataDir?: string;
}

/** One at a URL. `auto` tries Streamable HTTP, then the older SSE. */
export interface RemoteServer extends AnyServer {
  readonly transport: 'http' | 'sse' | 'ws' | 'auto';
  readonly url: string;
  /** Values may name variables of the environment: ${NAME}, or ${NAME:-otherwise}; unless they were filled in. */
  readonly headers: Readonly<Record<string, string>>;
  readonly isFilledIn: boolean;
  readonly headersHelper: HeadersHelper | undefined;
  readonly oauth: OAuthSettings;
}

/** A command for the shell that prints more headers, as JSON, for each connection. */
export interface HeadersHelper {
  readonly command: string;
  /** Absolute, or undefined for the daemon's own. */
  readonly cwd: string | undefined;
}

/** How to sign in, where the server does not tell or would not let us in. */
export interface OAuthSettings {
  /** The id of a client that is known there; without it the bridge registers one. */
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly scope: string | undefined;
  /** The port that the browser is sent back to; without it, any free one. */
  readonly callbackPort: number | undefined;
}

/** One that connects to the bridge by itself, and offers what it has for as long as it stays. */
export interface DialInServer extends AnyServer {
  readonly transport: 'dial-in';
}

/** One that another daemon runs on its host, and offers over the bus. */
export interface BusServer extends AnyServer {
  readonly transport: 'bus';
  /** Its name on its host. */
  readonly offeredName: string;
  /** Undefined for any host that offers it. */
  readonly host: string | undefined;
  /** The names of the servers one of which answers; for a server of any host. What is forbidden for one of them is forbidden. */
  readonly anyOf?: readonly string[];
  /** True if one of the hosts that offer it serves it at a time. */
  readonly isLeased?: boolean;
  /** Marks what its owner runs: with another one nothing is known of it. */
  readonly mark: string;
}

export type ServerDefinition = StdioServer | RemoteServer | DialInServer | BusServer;
