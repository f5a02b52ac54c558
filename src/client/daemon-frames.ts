// Carries a daemon's frames to the client. It counts and looks at each frame. Messages between this side and the daemon
// go no further.

import { KEYS_2025 } from '../protocol/keys-2025.ts';
import { membersOf, textOf } from '../util/json-value.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { FrameHead, idOf } from '../wire/frame-head.ts';
import { eachFrame, joined } from '../wire/frame-pieces.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import { findMembers } from '../wire/json-members.ts';
import { isRequestId, type RequestId } from '../wire/request-id.ts';
import { replaced, startsWith } from './bytes.ts';
import { MOST_LINE, MOST_TEXT } from './client-frames.ts';
import type { ClientLedger } from './client-ledger.ts';
import { jsonOf, LISTS, readWelcome, type Welcome, withoutResumption } from './introduction.ts';
import { notification } from './own-messages.ts';
import type { Farewell } from './reconnect-policy.ts';
import type { Refusal } from './rpc-refusal.ts';
import type { UnreadAnswersPorts } from './unread-traffic.ts';

export interface DaemonFramesPorts {
  /** Whole frames for the client, each with its newline. */
  readonly deliverAll: (b: Buffer, start: number, end: number) => void;
  /** A frame for the client. */
  readonly deliver: (b: Buffer, start: number, end: number) => void;
  /** Called with a long frame, in pieces that hold it and its newline. */
  readonly deliverLong: (pieces: readonly Buffer[], bytes: number) => void;
  /** Called when an `initialize` was answered: the client's, or one of this side's own. */
  readonly answered: (answer: Welcome | Refusal) => void;
  /** Called when the daemon says farewell. */
  readonly leaving: (farewell: Farewell) => void;
}

const NEWLINE_BYTE = 0x0a;
const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';

const BRIDGE: Buffer = Buffer.from('"bridge/');
const RECEIVED: Buffer = Buffer.from('"bridge/received"');
const LEAVING: Buffer = Buffer.from('"bridge/leaving"');
const CANCELLED: Buffer = Buffer.from('"notifications/cancelled"');
const ACKNOWLEDGED: Buffer = Buffer.from('"notifications/subscriptions/acknowledged"');

export class DaemonFrames {
  /** True while this side says `initialize` by itself: nothing before the answer is for the client. */
  isGreeting = false;
  /** The id of an `initialize` of this side's own. */
  greetingId: string | undefined;
  /** The daemon's last error that answers no request. */
  lastWord = '';
  readonly #ledger: ClientLedger;
  readonly #ports: DaemonFramesPorts;
  readonly #unreadPorts: UnreadAnswersPorts;
  readonly #head = new FrameHead();
  readonly #envelope = new Envelope(KEYS_2025);

