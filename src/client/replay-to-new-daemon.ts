// Makes a daemon that knows nothing of a client take the place of one that did, once it has answered the client's
// `initialize`: it is told what the client had set and what is unanswered, and the client what may have changed.

import type { ClientFrames } from './client-frames.ts';
import type { ClientLedger } from './client-ledger.ts';
import { MethodKind } from './method-kind.ts';
import type { OpenRequest } from './open-requests.ts';
import { errorAnswer, notification, OUTCOME_UNKNOWN, request } from './own-messages.ts';
import type { NewSession } from './session-resumption.ts';

export interface RenewalPorts {
  /** Sends one frame to the daemon. */
  readonly say: (line: Buffer) => void;
  /** Hands one frame to the client. */
  readonly tell: (line: Buffer) => void;
}

/** A request that so many daemons have ended on is not given to another. */
const MOST_SENDINGS = 3;

/** The session with the last daemon is over, and what it was sent may have been done. */
function markMaybeDone({ requests }: ClientLedger): void {
  for (const request of requests.all()) {
    if (request.position === undefined) continue;
    request.position = undefined;
    request.isMaybeDone = true;
  }
}

export function renew(
  conversation: ClientLedger,
  frames: ClientFrames,
  { say, tell, isGreeted, canRepeat }: RenewalPorts & NewSession,
): void {
  const { requests } = conversation;
  markMaybeDone(conversation);
  if (conversation.isInitialized) say(notification('notifications/initialized'));
  for (const [method, params] of requests.settings()) say(request(conversation.ownId(), method, params));
  const begun = requests.all().filter((one) => one.isMaybeDone);
  const repeated: OpenRequest[] = [];
  for (const one of begun) {
    // Of several with one id only one can be announced.
    const isFirst = requests.get(one.id) === one;
    const mayRepeat = isFirst && one.sendings < MOST_SENDINGS && (canRepeat || one.kind !== MethodKind.other);
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
  sendWaiting(conversation, frames);
  if (isGreeted && conversation.isInitialized) tellChanges(conversation, tell);
}

/** Sends what waited for a daemon. */
export function sendWaiting(conversation: ClientLedger, frames: ClientFrames): void {
  for (const frame of conversation.waiting.splice(0)) {
    const { request } = frame;
    // One that was cancelled meanwhile is nobody's; one that an earlier daemon had was sent already.
    const isWanted = request === undefined || conversation.requests.isOpen(request);
    if (isWanted && request?.position === undefined) frames.send(frame);
  }
}

function tellChanges({ questions, requests, welcome }: ClientLedger, tell: RenewalPorts['tell']): void {
  const reason = '"reason":"The bridge was restarted"';
  for (const id of questions.abandon()) tell(notification('notifications/cancelled', `{"requestId":${id},${reason}}`));
  for (const list of welcome?.changingLists ?? []) tell(notification(`notifications/${list}/list_changed`));
  for (const uri of requests.subscribed) tell(notification('notifications/resources/updated', `{"uri":${uri}}`));
}

/** Answers everything that is unanswered with an error, because no daemon can be reached. */
export function failAll(
  conversation: ClientLedger,
  error: { readonly code: string; readonly message: string; readonly hint: string | undefined },
  tell: RenewalPorts['tell'],
): void {
  for (const one of conversation.requests.takeAll()) {
    const wasBegun = one.isMaybeDone || one.position !== undefined;
    const isUnknown = wasBegun && one.kind === MethodKind.other;
    const said = isUnknown
      ? { ...error, code: OUTCOME_UNKNOWN.code, message: `${error.message}; whether this was done is not known` }
      : error;
    tell(errorAnswer(one.idText, said));
  }
  conversation.waiting = [];
  conversation.hello = undefined;
}
