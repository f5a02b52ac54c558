// The end of what was sent in a session, which nobody has read: what a daemon that went in order says it has not looked
// at, and what the kernel did not take. It waits for the next daemon, as if it had never been sent.

import type { ClientFrames } from './client-frames.ts';
import type { Farewell } from './comeback.ts';
import type { Conversation } from './conversation.ts';
import type { DaemonLink } from './daemon-link.ts';

interface Unread {
  readonly from: number;
  /** Undefined if so much is not kept. */
  readonly pieces: readonly Buffer[] | undefined;
}

export class UnreadFrames {
  readonly #conversation: Conversation;
  readonly #fromClient: ClientFrames;
  /** What the last connection did not take: only another session is sent it as new. */
  #neverLeft: Unread | undefined;

  constructor(conversation: Conversation, fromClient: ClientFrames) {
    this.#conversation = conversation;
    this.#fromClient = fromClient;
  }

  /** A connection has dropped, whose daemon may have said farewell. */
  dropped({ refusedBytes }: Pick<DaemonLink, 'refusedBytes'>, farewell: Farewell | undefined): void {
    if (farewell !== undefined) return this.#left(farewell.received);
    const { stream } = this.#conversation;
    this.#neverLeft = undefined;
    if (stream.token === undefined || refusedBytes === 0) return;
    const from = Math.max(0, stream.sentBytes - refusedBytes);
    this.#neverLeft = { from, pieces: stream.sentFrom(from) };
  }

  /** A daemon has gone in order, and has looked at so many bytes: the session has ended. */
  #left(receivedBytes: number): void {
    const { stream } = this.#conversation;
    this.#takeBack({ from: receivedBytes, pieces: stream.sentFrom(receivedBytes) });
    stream.token = undefined;
  }

  /** The session does not go on. */
  sessionEnded(): void {
    if (this.#neverLeft !== undefined) this.#takeBack(this.#neverLeft);
  }

  #takeBack({ from, pieces }: Unread): void {
    this.#neverLeft = undefined;
    const { requests, waiting } = this.#conversation;
    const unseen = requests.all().filter(({ position }) => position !== undefined && position > from);
    for (const request of unseen) {
      request.position = undefined;
      request.sendings--;
    }
    const again = pieces === undefined ? [] : this.#fromClient.repeatable(pieces);
    const found = new Set(again.map(({ request }) => request));
    // All, if so much is not kept; else only those that share their id with another one.
    const missed = unseen.filter((request) => !found.has(request));
    waiting.unshift(
      ...again,
      ...missed.map((request) => ({ b: request.b, start: request.start, end: request.end, request })),
    );
  }
}
