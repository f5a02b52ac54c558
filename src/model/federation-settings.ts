// The config's settings for other hosts: the NATS servers where daemons meet, this host's names, and the servers it
// offers and uses.

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
  /** The files with the trusted certificates, and with the own certificate and key. */
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
  /** Globs for this host's servers that other hosts may use. */
  readonly offer: readonly string[];
  /** Globs over `NAME`, `NAME@HOST` or `*@HOST`: servers of other hosts to use here. */
  readonly use: readonly string[];
  /** Globs for hosts whose agents may exchange messages with those here. */
  readonly agents: readonly string[];
  /** True if long answers use a separate connection. */
  readonly hasBulkConnection: boolean;
}
