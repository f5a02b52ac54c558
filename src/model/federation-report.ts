// What a daemon says of other hosts, as data: `mcp-bridge hosts --json` prints it as it is.

/** Another host, by its own word. */
export interface HostReport {
  readonly host: string;
  readonly version: string;
  readonly servers: readonly string[];
  /** The offered servers that may be used here. */
  readonly used: readonly string[];
  /** The calls that it works on for other hosts; 0 if it has not answered. */
  readonly calls: number;
  /** The age of its last sign of life. */
  readonly seenMs: number;
  /** The time to its daemon and back; null if it has not answered. */
  readonly latencyMs: number | null;
  /** Why it cannot be reached; null if it can. */
  readonly unreachable: string | null;
}

/** A server that remembers something for its clients: one host at a time serves it by its name alone. */
export interface LeaseReport {
  readonly server: string;
  /** Null if nobody serves it at present. */
  readonly host: string | null;
}

export interface FederationReport {
  /** '' where the section `federation` of the config has a fault, and is not used. */
  readonly host: string;
  readonly tenant: string;
  readonly user: string;
  /** The NATS server; null while there is none. */
  readonly nats: { readonly address: string; readonly version: string } | null;
  /** The fault, in words for people. */
  readonly faults: readonly string[];
  /** The own servers that others may use. */
  readonly offered: readonly string[];
  /** The calls of others that are under way here. */
  readonly callsOfOthers: number;
  readonly hosts: readonly HostReport[];
  readonly leases: readonly LeaseReport[];
}
