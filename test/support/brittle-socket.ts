// A socket in front of a daemon's, whose connections a test can cut while the daemon goes on.

import { connect, createServer, type Server, type Socket } from 'node:net';

export class BrittleSocket {
  readonly path: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(path: string, to: string) {
    this.path = path;
    this.#server = createServer({ allowHalfOpen: true }, (client) => {
      const daemon = connect({ path: to, allowHalfOpen: true });
      this.#carry(client, daemon);
      this.#carry(daemon, client);
    });
  }

  static async open(path: string, to: string): Promise<BrittleSocket> {
    const socket = new BrittleSocket(path, to);
    await new Promise<void>((resolve) => socket.#server.listen(path, resolve));
    return socket;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #carry(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on('error', () => from.destroy()).pipe(to);
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
