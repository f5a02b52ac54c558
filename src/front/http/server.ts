// Node's HTTP servers for the front: their limits, certificates, and addresses.

import { readFileSync } from 'node:fs';
import { createServer, type Server, type ServerOptions } from 'node:http';
import type { HttpSettings, TcpAddress } from '../../model/http-settings.ts';
import { BridgeError, messageOf } from '../../util/bridge-error.ts';

/** Strict parsing, and no idle connections without a request. */
export const SERVER_OPTIONS: ServerOptions = {
  insecureHTTPParser: false,
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 30_000,
  connectionsCheckingInterval: 2_000,
  requireHostHeader: true,
  // Joins duplicate headers: the joined value is invalid, so the request is refused.
  joinDuplicateHeaders: true,
};

/** Makes a server that does not listen yet. The TLS code is loaded with the first certificate. */
export function serverFor(tls: HttpSettings['tls']): Server {
  if (tls === undefined) return createServer(SERVER_OPTIONS);
  const { createServer: createTlsServer } = process.getBuiltinModule('node:https');
  try {
    const files = { cert: readFileSync(tls.cert), key: readFileSync(tls.key) };
    return createTlsServer({ ...SERVER_OPTIONS, ...files, minVersion: 'TLSv1.2', handshakeTimeout: 10_000 });
  } catch (error) {
    throw cannotListen(`http.tls cannot be used: ${messageOf(error)}`, error);
  }
}

/** Listens; resolves to the port. */
export async function bind(server: Server, { host, port }: TcpAddress): Promise<number> {
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen({ host, port }, resolve);
    });
  } catch (error) {
    throw cannotListen(`Cannot listen on ${host}, port ${port} (http.listen): ${messageOf(error)}`, error);
  }
  // A failed accept concerns only the connecting client.
  server.on('error', () => undefined);
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

function cannotListen(message: string, cause: unknown): BridgeError {
  return new BridgeError('SOCKET_UNUSABLE', message, { cause });
}
