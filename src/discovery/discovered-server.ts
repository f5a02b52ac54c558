// A definition that discovery has found, and its state; and the draft of one on its way through the stages of discovery,
// each of which takes drafts and gives new ones. A definition may hold secrets in `env`, `headers`, `args`, `url` and `raw`;
// its `id`, `alias`, `reason` and `pointer` never do.

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

/** A place that the same definition was found in; `ServerSource` for those who use the library. */
export interface DefinitionOrigin {
  readonly client: string;
  readonly scope: string;
  readonly name: string;
  readonly file: string;
}

/** The process that is started, or the address that is connected to. */
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
  /** Its place in the file, as a JSON pointer. */
  readonly pointer: string;
  readonly sources: readonly DefinitionOrigin[];
  readonly timeoutMs: number | undefined;
  readonly startupTimeoutMs: number | undefined;
  readonly tools: { readonly allow: readonly string[] | undefined; readonly deny: readonly string[] };
  readonly oauth: Readonly<Record<string, unknown>> | undefined;
  /** Names of inputs, secrets or variables that have to be supplied first. */
  readonly inputs: readonly string[];
  /** The file of more variables that it names, which is read. */
  readonly envFile?: string;
  /** The names of fields that mean nothing here, such as those by which its client asks for no consent. */
  readonly ignored: readonly string[];
  readonly description: string;
  readonly state: ServerState;
  /** Why it is not ready. */
  readonly reason: string | undefined;
  /** True if a person has switched it off in the bridge, and not in its client. */
  readonly isOffHere?: boolean;
  /** The same as it is written, before any variable was filled in. */
  readonly raw: Launch;
}

export interface Draft extends Omit<DiscoveredServer, 'id' | 'alias'> {
  /** How early its place comes in the list; smaller is earlier. */
  readonly order: number;
  /** True if it stands where the author of a project may have written it, and nobody has agreed to it yet. */
  readonly awaitsApproval: boolean;
  /** The directory of the project that the client's user trusts, if they do. */
  readonly trustedDir: string | undefined;
  /** The same name of its client in another file is another server. */
  readonly isListedPerFile: boolean;
}

export function withState(draft: Draft, state: ServerState, reason: string): Draft {
  return { ...draft, state, reason };
}

/** From the weakest to the strongest. A scope that is not here ranks as the user's. */
const SCOPES = [
  'hosted',
  'plugin',
  'extension',
  'system',
  'user-legacy',
  'user',
  'project',
  'local',
  'dynamic',
  'enterprise',
];

export function rankOf(scope: string): number {
  const rank = SCOPES.indexOf(scope === 'workspace' ? 'project' : scope);
  return rank < 0 ? SCOPES.indexOf('user') : rank;
}

/** Sorts what takes precedence first. */
export function byPrecedence(a: Draft, b: Draft): number {
  return rankOf(b.scope) - rankOf(a.scope) || a.order - b.order;
}

export function byOrder(a: Draft, b: Draft): number {
  return a.order - b.order;
}

/** How a server is named in groups and conflicts. */
export function memberName({ client, name }: Pick<Draft, 'client' | 'name'>): string {
  return `${client}:${name}`;
}
