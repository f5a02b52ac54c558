// The connections of one HTTP server: how many there may be, and how many open requests each may have. Connections
// without an accepted request are ended first. Malformed HTTP is answered as Node does, and counted.

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../util/clock.ts';

/** The maximum number of pipelined requests; clients open connections instead. */
const MOST_OPEN = 64;

/** The maximum time for a connection's last answer. */
const LINGER_MS = 2000;

interface ConnectionsOptions {
  readonly clock: Clock;
  readonly isTls: boolean;
  readonly most: number;
  /** True while enough file descriptors are left for one more. */
  readonly hasRoom: () => boolean;
  /** Called when a connection or request was refused. */
  readonly refused: () => void;
}

interface Connection {
  /** Unanswered requests, by response. */
  readonly open: Map<ServerResponse, IncomingMessage>;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #all = new Map<Duplex, Connection>();
  /** Connections without an accepted request, oldest first. */
  readonly #unknown = new Set<Duplex>();
  readonly #agreeing = new Set<Duplex>();
  readonly #unreadable = new WeakSet<Duplex>();

  constructor(server: Server, options: ConnectionsOptions) {
    this.#options = options;
    const { isTls } = options;
    // With TLS, requests arrive on another stream, which exists after the TLS handshake.
    if (isTls) server.on('connection', (socket: Duplex) => this.#agree(socket));
    server.on(isTls ? 'secureConnection' : 'connection', (socket: Duplex) => this.#add(socket));
    server.on('clientError', (error: Error, socket: Duplex) => this.#onUnreadable(error, socket));
  }

  /** Tracks a connection during and after its TLS handshake. */
  #agree(socket: Duplex): void {
    if (!this.#hasRoom(this.#agreeing.size, socket)) return;
    this.#agreeing.add(socket);
    socket.once('close', () => this.#agreeing.delete(socket));
  }

  #hasRoom(count: number, socket: Duplex): boolean {
    const { most, hasRoom, refused } = this.#options;
    if ((count < most || this.#endOneIdle()) && hasRoom()) return true;
    refused();
    socket.destroy();
    return false;
  }

  #add(socket: Duplex): void {
    if (!this.#hasRoom(this.#all.size, socket)) return;
    this.#all.set(socket, { open: new Map() });
    this.#unknown.add(socket);
    socket.once('close', () => this.#onClose(socket));
  }

  #onClose(socket: Duplex): void {
    // Node reports a closed connection only to the first open response.
    const left = [...(this.#all.get(socket)?.open.keys() ?? [])];
    this.#all.delete(socket);
    this.#unknown.delete(socket);
    for (const response of left) {
      response.destroy();
      response.emit('close');
    }
  }

  #endOneIdle(): boolean {
    const [unknown] = this.#unknown;
    const [idle] = unknown === undefined ? ([...this.#all].find(([, { open }]) => open.size === 0) ?? []) : [unknown];
    if (idle === undefined) return false;
    this.#onClose(idle);
    idle.destroy();
    return true;
  }

  /** Notes a request until it is answered. False if its connection has too many; then it was cut off. */
  begin(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const connection = this.#all.get(socket);
    if (connection === undefined || socket.destroyed) return false;
    connection.open.set(response, request);
    if (connection.open.size > MOST_OPEN) {
      this.#options.refused();
      socket.destroy();
      return false;
    }
    response.once('close', () => connection.open.delete(response));
    return true;
  }

  /** Notes that a request on this connection was accepted. */
  known({ socket }: IncomingMessage): void {
    this.#unknown.delete(socket);
  }

  #onUnreadable(error: Error & { readonly code?: string }, socket: Duplex): void {
    const { code = '' } = error;
    const status = STATUS[code] ?? (code.startsWith('HPE_') ? '400 Bad Request' : undefined);
    if (status === undefined) return void socket.destroy(); // the connection has broken
    if (this.#unreadable.has(socket)) return; // already handled
    this.#unreadable.add(socket);
    this.#options.refused();
    if (!socket.writable) return void socket.destroy();
    const answer = `HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`;
    socket.end(this.#isNext(socket) ? answer : '', () => socket.destroy());
    const late = this.#options.clock.after(LINGER_MS, () => socket.destroy());
    socket.once('close', () => late.cancel());
  }

  /** True if an answer on this connection would belong to the malformed request, and not to one before it. */
  #isNext(socket: Duplex): boolean {
    const [first, ...others] = this.#all.get(socket)?.open ?? [];
    if (first === undefined) return true;
    const [response, request] = first;
    return others.length === 0 && !request.complete && !response.headersSent;
  }

  /** Ends all connections. */
  close(): void {
    for (const socket of [...this.#all.keys(), ...this.#agreeing]) socket.destroy();
  }
}

const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};
