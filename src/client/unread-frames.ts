// What was sent in a session and reached nobody: what a daemon that went in order says it has not looked at, or has sent to
// no server, and what the kernel did not take. It waits for the next daemon, as if it had never been sent.

import type { ClientFrames } from './client-frames.ts';
import type { ClientLedger, WaitingFrame } from './client-ledger.ts';
import type { DaemonLink } from './daemon-link.ts';
import type { OpenRequest } from './open-requests.ts';
import type { Farewell } from './reconnect-policy.ts';

interface Unread {
  readonly from: number;
  /** Undefined if so much is not kept. */
  readonly pieces: readonly Buffer[] | undefined;
}

export class UnreadFrames {
  readonly #conversation: ClientLedger;
  readonly #fromClient: ClientFrames;
  /** What the last connection did not take: only another session is sent it as new. */
  #neverLeft: Unread | undefined;

  constructor(conversation: ClientLedger, fromClient: ClientFrames) {
    this.#conversation = conversation;
    this.#fromClient = fromClient;
  }

  /** A connection has dropped, whose daemon may have said farewell. */
  dropped({ refusedBytes }: Pick<DaemonLink, 'refusedBytes'>, farewell: Farewell | undefined): void {
    if (farewell !== undefined) return this.#left(farewell);
    const { stream } = this.#conversation;
    this.#neverLeft = undefined;
    if (stream.token === undefined || refusedBytes === 0) return;
    const from = Math.max(0, stream.sentBytes - refusedBytes);
    this.#neverLeft = { from, pieces: stream.sentFrom(from) };
  }

  /** A daemon has gone in order, and has looked at so many bytes: the session has ended. */
  #left({ received, unsent }: Farewell): void {
    const { stream, requests, waiting } = this.#conversation;
    this.#takeBack({ from: received, pieces: stream.sentFrom(received) });
    stream.token = undefined;
    // They stand before what it has not looked at.
    const known = unsent.flatMap((id) => requests.get(id) ?? []);
    const taken = known.filter(({ position }) => position !== undefined);
    for (const request of taken) takeBack(request);
    waiting.unshift(...taken.map(asWaiting));
  }

  /** The session does not go on. */
  sessionEnded(): void {
    if (this.#neverLeft !== undefined) this.#takeBack(this.#neverLeft);
  }

  #takeBack({ from, pieces }: Unread): void {
    this.#neverLeft = undefined;
    const { requests, waiting } = this.#conversation;
    const unseen = requests.all().filter(({ position }) => position !== undefined && position > from);
    for (const request of unseen) takeBack(request);
    const again = pieces === undefined ? [] : this.#fromClient.repeatable(pieces);
    const found = new Set(again.map(({ request }) => request));
    // All, if so much is not kept; else only those that share their id with another one.
    const missed = unseen.filter((request) => !found.has(request));
    waiting.unshift(...again, ...missed.map(asWaiting));
  }
}

/** No daemon has had it, as if it had not been sent. */
function takeBack(request: OpenRequest): void {
  request.position = undefined;
  request.sendings--;
}

function asWaiting(request: OpenRequest): WaitingFrame {
  const { b, start, end } = request;
  return { b, start, end, request };
}
