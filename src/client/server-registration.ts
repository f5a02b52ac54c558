// A server's registration with the bridge: connects, registers the server under its name, and reconnects when the
// daemon has gone. The server itself (a served process, or the SDK's transport) gets each connection in turn.

import type { Socket } from 'node:net';
import {
  DIAL_IN_STATES,
  type DialInState,
  isServerName,
  LEAVING,
  SERVER_NAME_RULE,
  SERVER_STATE,
} from '../protocol/inbound-server.ts';
import { INTERNAL_ERROR } from '../protocol/rpc-codes.ts';
import type { ReconnectSettings } from '../util/backoff.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { systemClock } from '../util/clock.ts';
import { isRecord, membersOf } from '../util/json-value.ts';
import { sleep } from '../util/sleep.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { LeavingReason } from '../wire/resume-notices.ts';
import { notBridge, openBridgeSocket } from './bridge-socket.ts';
import { MAX_TEXT_BYTES } from './bytes.ts';
import { openFirst } from './first-connection.ts';
import { openOrStart, type StartSettings } from './open-or-start.ts';
import { ReconnectPolicy } from './reconnect-policy.ts';
import type { Refusal } from './rpc-refusal.ts';
import { RpcFailure, RpcSession } from './rpc-session.ts';

export type { DialInState, LeavingReason };

export interface ServerRegistrationOptions {
  readonly hello: ServerIntroduction;
  /** Returns the path at which the daemon is expected. */
  readonly where: () => string;
  /** The settings for starting a daemon if none runs; undefined if none may be started. */
  readonly start: StartSettings | undefined;
  readonly reconnect: ReconnectSettings;
  /** Called with each connection, and when somebody decides whether others may see the server. */
  readonly told: (state: DialInState) => void;
  /** Called when the connection is gone. `farewell` is the reason, if the daemon ended in order. */
  readonly lost: (farewell: LeavingReason | undefined) => void;
}

/** Serves over a connection; resolves when the connection is closed. */
export type Serve = (link: RegisteredLink) => Promise<void>;

export class ServerRegistration {
  readonly #options: ServerRegistrationOptions;
  readonly #policy: ReconnectPolicy;
  #isLeft = false;
  readonly #leaving = new AbortController();
  /** A connection to the daemon, which knows of no server yet. */
  #reached: Socket | undefined;
  #link: RegisteredLink | undefined;

  constructor(options: ServerRegistrationOptions) {
    const { name, renaming: hint } = options.hello;
    if (!isServerName(name))
      throw new BridgeError('USAGE', `${JSON.stringify(name)} is no server's name, which is ${SERVER_NAME_RULE}`, {
        hint,
      });
    this.#options = options;
    const { reconnect, where: path } = options;
    this.#policy = new ReconnectPolicy(
      { reconnect, path, clock: systemClock, sleep, random: Math.random },
      {
        attempt: (mayStart) => this.#attempt(mayStart),
        isFinal: (error) => error instanceof BridgeError && error.code === 'REQUEST_REFUSED',
        isNeeded: () => false, // nobody asks it for anything while there is no daemon
      },
    );
  }

  /** Makes sure that there is a daemon before anything is registered. */
  async reach(): Promise<void> {
    const { where: path, start, reconnect } = this.#options;
    const { signal } = this.#leaving;
    const socket = await openFirst({ path, start, reconnect, clock: systemClock, sleep, random: Math.random, signal });
    socket.on('error', () => socket.destroy());
    if (this.isLeft) return void socket.destroy();
    this.#reached = socket;
  }

  /** Registers the server, unless it leaves meanwhile. Rejects with the reason if the bridge does not take it. */
  async register(): Promise<void> {
    const { where, start, hello } = this.#options;
    const reached = this.#reached;
    this.#reached = undefined;
    const open = reached?.writable === true ? () => Promise.resolve(reached) : () => openOrStart(where(), start);
    try {
      this.#taken(await RegisteredLink.open(where(), hello, open));
    } catch (error) {
      if (!this.isLeft) throw error;
    }
  }

  /** Serves until the end. Resolves when the server has left; rejects when the bridge could not be reached again. */
  async stay(serve: Serve): Promise<void> {
    const { told } = this.#options;
    for (let link = this.#link; link !== undefined; link = this.#link) {
      const served = serve(link);
      link.stateChanged = told; // this call already includes any earlier change
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
    this.#policy.end();
    this.#reached?.destroy();
    this.#link?.socket.end();
  }

  async #comeBack(farewell: LeavingReason | undefined): Promise<void> {
    const comeback = this.#policy;
    const said = farewell && { received: 0, reason: farewell, unsent: [] };
    comeback.lost(farewell ?? 'the connection was closed', said);
    try {
      await comeback.run();
    } catch (error) {
      if (!this.isLeft) throw whoseName(error);
    }
  }

  async #attempt(mayStart: boolean): Promise<void> {
    const { where, hello, start } = this.#options;
    this.#taken(await RegisteredLink.open(where(), hello, (path) => openOrStart(path, mayStart ? start : undefined)));
  }

  /** Takes over a connection; the server may have left while it was made. */
  #taken(link: RegisteredLink): void {
    if (this.isLeft) link.socket.destroy();
    else this.#link = link;
  }
}

