// Reports about other hosts: `mcp-bridge hosts --json` prints them unchanged.

/** Another host, as it describes itself. */
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
  /** The reason why it is unreachable; null if it is reachable. */
  readonly unreachable: string | null;
}

/** A stateful server: only one host at a time serves it under its plain name. */
export interface LeaseReport {
  readonly server: string;
  /** Null if nobody serves it at present. */
  readonly host: string | null;
}

export interface FederationReport {
  /** '' if the config's section `federation` has a fault and is ignored. */
  readonly host: string;
  readonly tenant: string;
  readonly user: string;
  /** The NATS server; null while there is none. */
  readonly nats: { readonly address: string; readonly version: string } | null;
  /** The fault, in words for people. */
  readonly faults: readonly string[];
  /** The servers of this host that others may use. */
  readonly offered: readonly string[];
  /** The number of other hosts' calls under way here, without those that only listen. */
  readonly callsOfOthers: number;
  /** The number of other hosts' calls that only listen for changes: each of their idle clients has one. */
  readonly listensOfOthers: number;
  readonly hosts: readonly HostReport[];
  readonly leases: readonly LeaseReport[];
}
