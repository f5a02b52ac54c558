// Who is behind a connection. The front that accepts a connection says it; reports, the audit log and policy read it.

/** A process on this host, which came over the Unix socket. The socket's mode lets no other user in. */
export interface Principal {
  readonly kind: 'local';
  readonly uid: number;
  /** The process, by its own word; nothing may be decided by it. */
  readonly pid: number | undefined;
}
