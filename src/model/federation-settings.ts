// What the config says of other hosts: the NATS servers where daemons meet, the names of this one, and what it offers and uses.

export interface NatsSettings {
  /** Addresses such as `nats://hub:4222`, or `tls://hub:4222`. */
  readonly servers: readonly string[];
  /** The file with the credentials of a user: a JWT and its key. */
  readonly credentials: string | undefined;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly token: string | undefined;
  /** The file with the seed of an nkey. */
  readonly nkey: string | undefined;
  /** Files: who may have signed the server's certificate, and the own certificate with its key. */
  readonly tls: NatsTls | undefined;
}

interface NatsTls {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

export interface FederationSettings {
  readonly nats: NatsSettings;
  readonly tenant: string;
  readonly user: string;
  readonly host: string;
  /** Globs over the names of own servers that other hosts may use. */
  readonly offer: readonly string[];
  /** Globs over `NAME`, `NAME@HOST` or `*@HOST`: servers of other hosts that are used here. */
  readonly use: readonly string[];
  /** Globs over hosts with which agents exchange messages. */
  readonly agents: readonly string[];
  /** True if long answers come on a connection of their own. */
  readonly hasBulkConnection: boolean;
}
