// The server's end of a link to the bridge: connects, says that it is a server and under which name, and hands on what
// the bridge asks.

import type { Socket } from 'node:net';
import { DIAL_IN_STATES, type DialInState, LEAVING, SERVER_STATE } from '../protocol/inbound-server.ts';
import { BridgeError } from '../util/bridge-error.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { type Frame, FrameSplitter } from '../wire/frame-splitter.ts';
import type { LeavingReason } from '../wire/resume-notices.ts';
import { notBridge, openBridgeSocket } from './bridge-socket.ts';
import { valueIn } from './bytes.ts';

export interface DialInHello {
  readonly name: string;
  /** The program that is behind it, for people. */
  readonly program: string;
  readonly version: string;
  /** A sentence on where another name is written. */
  readonly renaming: string;
}

export interface DialledLinkHandler {
  frame(frame: Frame): void;
  /** Once, last. */
  closed(): void;
}

/** As much as `limits.maxMessageBytes` may allow, but no more than fits into a text. */
const MAX_FRAME_BYTES = 512 * 1024 * 1024 - 1024;
const HELLO_ID = 'mcp-bridge/dial-in';
const ANSWER_MS = 10_000;

export class DialledLink {
  readonly socket: Socket;
  /** Told when somebody has decided about the server meanwhile. */
  stateChanged: (state: DialInState) => void = () => undefined;
  #state: DialInState;
  #farewell: LeavingReason | undefined;
  readonly #splitter: FrameSplitter;
  readonly #early: Frame[];

  private constructor(socket: Socket, splitter: FrameSplitter, early: Frame[], state: DialInState) {
    this.socket = socket;
    this.#state = state;
    this.#splitter = splitter;
    this.#early = early;
  }

  /** Rejects with why the bridge does not take it. `open` is how to get to the daemon, if not by its socket alone. */
  static async open(path: string, hello: DialInHello, open = openBridgeSocket): Promise<DialledLink> {
    const socket = await open(path);
    socket.on('error', () => socket.destroy());
    const early: Frame[] = [];
    let answered: (answer: Frame) => void = () => undefined;
    const answer = new Promise<Frame>((resolve) => {
      answered = resolve;
    });
    let hasAnswered = false;
    const splitter = new FrameSplitter(MAX_FRAME_BYTES, {
      frame: (b, start, end) => {
        if (hasAnswered) early.push({ b, start, end });
        else answered({ b, start, end });
        hasAnswered = true;
      },
      overflowed: () => socket.destroy(),
      badFrame: () => socket.destroy(),
    });
    socket.on('data', (chunk: Buffer) => splitter.push(chunk));
    socket.write(`${JSON.stringify(initialize(hello))}\n`);
    const { b, start, end } = await answerOrEnd(answer, socket, path);
    const { result, error } = membersOf(valueIn(b, start, end));
    if (error === undefined && !isRecord(result)) {
      socket.destroy();
      throw notBridge(path);
    }
    if (error === undefined) return new DialledLink(socket, splitter, early, stateIn(result));
    socket.destroy();
    throw refusal(error, hello);
  }

  /** Whether others may see the server. */
  get state(): DialInState {
    return this.#state;
  }

  /** Why the daemon has gone, if it did so in order. */
  get farewell(): LeavingReason | undefined {
    return this.#farewell;
  }

  /** Whether a notification is the bridge's own word to this side; then it is none for the server. */
  takes(method: string, params: () => unknown): boolean {
    if (method === LEAVING) {
      this.#farewell = REASONS.find((reason) => reason === membersOf(params()).reason);
      return true;
    }
    if (method !== SERVER_STATE) return false;
    const state = DIAL_IN_STATES.find((known) => known === membersOf(params()).state);
    if (state === undefined) return true; // of a later bridge
    this.#state = state;
    this.stateChanged(state);
    return true;
  }

  /** Hands on what has come and what comes. */
  listen(handler: DialledLinkHandler): void {
    const { socket } = this;
    this.#splitter.handTo({
      frame: (b, start, end) => handler.frame({ b, start, end }),
      overflowed: () => socket.destroy(),
      badFrame: () => socket.destroy(),
    });
    if (socket.closed) return void setImmediate(() => handler.closed());
    socket.once('close', () => handler.closed());
    for (const frame of this.#early.splice(0)) handler.frame(frame);
  }
}

function initialize({ name, program, version }: DialInHello): object {
  return {
    jsonrpc: '2.0',
    id: HELLO_ID,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: program, version },
      _meta: { 'mcp-bridge/role': 'server', 'mcp-bridge/serverName': name },
    },
  };
}

function answerOrEnd(answer: Promise<Frame>, socket: Socket, path: string): Promise<Frame> {
  return new Promise((resolve, reject) => {
    const unresponsive = (how: string): BridgeError =>
      new BridgeError('DAEMON_UNRESPONSIVE', `The daemon at ${path} ${how}`, { hint: 'See: mcp-bridge status' });
    const timer = setTimeout(() => {
      reject(unresponsive('has not answered'));
      socket.destroy();
    }, ANSWER_MS);
    const closed = (): void => reject(unresponsive('has closed the connection'));
    socket.once('close', closed);
    void answer.then((frame) => {
      socket.off('close', closed);
      clearTimeout(timer);
      resolve(frame);
    });
    socket.once('close', () => clearTimeout(timer));
  });
}

const REASONS: readonly LeavingReason[] = ['stop', 'restart', 'idle'];

function stateIn(result: unknown): DialInState {
  const state = membersOf(membersOf(result)._meta)['mcp-bridge/serverState'];
  return DIAL_IN_STATES.find((known) => known === state) ?? 'waiting';
}

const INTERNAL_ERROR = -32603;

/** `REQUEST_REFUSED` is for good; what is said otherwise may be over in a moment. */
function refusal(error: unknown, { renaming }: DialInHello): BridgeError {
  const { code: number, message, data } = membersOf(error);
  const { code, hint } = membersOf(data);
  const isForNow = code === 'SERVER_EXISTS' || code === 'SHUTTING_DOWN';
  // Whom it has no room for it tells so before it has heard anything of him.
  const unsaid = number === INTERNAL_ERROR && code === undefined ? 'DAEMON_UNRESPONSIVE' : 'REQUEST_REFUSED';
  const remedy = code === 'SERVER_EXISTS' ? `${renaming} Those that there are: mcp-bridge servers` : hint;
  return new BridgeError(isForNow ? code : unsaid, textOf(message) || 'The bridge refuses it', {
    ...(typeof remedy === 'string' && { hint: remedy }),
    cause: error,
  });
}
