// The socket to a NATS server. It works as the package's own, except for messages of our own subscriptions: they are
// handed on in the turn in which they come, and nothing waits for a write. Signing in, TLS, reconnecting and the rest
// stay with the package.

import type { ConnectionOptions, NatsConnection } from '@nats-io/nats-core';
import { NatsConnectionImpl, type ProtocolHandler, setTransportFactory } from '@nats-io/nats-core/internal';
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js';
import type { ReadPacer } from '../wire/read-pacer.ts';
import { NatsReader, type NatsRoutes } from './nats-reader.ts';

/**
 * The maximum of read bytes that wait for a turn. One turn takes more than one read brings, and a flood must be read
 * faster than it comes.
 */
const MOST_READ_AHEAD_BYTES = 1024 * 1024;

/** The maximum of bytes that wait to be sent on one connection. */
const MOST_UNSENT_BYTES = 64 * 1024 * 1024;

/**
 * The options of a connection, plus the receivers of its messages. The package hands them to each transport that it
 * makes.
 */
interface RoutedOptions extends ConnectionOptions {
  readonly routes: NatsRoutes;
  readonly pacer: ReadPacer;
  /** Called when a message was dropped because of its form. */
  readonly refused: () => void;
}

class NatsTransport extends NodeTransport {
  override setupHandlers(): void {
    super.setupHandlers();
    const { socket } = this;
    const { routes, pacer, refused } = this.options as RoutedOptions;
    const pass = (bytes: Buffer): void => {
      this.yields.push(bytes);
      this.signal.resolve();
    };
    const reader = new NatsReader({ routes, pass, refused });
    socket.removeAllListeners('data');
    let aheadBytes = 0;
    // A flood from one host takes no more of a turn than this host's own servers do. The rest waits in the kernel.
    const received = pacer.queue<Buffer>({
      take: (bytes, isOver) => {
        const rest = reader.push(bytes, isOver);
        aheadBytes -= bytes.length - (rest?.length ?? 0);
        return rest;
      },
      pause: () => {
        if (aheadBytes >= MOST_READ_AHEAD_BYTES) socket.pause();
      },
      resume: () => socket.resume(),
      failed: () => socket.destroy(),
    });
    socket.on('data', (bytes: Buffer) => {
      aheadBytes += bytes.length;
      received.push(bytes, bytes.length);
    });
    const early = this.yields.splice(0);
    for (const bytes of early) reader.push(Buffer.from(bytes));
  }

  /** Sends a frame. A failed write ends the connection, which is noticed elsewhere. */
  override send(frame: Uint8Array): void {
    if (!this.isClosed && this.socket?.destroyed === false) this.socket.write(frame);
  }

  /** The bytes that the system has not taken. */
  get unsentBytes(): number {
    return this.socket?.writableLength ?? 0;
  }

  /** Sends pieces as one, without a copy; nobody may change them afterwards. */
  sendPieces(pieces: readonly Uint8Array[]): void {
    this.socket?.cork();
    for (const piece of pieces) this.send(piece);
    this.socket?.uncork();
  }
}

/** A connection that also takes messages as bytes. They leave with all other output of the turn. */
export interface RoutedConnection extends NatsConnection {
  readonly protocol: Pick<
    ProtocolHandler,
    'sendCommand' | 'noMorePublishing' | 'connected' | 'infoReceived' | 'outbound' | 'transport'
  >;
}

/**
 * Sends one message. A long one bypasses the package, which would copy it, and goes behind the package's waiting
 * output. If too much waits already, for instance because a server stands still, the message is lost, as anything on
 * the bus may be; whoever needs it sends it again.
 */
export function sendOn({ protocol }: RoutedConnection, pieces: readonly Uint8Array[]): void {
  const [head, ...more] = pieces;
  if (head === undefined) return;
  const { connected, infoReceived, outbound, transport } = protocol;
  const unsentBytes = transport instanceof NatsTransport ? transport.unsentBytes : 0;
  if (outbound.size() + unsentBytes > MOST_UNSENT_BYTES) return;
  if (more.length === 0 || !connected || !infoReceived || !(transport instanceof NatsTransport))
    return protocol.sendCommand(head, ...more);
  if (outbound.size() > 0) transport.send(outbound.drain());
  transport.sendPieces(pieces);
}

/**
 * Connects. The functions in `routes` take the messages of their subscriptions, also after the connection has come back
 * by itself.
 */
export async function connectRouted(
  options: ConnectionOptions,
  routed: Pick<RoutedOptions, 'routes' | 'pacer' | 'refused'>,
): Promise<RoutedConnection> {
  setTransportFactory({ factory: () => new NatsTransport(), dnsResolveFn: nodeResolveHost });
  return (await NatsConnectionImpl.connect({ ...options, ...routed })) as unknown as RoutedConnection;
}