/** Explains a repeated refusal: the bridge was reached, but somebody else has the name now. */
function whoseName(error: unknown): unknown {
  const { cause } = error instanceof BridgeError ? error : {};
  return cause instanceof BridgeError && cause.code === 'SERVER_EXISTS' ? cause : error;
}

export interface ServerIntroduction {
  readonly name: string;
  /** The program behind the server, for people. */
  readonly program: string;
  readonly version: string;
  /** A sentence about where to write another name. */
  readonly renaming: string;
}

export interface RegisteredLinkHandler {
  frame(frame: Frame): void;
  /** Called once, last. */
  closed(): void;
}

const ANSWER_MS = 10_000;

/** One connection of a registered server. */
export class RegisteredLink {
  readonly socket: Socket;
  /** Called when somebody has decided about the server meanwhile. */
  stateChanged: (state: DialInState) => void = () => undefined;
  #state: DialInState;
  #farewell: LeavingReason | undefined;
  readonly #rpc: RpcSession;

  private constructor(socket: Socket, rpc: RpcSession, state: DialInState) {
    this.socket = socket;
    this.#state = state;
    this.#rpc = rpc;
  }

  /**
   * Connects with `open`, which may use more than the socket. Rejects with the reason if the bridge does not take the
   * server.
   */
  static async open(path: string, hello: ServerIntroduction, open = openBridgeSocket): Promise<RegisteredLink> {
    const { name, program, version } = hello;
    const socket = await open(path);
    const rpc = new RpcSession(socket, { maxFrameBytes: MAX_TEXT_BYTES, isPassedOn: true });
    const clientInfo = { name: program, version };
    const _meta = { 'mcp-bridge/role': 'server', 'mcp-bridge/serverName': name };
    try {
      const { result } = await rpc.initialize({ clientInfo, _meta }, ANSWER_MS);
      if (!isRecord(result)) throw notBridge(path);
      return new RegisteredLink(socket, rpc, stateIn(result));
    } catch (error) {
      socket.destroy();
      throw error instanceof RpcFailure ? registrationError(error, path, hello) : error;
    }
  }

  /** The decision whether others may see the server. */
  get state(): DialInState {
    return this.#state;
  }

  /** The reason why the daemon has gone, if it ended in order. */
  get farewell(): LeavingReason | undefined {
    return this.#farewell;
  }

  /** True for a notification of the bridge to this side, which the server must not get. */
  takes(method: string, params: () => unknown): boolean {
    if (method === LEAVING) {
      this.#farewell = REASONS.find((reason) => reason === membersOf(params()).reason);
      return true;
    }
    if (method !== SERVER_STATE) return false;
    const state = DIAL_IN_STATES.find((known) => known === membersOf(params()).state);
    if (state === undefined) return true; // it comes from a later bridge
    this.#state = state;
    this.stateChanged(state);
    return true;
  }

  /** Hands on the frames that have come, and those to come. */
  listen(handler: RegisteredLinkHandler): void {
    this.#rpc.passTo(
      (frame) => handler.frame(frame),
      () => handler.closed(),
    );
  }
}

const REASONS: readonly LeavingReason[] = ['stop', 'restart', 'idle'];

function stateIn(result: unknown): DialInState {
  const state = membersOf(membersOf(result)._meta)['mcp-bridge/serverState'];
  return DIAL_IN_STATES.find((known) => known === state) ?? 'waiting';
}

function registrationError({ kind, refusal }: RpcFailure, path: string, hello: ServerIntroduction): BridgeError {
  if (kind === 'foreign') return notBridge(path);
  if (refusal !== undefined) return refusalError(refusal, hello);
  const how = kind === 'timeout' ? 'has not answered' : 'has closed the connection';
  return new BridgeError('DAEMON_UNRESPONSIVE', `The daemon at ${path} ${how}`, { hint: 'See: mcp-bridge status' });
}

/** Makes the error of a refusal. `REQUEST_REFUSED` is final; with any other code the next attempt may succeed. */
function refusalError({ number, code, message, hint, error }: Refusal, { renaming }: ServerIntroduction): BridgeError {
  const isForNow = code === 'SERVER_EXISTS' || code === 'SHUTTING_DOWN';
  // A daemon without room refuses a connection before it has read anything, and without a code.
  const unsaid = number === INTERNAL_ERROR && code === '' ? 'DAEMON_UNRESPONSIVE' : 'REQUEST_REFUSED';
  const remedy = code === 'SERVER_EXISTS' ? `${renaming} Those that there are: mcp-bridge servers` : hint;
  return new BridgeError(isForNow ? code : unsaid, message || 'The bridge refuses it', {
    ...(remedy !== undefined && { hint: remedy }),
    cause: error,
  });
}
