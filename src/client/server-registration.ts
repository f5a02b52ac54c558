// A server's stay with the bridge: it registers under its name, is served over one connection after the other, and comes
// back when the daemon has gone. Who serves it (an attached process, the SDK's transport) is handed each connection.

import type { Socket } from 'node:net';
import { type DialInState, isServerName, SERVER_NAME_RULE } from '../protocol/inbound-server.ts';
import type { ReconnectSettings } from '../util/backoff.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { systemClock } from '../util/clock.ts';
import { sleep } from '../util/sleep.ts';
import type { LeavingReason } from '../wire/resume-notices.ts';
import { openFirst } from './first-connection.ts';
import { openOrStart, type StartSettings } from './open-or-start.ts';
import { ReconnectPolicy } from './reconnect-policy.ts';
import { type DialInHello, DialledLink } from './registered-link.ts';

export type { DialInState, LeavingReason };

export interface DialInOptions {
  readonly hello: DialInHello;
  /** Where the daemon is looked for. */
  readonly where: () => string;
  /** How one is started where none runs; undefined if none may be. */
  readonly start: StartSettings | undefined;
  readonly reconnect: ReconnectSettings;
  /** Whether others may see the server: told with each connection, and when that is decided again. */
  readonly told: (state: DialInState) => void;
  /** The connection is gone; `farewell` is why, if the daemon went in order. */
  readonly lost: (farewell: LeavingReason | undefined) => void;
}

/** Serves over a connection; resolves when that is closed. */
export type Serve = (link: DialledLink) => Promise<void>;

export class DialIn {
  readonly #options: DialInOptions;
  readonly #comeback: ReconnectPolicy;
  #isLeft = false;
  readonly #leaving = new AbortController();
  /** To the daemon, which knows of no server yet. */
  #reached: Socket | undefined;
  #link: DialledLink | undefined;

  constructor(options: DialInOptions) {
    const { name, renaming: hint } = options.hello;
    if (!isServerName(name))
      throw new BridgeError('USAGE', `${JSON.stringify(name)} is no server's name, which is ${SERVER_NAME_RULE}`, {
        hint,
      });
    this.#options = options;
    const { reconnect, where: path } = options;
    this.#comeback = new ReconnectPolicy(
      { reconnect, path, clock: systemClock, sleep, random: Math.random },
      {
        attempt: (mayStart) => this.#attempt(mayStart),
        isFinal: (error) => error instanceof BridgeError && error.code === 'REQUEST_REFUSED',
        isNeeded: () => false, // nobody asks it for anything while there is no daemon
      },
    );
  }

  /** Sees that there is a daemon, before anything is registered. */
  async reach(): Promise<void> {
    const { where: path, start, reconnect } = this.#options;
    const { signal } = this.#leaving;
    const socket = await openFirst({ path, start, reconnect, clock: systemClock, sleep, random: Math.random, signal });
    socket.on('error', () => socket.destroy());
    if (this.isLeft) return void socket.destroy();
    this.#reached = socket;
  }

  /** Registers the server, unless it is left meanwhile. Rejects with why the bridge does not take it. */
  async register(): Promise<void> {
    const { where, start, hello } = this.#options;
    const reached = this.#reached;
    this.#reached = undefined;
    const open = reached?.writable === true ? () => Promise.resolve(reached) : () => openOrStart(where(), start);
    try {
      this.#taken(await DialledLink.open(where(), hello, open));
    } catch (error) {
      if (!this.isLeft) throw error;
    }
  }

  /** Serves for as long as it goes; resolves when it was left, and rejects when the bridge could not be reached again. */
  async stay(serve: Serve): Promise<void> {
    const { told } = this.#options;
    for (let link = this.#link; link !== undefined; link = this.#link) {
      const served = serve(link);
      link.stateChanged = told; // what has come already counts in what is told now
      told(link.state);
      await served;
      if (this.isLeft) return;
      this.#link = undefined;
      this.#options.lost(link.farewell);
      await this.#comeBack(link.farewell);
    }
  }

  get isLeft(): boolean {
    return this.#isLeft;
  }

  leave(): void {
    this.#isLeft = true;
    this.#leaving.abort(new BridgeError('USAGE', 'The server was taken back while it connected'));
    this.#comeback.end();
    this.#reached?.destroy();
    this.#link?.socket.end();
  }

  async #comeBack(farewell: LeavingReason | undefined): Promise<void> {
    const comeback = this.#comeback;
    comeback.farewell = farewell && { received: 0, reason: farewell, unsent: [] };
    comeback.lost(undefined);
    try {
      await comeback.run();
    } catch (error) {
      if (!this.isLeft) throw whoseName(error);
    }
  }

  async #attempt(mayStart: boolean): Promise<void> {
    const { where, hello, start } = this.#options;
    this.#taken(await DialledLink.open(where(), hello, (path) => openOrStart(path, mayStart ? start : undefined)));
  }

  /** It may have been left while it came. */
  #taken(link: DialledLink): void {
    if (this.isLeft) link.socket.destroy();
    else this.#link = link;
  }
}

/** The bridge was reached, again and again, but for somebody else who has the name now. */
function whoseName(error: unknown): unknown {
  const { cause } = error instanceof BridgeError ? error : {};
  return cause instanceof BridgeError && cause.code === 'SERVER_EXISTS' ? cause : error;
}
