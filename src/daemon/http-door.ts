// The daemon's door for HTTP: loads the front when the first HTTP client comes, listens where the config says, and
// closes it.

import { unlinkSync } from 'node:fs';
import type { Server } from 'node:net';
import type { Duplex } from 'node:stream';
import type { HttpFront, HttpFrontOptions } from '../front/http/front.ts';
import type { TcpAccess } from '../front/http/tcp-access.ts';
import { bindSocket } from '../local/listener.ts';
import { type HttpSettings, httpOrigin } from '../model/http-settings.ts';
import { messageOf } from '../util/bridge-error.ts';
import { expectSystemError } from '../util/expected-error.ts';
import type { Logger } from '../util/logger.ts';

interface HttpDoorOptions extends HttpFrontOptions {
  readonly settings: HttpSettings;
  readonly access: () => TcpAccess;
  readonly logger: Logger;
}

export class HttpDoor {
  readonly #options: HttpDoorOptions;
  #front: Promise<HttpFront> | undefined;
  #origin: string | undefined;
  #socket: Server | undefined;

  constructor(options: HttpDoorOptions) {
    this.#options = options;
  }

  /** The beginning of its URLs; undefined while only the daemon's socket is listened on. */
  get origin(): string | undefined {
    return this.#origin;
  }

  /** Listens where the config says. If that fails, the daemon goes on without: its socket serves everybody else. */
  async open(): Promise<void> {
    const { settings, logger } = this.#options;
    const { listen } = settings;
    if (listen === undefined) return;
    try {
      const port = await this.#listen(listen);
      this.#origin = httpOrigin(settings, port);
      logger.info('listening for HTTP', { url: this.#origin, port });
    } catch (error) {
      logger.error('HTTP is not served at its own address', { error: messageOf(error) });
    }
  }

  async #listen(listen: NonNullable<HttpSettings['listen']>): Promise<number | undefined> {
    const { settings } = this.#options;
    if (listen.kind === 'tcp') return (await this.#frontOf()).listen(listen, settings.tls, await this.#access());
    const front = await this.#frontOf();
    this.#socket = await bindSocket(listen.path, (socket) => front.take(socket));
    return undefined;
  }

  async #access(): Promise<TcpAccess> {
    const { settings, access } = this.#options;
    if (settings.authorization === undefined) return access();
    const { Authorization } = await import('../front/http/authorization.ts');
    return { ...access(), authorization: new Authorization(settings.authorization, Date.now) };
  }

  #frontOf(): Promise<HttpFront> {
    this.#front ??= import('../front/http/front.ts').then(({ HttpFront }) => new HttpFront(this.#options));
    return this.#front;
  }

  /** Serves a connection whose peer speaks HTTP. It is paused, and still has everything that arrived. */
  async take(stream: Duplex): Promise<void> {
    const abandoned = (): void => void stream.destroy();
    stream.on('error', abandoned);
    try {
      const front = await this.#frontOf();
      stream.off('error', abandoned);
      if (!stream.destroyed) front.take(stream);
    } catch (error) {
      this.#options.failed(error);
      stream.destroy();
    }
  }

  /** Stops accepting connections at its own address. */
  async stopListening(): Promise<void> {
    const { listen } = this.#options.settings;
    if (this.#socket !== undefined && listen?.kind === 'unix') {
      this.#socket.close();
      this.#socket = undefined;
      remove(listen.path);
    }
    (await this.#front)?.stopListening();
  }

  async close(): Promise<void> {
    (await this.#front)?.close();
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    expectSystemError(error); // another program has removed it
  }
}
