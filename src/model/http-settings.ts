// What the config says of HTTP: the address that the daemon listens on beside its own socket, and who is let in there.

/** An address that the daemon listens on. */
export type HttpAddress =
  | {
      readonly kind: 'tcp';
      /** An IP address, without brackets. */
      readonly host: string;
      /** 0 for any that is free. */
      readonly port: number;
      readonly isLoopback: boolean;
    }
  | { readonly kind: 'unix'; readonly path: string };

export interface HttpSettings {
  /** Undefined for nothing but the daemon's own socket. */
  readonly listen: HttpAddress | undefined;
  /** True if clients over TCP need a token. */
  readonly needsToken: boolean;
  /** True if other machines may reach it. */
  readonly allowsRemote: boolean;
  /** True if a proxy stands before it that speaks TLS for it. */
  readonly isBehindProxy: boolean;
  /** Hosts that a request may name beside this machine's own, in lower case and without a port. */
  readonly allowedHosts: readonly string[];
  /** Origins of web pages that may ask, in lower case. */
  readonly allowedOrigins: readonly string[];
  /** The files of the certificate and of its key. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
}

export const NO_HTTP: HttpSettings = {
  listen: undefined,
  needsToken: true,
  allowsRemote: false,
  isBehindProxy: false,
  allowedHosts: [],
  allowedOrigins: [],
  tls: undefined,
};
