// What the config says of HTTP: the address that the daemon listens on beside its own socket, and who is let in there.

export interface TcpAddress {
  readonly kind: 'tcp';
  /** An IP address, without brackets. */
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly isLoopback: boolean;
}

/** An address that the daemon listens on. */
export type HttpAddress = TcpAddress | { readonly kind: 'unix'; readonly path: string };

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
  /** The authorization server whose tokens are good here, beside those of the bridge. */
  readonly authorization: AuthorizationSettings | undefined;
  /** The files of the certificate and of its key. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
}

export interface AuthorizationSettings {
  /** The authorization server, as it names itself. */
  readonly issuer: string;
  /** The URL of the bridge for which tokens have to be. */
  readonly resource: string;
  /** Scopes that a token needs, all of them. */
  readonly scopes: readonly string[];
  /** The address of the server's keys; undefined if its metadata name it. */
  readonly jwksUri: string | undefined;
}

export const NO_HTTP: HttpSettings = {
  listen: undefined,
  needsToken: true,
  allowsRemote: false,
  isBehindProxy: false,
  allowedHosts: [],
  allowedOrigins: [],
  authorization: undefined,
  tls: undefined,
};

/** The beginning of all URLs of an address, for clients on this machine. `port` is the one that is listened on. */
export function httpOrigin(
  { listen, tls, allowedHosts }: Pick<HttpSettings, 'listen' | 'tls' | 'allowedHosts'>,
  port?: number,
) {
  if (listen === undefined) return undefined;
  if (listen.kind === 'unix') return unixUrl(listen.path);
  const scheme = tls === undefined ? 'http' : 'https';
  // A certificate is for a name, and seldom for an address.
  const [named] = tls === undefined ? [] : allowedHosts;
  return `${scheme}://${named ?? reachable(listen.host)}:${port ?? listen.port}`;
}

/** A client cannot connect to "any address". */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host.includes(':') ? `[${/^[0:]+$/.test(host) ? '::1' : host}]` : host;
}

/** A socket, as VS Code and others spell it; the path of a URL stands behind a `#`. */
export function unixUrl(path: string): string {
  return `unix://${path}`;
}
