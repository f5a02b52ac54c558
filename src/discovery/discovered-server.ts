// A definition that discovery found, with its state; and its draft on the way through the stages of discovery, each of
// which turns drafts into new ones. A definition may hold secrets in `env`, `headers`, `args`, `url` and `raw`; never
// in `id`, `alias`, `reason` and `pointer`.

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

/** `auto` means Streamable HTTP, then SSE; `unknown` is for entries without a usable transport. */
export type DiscoveredTransport = 'stdio' | 'http' | 'sse' | 'ws' | 'auto' | 'unknown';

/** A place where the same definition was found; library users know it as `ServerSource`. */
export interface DefinitionOrigin {
  readonly client: string;
  readonly scope: string;
  readonly name: string;
  readonly file: string;
}

/** The process to start, or the address to connect to. */
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
  /** Unique among all definitions: the name, or the name with the client. */
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
  /** The inputs, secrets or variables that must be supplied first. */
  readonly inputs: readonly string[];
  /** The file with more variables that it names; it is read. */
  readonly envFile?: string;
  /** Names of ignored fields, such as those that turn off its client's questions. */
  readonly ignored: readonly string[];
  readonly description: string;
  readonly state: ServerState;
  /** The reason why it is not ready. */
  readonly reason: string | undefined;
  /** True if it was switched off in the bridge, not in its client. */
  readonly isOffHere?: boolean;
  /** The same launch as written, before variables were filled in. */
  readonly raw: Launch;
}

export interface Draft extends Omit<DiscoveredServer, 'id' | 'alias'> {
  /** Its place in the list; smaller is earlier. */
  readonly order: number;
  /** True if the project's author may have written it and nobody has approved it yet. */
  readonly awaitsApproval: boolean;
  /** The project directory that the client's user trusts, if any. */
  readonly trustedDir: string | undefined;
  /** True if the same name in another file of its client is another server. */
  readonly isListedPerFile: boolean;
}

export function withState(draft: Draft, state: ServerState, reason: string): Draft {
  return { ...draft, state, reason };
}

/** From weakest to strongest. A scope that is missing here ranks like the user's. */
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

/** Sorts by precedence, highest first. */
export function byPrecedence(a: Draft, b: Draft): number {
  return rankOf(b.scope) - rankOf(a.scope) || a.order - b.order;
}

export function byOrder(a: Draft, b: Draft): number {
  return a.order - b.order;
}

/** The name of a server in groups and conflicts. */
export function memberName({ client, name }: Pick<Draft, 'client' | 'name'>): string {
  return `${client}:${name}`;
}
