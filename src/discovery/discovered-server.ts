// A definition that discovery has found, and what became of it. It may hold secrets in `env`, `headers`, `args`, `url`
// and `raw`; its `id`, `alias`, `reason` and `pointer` never do.

export type ServerState =
  | 'ready'
  | 'disabled'
  | 'rejected'
  | 'pending-approval'
  | 'needs-input'
  | 'not-configured'
  | 'invalid'
  | 'unsupported'
  | 'shadowed'
  | 'duplicate'
  | 'self'
  | 'blocked-by-policy';

/** `auto` is Streamable HTTP, then SSE; `unknown` belongs to entries that say nothing usable. */
export type DiscoveredTransport = 'stdio' | 'http' | 'sse' | 'ws' | 'auto' | 'unknown';

/** A place that the same definition was found in. */
export interface ServerSource {
  readonly client: string;
  readonly scope: string;
  readonly name: string;
  readonly file: string;
}

/** What is started or connected to. */
export interface Launch {
  readonly transport: DiscoveredTransport;
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly url: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** A command that prints headers; discovery never runs it. */
  readonly headersHelper: string | undefined;
}

export interface DiscoveredServer extends Launch {
  /** Unique among all that were found: the name, or the name and the client. */
  readonly id: string;
  readonly name: string;
  readonly alias: string;
  readonly client: string;
  readonly scope: string;
  readonly file: string;
  readonly realpath: string;
  /** Where in the file it stands, as a JSON pointer. */
  readonly pointer: string;
  readonly sources: readonly ServerSource[];
  readonly timeoutMs: number | undefined;
  readonly startupTimeoutMs: number | undefined;
  readonly tools: { readonly allow: readonly string[] | undefined; readonly deny: readonly string[] };
  readonly oauth: Readonly<Record<string, unknown>> | undefined;
  /** What has to be supplied before it can be used: names of inputs, secrets, or variables. */
  readonly inputs: readonly string[];
  /** The file of more variables that it names, which is read. */
  readonly envFile?: string;
  /** The names of fields that mean nothing here, such as those by which its client asks for no consent. */
  readonly ignored: readonly string[];
  readonly description: string;
  readonly state: ServerState;
  /** Why it is not ready. */
  readonly reason: string | undefined;
  /** The same as it is written, before any variable was filled in. */
  readonly raw: Launch;
}