  constructor(ledger: ClientLedger, ports: DaemonFramesPorts) {
    this.#ledger = ledger;
    this.#ports = ports;
    this.#unreadPorts = {
      deliverAll: ports.deliverAll,
      frame: (b, start, end) => this.frame(b, start, end),
      mayGoOn: () => ledger.mayPassUnread,
    };
  }

  /** Takes whole frames, each with its newline. */
  frames(b: Buffer, start: number, end: number): void {
    const isShort = end - start <= MOST_TEXT && b.indexOf(NEWLINE_BYTE, start) - start <= MOST_LINE;
    if (!isShort || this.#isShakingHands)
      return eachFrame(b, start, end, (piece, from, to) => this.frame(piece, from, to));
    const { requests, stream, traffic } = this.#ledger;
    if (traffic !== undefined && this.#ledger.mayPassUnread) {
      start = traffic.passAnswers(b, start, end, this.#unreadPorts);
      if (start === end) return;
    }
    const text = b.latin1Slice(start, end);
    const head = this.#head;
    let runAt = 0;
    let count = 0;
    let at = 0;
    const deliverRun = (): void => {
      if (at === runAt) return;
      stream.received(at - runAt, count);
      count = 0;
      this.#ports.deliverAll(b, start + runAt, start + at);
    };
    while (at < text.length) {
      if (head.isAnswerLine(text, at) && !this.#ledger.isOwn(head.idText)) {
        if (traffic === undefined || traffic.isEmpty) requests.answeredAs(head.idText, !head.isError);
        else traffic.answered(b, start + at, start + head.next);
        at = head.next;
        count++;
        continue;
      }
      deliverRun();
      const newline = text.indexOf('\n', at);
      eachFrame(b, start + at, start + newline + 1, (piece, from, to) => this.frame(piece, from, to));
      at = newline + 1;
      runAt = at;
    }
    deliverRun();
  }

  frame(b: Buffer, start: number, end: number): void {
    if (this.#isShakingHands || !this.#head.isAnswer([b.subarray(start, end + 1)])) return this.#whole(b, start, end);
    this.#ledger.stream.received(end - start + 1);
    if (this.#isForClient()) this.#ports.deliver(b, start, end);
  }

  /** Takes a long frame, in pieces that hold it and its newline. */
  longFrame(pieces: readonly Buffer[], bytes: number): void {
    if (this.#isShakingHands || !this.#head.isAnswer(pieces)) return this.#whole(joined(pieces, bytes), 0, bytes - 1);
    this.#ledger.stream.received(bytes);
    if (this.#isForClient()) this.#ports.deliverLong(pieces, bytes);
  }

  /** True if an answer to `initialize` may come next; it must be read. */
  get #isShakingHands(): boolean {
    return this.isGreeting || this.greetingId !== undefined || this.#ledger.hello !== undefined;
  }

  /**
   * True if an answer is for the client. The daemon has read all of the answer, and this side only its ends; it answers
   * the request with its id.
   */
  #isForClient(): boolean {
    const { idText, isError } = this.#head;
    if (this.#ledger.isOwn(idText)) return !this.#ledger.takeOwn(idOf(idText));
    const { requests, traffic } = this.#ledger;
    if (traffic === undefined || traffic.isEmpty) requests.answeredAs(idText, !isError);
    else traffic.answeredAs(idText, isError);
    return true;
  }

  #whole(b: Buffer, start: number, end: number): void {
    const envelope = this.#envelope;
    const isRead = envelope.scan(b, start, end, DEEPEST);
    if (isRead && envelope.kind === 'response' && this.#isWelcome(b, start, end)) return;
    if (this.isGreeting || (isRead && this.#isAboutConnection(b))) return this.#hearOut(b, start, end);
    this.#ledger.stream.received(end - start + 1);
    if (!isRead) return this.#ports.deliver(b, start, end);
    switch (envelope.kind) {
      case 'response':
        return this.#answer(b, start, end);
      case 'request':
        return this.#question(b, start, end);
      case 'notification':
        if (!this.#heed(b, start, end)) this.#ports.deliver(b, start, end);
    }
  }

  /** True for the answer to an `initialize`. It is not counted, because counting begins behind it. */
  #isWelcome(b: Buffer, start: number, end: number): boolean {
    const { hello } = this.#ledger;
    if (hello === undefined && this.greetingId === undefined) return false;
    const id = this.#envelope.id(b, Field.id);
    if (id === undefined) return false;
    if (id === this.greetingId) {
      this.greetingId = undefined;
      this.#ledger.takeOwn(id);
      this.#ports.answered(readWelcome(b, start, end));
      return true;
    }
    if (id !== hello?.id) return false;
    this.#welcomed(b, start, end);
    return true;
  }

  /**
   * True for an error that answers nothing the client has said. It concerns the connection, and another connection can
   * be made.
   */
  #isAboutConnection(b: Buffer): boolean {
    const isResponse = this.#ledger.isSilent && this.#envelope.kind === 'response';
    return isResponse && this.#envelope.id(b, Field.id) === undefined;
  }

  #hearOut(b: Buffer, start: number, end: number): void {
    const envelope = this.#envelope;
    if (envelope.fault !== undefined || !envelope.has(Field.error)) return;
    const { message } = membersOf(membersOf(JSON.parse(b.toString('utf8', start, end))).error);
    this.lastWord = textOf(message);
  }

  /** Called when the client's own `initialize` was answered. */
  #welcomed(b: Buffer, start: number, end: number): void {
    const ledger = this.#ledger;
    const answer = readWelcome(b, start, end);
    if ('token' in answer) {
      ledger.welcomed(answer);
      const shown = this.#withoutResumption(b, start, end);
      this.#ports.deliver(shown, 0, shown.length - 1);
    } else {
      ledger.refused();
      this.#ports.deliver(b, start, end);
    }
    this.#ports.answered(answer);
  }

  #withoutResumption(b: Buffer, start: number, end: number): Buffer {
    const result = findMembers(b, this.#envelope.from(Field.result), ['_meta'])?.spans.get('_meta');
    if (result === undefined) return Buffer.concat([b.subarray(start, end), Buffer.from('\n')]);
    return withoutResumption(b, { start, end }, result);
  }

  #answer(b: Buffer, start: number, end: number): void {
    this.#ledger.traffic?.settle();
    const id = this.#envelope.id(b, Field.id);
    if (id !== undefined) {
      if (this.#ledger.takeOwn(id)) return;
      this.#ledger.requests.answered(id, this.#envelope.has(Field.result));
    } else if (this.#envelope.has(Field.error)) this.#ledger.requests.settle(); // one of them was refused
    this.#ports.deliver(b, start, end);
  }

  #question(b: Buffer, start: number, end: number): void {
    const envelope = this.#envelope;
    const id = envelope.id(b, Field.id);
    const text = id === undefined ? undefined : this.#ledger.questions.asked(id, envelope.raw(b, Field.id));
    this.#deliver(b, { start, end }, Field.id, text);
  }

  /** True if the notification was for this side alone, or has been delivered. */
  #heed(b: Buffer, start: number, end: number): boolean {
    const envelope = this.#envelope;
    const method = envelope.from(Field.method);
    if (startsWith(b, method, BRIDGE)) return this.#heedDaemon(b, start, end);
    if (startsWith(b, method, ACKNOWLEDGED)) return this.#heedSubscription(b, start, end);
    if (!startsWith(b, method, CANCELLED)) return false;
    const id = envelope.id(b, Field.requestId);
    const text = id === undefined ? undefined : this.#ledger.questions.takenBack(id);
    this.#deliver(b, { start, end }, Field.requestId, text);
    return true;
  }

  /**
   * Called when a subscription has begun. Returns true if an earlier daemon has said so before; then the client hears
   * what may have changed.
   */
  #heedSubscription(b: Buffer, start: number, end: number): boolean {
    const { _meta, notifications } = membersOf(membersOf(JSON.parse(b.toString('utf8', start, end))).params);
    const id = membersOf(_meta)[SUBSCRIPTION_ID];
    const request = isRequestId(id) ? this.#ledger.requests.get(id) : undefined;
    if (request === undefined) return false;
    request.sendings = 1; // this daemon has not ended on it
    if (!request.hasBegun) {
      request.hasBegun = true;
      return false;
    }
    for (const line of changesSince(request.idText, membersOf(notifications)))
      this.#ports.deliver(line, 0, line.length - 1);
    return true;
  }

  #heedDaemon(b: Buffer, start: number, end: number): boolean {
    const method = this.#envelope.from(Field.method);
    const isLeaving = startsWith(b, method, LEAVING);
    if (!isLeaving && !startsWith(b, method, RECEIVED)) return false;
    if (this.#ledger.stream.token === undefined) return false;
    const { bytes, open, received, reason, unsent } = membersOf(
      membersOf(JSON.parse(b.toString('utf8', start, end))).params,
    );
    if (isLeaving && typeof received === 'number')
      this.#ports.leaving({ received, reason: textOf(reason), unsent: idsIn(unsent) });
    if (!isLeaving && typeof bytes === 'number') {
      this.#ledger.traffic?.confirmed(bytes, open);
      this.#ledger.stream.acknowledged(bytes);
    }
    return true;
  }

  /** Delivers a frame. If there is a `text`, it replaces that of a field. */
  #deliver(b: Buffer, frame: { start: number; end: number }, field: Field, text: string | undefined): void {
    if (text === undefined) return this.#ports.deliver(b, frame.start, frame.end);
    const respelled = replaced(b, frame, { ...this.#envelope.span(field), text });
    this.#ports.deliver(respelled, 0, respelled.length - 1);
  }
}

/** Returns the notices for a subscription after a time without a daemon. The id is as spelled. */
function changesSince(idText: string, wanted: Readonly<Record<string, unknown>>): Buffer[] {
  const tell = (what: string, about: string): Buffer =>
    notification(`notifications/${what}`, `{${about}"_meta":{"${SUBSCRIPTION_ID}":${idText}}}`);
  const lists = LISTS.filter((list) => wanted[`${list}ListChanged`] === true);
  const { resourceSubscriptions: uris } = wanted;
  return [
    ...lists.map((list) => tell(`${list}/list_changed`, '')),
    ...(Array.isArray(uris) ? uris : []).map((uri) => tell('resources/updated', `"uri":${jsonOf(uri)},`)),
  ];
}

/** Reads the ids; older daemons send none. */
function idsIn(unsent: unknown): RequestId[] {
  return Array.isArray(unsent) ? unsent.filter((id: unknown) => isRequestId(id)) : [];
}
