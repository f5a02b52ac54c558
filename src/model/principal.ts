// The principal behind a connection. The front that accepts the connection sets it; reports, the audit log and policy
// read it.

/** A process on this host, connected over the Unix socket. The socket's mode keeps other users out. */
interface LocalPrincipal {
  readonly kind: 'local';
  readonly uid: number;
  /** The process id that the client claims; nothing may depend on it. */
  readonly pid: number | undefined;
}

/** A client over HTTP by TCP. */
interface HttpPrincipal {
  readonly kind: 'http';
  /** The daemon's user, because the daemon does everything as this user. */
  readonly uid: number;
  readonly pid: number | undefined;
  /** The rights of the token; undefined if no token is required. */
  readonly grant: Grant | undefined;
}

/** A client of a daemon on another host. */
export interface BusPrincipal {
  readonly kind: 'bus';
  /** The user of this daemon. */
  readonly uid: number;
  readonly pid: number | undefined;
  readonly tenant: string;
  /**
   * The user in the subject of the request. It is more than a claim, because the bus restricts who may publish there.
   */
  readonly user: string;
  /** The host, as its daemon claims. */
  readonly host: string;
  /**
   * The remote client of the current request. Its daemon sends requests of several clients, so this is valid only for a
   * moment.
   */
  readonly asking: AskingClient;
}

interface AskingClient {
  /** Its id, as its host's daemon claims; undefined if that gives none. */
  client: string | undefined;
}

export type Principal = LocalPrincipal | HttpPrincipal | BusPrincipal;

/** The terms of access with a token. */
export interface Grant {
  /** Unique: no two tokens ever have the same one. */
  readonly id: string;
  /** The name of the token, for rules and reports. */
  readonly name: string;
  /** The only view that may be used; undefined for any. */
  readonly view?: string | undefined;
  /** Globs for the servers that may be seen; undefined for all. */
  readonly servers?: readonly string[] | undefined;
  /** True for a token of an authorization server. */
  readonly isForeign?: boolean | undefined;
}

export function grantOf(principal: Principal): Grant | undefined {
  return principal.kind === 'http' ? principal.grant : undefined;
}

/** A text that is equal for all connections of one principal, and different for others. */
export function principalKey(principal: Principal): string {
  const { kind, uid } = principal;
  switch (principal.kind) {
    case 'local':
      return `${kind} ${uid}`;
    case 'http':
      return `${kind} ${uid} ${JSON.stringify(principal.grant?.id)}`;
    case 'bus':
      return `${kind} ${JSON.stringify([principal.tenant, principal.user, principal.host])}`;
  }
}
