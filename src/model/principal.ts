// Who is behind a connection. The front that accepts a connection says it; reports, the audit log and policy read it.

/** A process on this host, which came over the Unix socket. The socket's mode lets no other user in. */
interface LocalPrincipal {
  readonly kind: 'local';
  readonly uid: number;
  /** The process, by its own word; nothing may be decided by it. */
  readonly pid: number | undefined;
}

/** Somebody who came over TCP. */
interface HttpPrincipal {
  readonly kind: 'http';
  /** The user of the daemon: all that it does, it does as this user. */
  readonly uid: number;
  readonly pid: number | undefined;
  /** The rights of their token; undefined where no token is asked for. */
  readonly grant: Grant | undefined;
}

/** A client of a daemon on another host. */
export interface BusPrincipal {
  readonly kind: 'bus';
  /** The user of this daemon. */
  readonly uid: number;
  readonly pid: number | undefined;
  readonly tenant: string;
  /** The user in the subject of the request: what the bus lets somebody publish makes it more than a claim. */
  readonly user: string;
  /** The host, by the word of its daemon. */
  readonly host: string;
  /** The client there of the request that is being taken in. Its daemon asks for several, so this is true only for that moment. */
  readonly asking: AskingClient;
}

interface AskingClient {
  /** Its id, by the word of its host's daemon; undefined if that says nothing. */
  client: string | undefined;
}

export type Principal = LocalPrincipal | HttpPrincipal | BusPrincipal;

/** The terms on which somebody with a token is let in. */
export interface Grant {
  /** No two tokens have one, not even one after the other. */
  readonly id: string;
  /** The name of the token, for rules and reports. */
  readonly name: string;
  /** The one view that may be seen; undefined for any. */
  readonly view?: string | undefined;
  /** Globs over the servers that may be seen; undefined for all. */
  readonly servers?: readonly string[] | undefined;
  /** True for a token that the bridge has not made. */
  readonly isForeign?: boolean | undefined;
}

export function grantOf(principal: Principal): Grant | undefined {
  return principal.kind === 'http' ? principal.grant : undefined;
}

/** A text that is the same for all connections of one principal, and for no others. */
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
