// The config's settings for HTTP: the address to listen on besides the daemon's own socket, and who may connect there.

export interface TcpAddress {
  readonly kind: 'tcp';
  /** An IP address, without brackets. */
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly isLoopback: boolean;
}

/** An address that the daemon listens on. */
export type HttpAddress = TcpAddress | { readonly kind: 'unix'; readonly path: string };

export interface HttpSettings {
  /** Undefined to listen only on the daemon's own socket. */
  readonly listen: HttpAddress | undefined;
  /** True if clients over TCP need a token. */
  readonly needsToken: boolean;
  /** True if other machines may reach it. */
  readonly allowsRemote: boolean;
  /** True if a proxy in front of it speaks TLS. */
  readonly isBehindProxy: boolean;
  /** More hosts that a request may name, in lower case and without a port. */
  readonly allowedHosts: readonly string[];
  /** Origins of web pages that may ask, in lower case. */
  readonly allowedOrigins: readonly string[];
  /** The authorization server whose tokens are valid here, in addition to the bridge's own. */
  readonly authorization: AuthorizationSettings | undefined;
  /** The files of the certificate and of its key. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
}

export interface AuthorizationSettings {
  /** The authorization server, as it names itself. */
  readonly issuer: string;
  /** The bridge's URL, which tokens must be issued for. */
  readonly resource: string;
  /** The scopes that a token needs. */
  readonly scopes: readonly string[];
  /** The address of the server's keys; undefined to take it from the server's metadata. */
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

/** The beginning of all URLs at an address, for clients on this machine. `port` is the port in use. */
export function httpOrigin(
  { listen, tls, allowedHosts }: Pick<HttpSettings, 'listen' | 'tls' | 'allowedHosts'>,
  port?: number,
) {
  if (listen === undefined) return undefined;
  if (listen.kind === 'unix') return unixUrl(listen.path);
  const scheme = tls === undefined ? 'http' : 'https';
  // A certificate is for a name, rarely for an address.
  const [named] = tls === undefined ? [] : allowedHosts;
  return `${scheme}://${named ?? reachable(listen.host)}:${port ?? listen.port}`;
}

/** The host for clients, which cannot connect to "any address". */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host.includes(':') ? `[${/^[0:]+$/.test(host) ? '::1' : host}]` : host;
}

/** The URL of a socket as VS Code and others spell it; the path follows a `#`. */
export function unixUrl(path: string): string {
  return `unix://${path}`;
}
