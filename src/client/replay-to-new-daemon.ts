// Brings a new daemon up to date once it has answered the client's `initialize`. The daemon gets the client's settings
// and open requests again, and the client hears what may have changed. Also takes back frames that no daemon has read.

import type { ClientFrames } from './client-frames.ts';
import type { ClientLedger, WaitingFrame } from './client-ledger.ts';
import type { OpenRequest } from './open-requests.ts';
import { errorAnswer, notification, OUTCOME_UNKNOWN, request } from './own-messages.ts';
import type { Farewell } from './reconnect-policy.ts';
import type { NewSession } from './session-resumption.ts';

export interface ReplayPorts {
  /** Sends one frame to the daemon. */
  readonly say: (line: Buffer) => void;
  /** Hands one frame to the client. */
  readonly tell: (line: Buffer) => void;
}

/** A request on which so many daemons have ended is not given to another. */
const MOST_SENDINGS = 3;

/** Notes that the session with the last daemon is over: the requests sent in it may have been done. */
function markMaybeDone({ requests }: ClientLedger): void {
  for (const request of requests.all()) {
    if (request.position === undefined) continue;
    request.position = undefined;
    request.isMaybeDone = true;
  }
}

export function replayToNewDaemon(
  ledger: ClientLedger,
  frames: ClientFrames,
  { say, tell, isGreeted, canRepeat }: ReplayPorts & NewSession,
): void {
  const { requests } = ledger;
  markMaybeDone(ledger);
  if (ledger.isInitialized) say(notification('notifications/initialized'));
  for (const [method, params] of requests.settings()) say(request(ledger.ownId(), method, params));
  const begun = requests.all().filter((one) => one.isMaybeDone);
  const repeated: OpenRequest[] = [];
  for (const one of begun) {
    // If several have one id, only the first can be announced.
    const isFirst = requests.get(one.id) === one;
    const mayRepeat = isFirst && one.sendings < MOST_SENDINGS && (canRepeat || one.isSafe);
    if (mayRepeat) repeated.push(one);
    else {
      requests.close(one);
      tell(errorAnswer(one.idText, OUTCOME_UNKNOWN));
    }
  }
  if (canRepeat && repeated.length > 0)
    say(notification('bridge/again', `{"ids":[${repeated.map(({ idText }) => idText).join(',')}]}`));
  for (const one of repeated) {
    const { b, start, end } = one;
    frames.send({ b, start, end, request: one });
  }
  sendWaiting(ledger, frames);
  if (isGreeted && ledger.isInitialized) tellChanges(ledger, tell);
}

/** Sends the frames that waited for a daemon. */
export function sendWaiting(ledger: ClientLedger, frames: ClientFrames): void {
  for (const frame of ledger.takeWaiting()) {
    const { request } = frame;
    // Skips a request that was cancelled meanwhile, and one that an earlier daemon had: the latter was sent already.
    const isWanted = request === undefined || ledger.requests.isOpen(request);
    if (isWanted && request?.position === undefined) frames.send(frame);
  }
}

function tellChanges({ questions, requests, welcome }: ClientLedger, tell: ReplayPorts['tell']): void {
  const reason = '"reason":"The bridge was restarted"';
  for (const id of questions.abandon()) tell(notification('notifications/cancelled', `{"requestId":${id},${reason}}`));
  for (const list of welcome?.changingLists ?? []) tell(notification(`notifications/${list}/list_changed`));
  for (const uri of requests.subscribed) tell(notification('notifications/resources/updated', `{"uri":${uri}}`));
}

/** Answers every open request with an error, because no daemon can be reached. */
export function failAll(
  ledger: ClientLedger,
  error: { readonly code: string; readonly message: string; readonly hint: string | undefined },
  tell: ReplayPorts['tell'],
): void {
  for (const one of ledger.giveUp()) {
    const wasBegun = one.isMaybeDone || one.position !== undefined;
    const isUnknown = wasBegun && !one.isSafe;
    const said = isUnknown
      ? { ...error, code: OUTCOME_UNKNOWN.code, message: `${error.message}; whether this was done is not known` }
      : error;
    tell(errorAnswer(one.idText, said));
  }
}

interface Unread {
  readonly from: number;
  /** Undefined if there are more bytes than are kept. */
  readonly pieces: readonly Buffer[] | undefined;
}

/** Sent frames that no daemon has read. The next daemon gets them as if they had never been sent. */
export class UnreadFrames {
  readonly #ledger: ClientLedger;
  readonly #fromClient: ClientFrames;
  /** Frames that the last connection did not take. They are sent again only in another session. */
  #neverLeft: Unread | undefined;

  constructor(ledger: ClientLedger, fromClient: ClientFrames) {
    this.#ledger = ledger;
    this.#fromClient = fromClient;
  }

  /** Called when a connection has dropped. Its daemon may have said farewell. */
  dropped(refusedBytes: number, farewell: Farewell | undefined): void {
    if (farewell !== undefined) return this.#left(farewell);
    const { stream } = this.#ledger;
    this.#neverLeft = undefined;
    if (stream.token === undefined || refusedBytes === 0) return;
    const from = Math.max(0, stream.sentBytes - refusedBytes);
    this.#neverLeft = { from, pieces: stream.sentFrom(from) };
  }

  /** Called when a daemon has ended in order after it looked at so many bytes. The session has ended with it. */
  #left({ received, unsent }: Farewell): void {
    const { stream, requests } = this.#ledger;
    this.#takeBack({ from: received, pieces: stream.sentFrom(received) });
    stream.token = undefined;
    // They stand before the bytes that the daemon has not looked at.
    const known = unsent.flatMap((id) => requests.get(id) ?? []);
    const taken = known.filter(({ position }) => position !== undefined);
    for (const request of taken) takeBack(request);
    this.#ledger.waitFirst(taken.map(asWaiting));
  }

  /** Called when the session does not go on. */
  sessionEnded(): void {
    if (this.#neverLeft !== undefined) this.#takeBack(this.#neverLeft);
  }

  #takeBack({ from, pieces }: Unread): void {
    this.#neverLeft = undefined;
    const { requests } = this.#ledger;
    const unseen = requests.all().filter(({ position }) => position !== undefined && position > from);
    for (const request of unseen) takeBack(request);
    const again = pieces === undefined ? [] : this.#fromClient.repeatable(pieces);
    const found = new Set(again.map(({ request }) => request));
    // Contains all of them if the bytes are not kept; else only those that share their id with another one.
    const missed = unseen.filter((request) => !found.has(request));
    this.#ledger.waitFirst([...again, ...missed.map(asWaiting)]);
  }
}

/** Treats the request as not sent: no daemon has had it. */
function takeBack(request: OpenRequest): void {
  request.position = undefined;
  request.sendings--;
}

function asWaiting(request: OpenRequest): WaitingFrame {
  const { b, start, end } = request;
  return { b, start, end, request };
}
