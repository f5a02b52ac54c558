// Carries the client's frames to a daemon. It looks at each frame, so that unanswered requests are known. While there
// is no daemon, frames wait.

import { isUtf8 } from 'node:buffer';
import { KEYS_2025 } from '../protocol/keys-2025.ts';
import { batchOf, cutBatch, messageIn } from '../wire/batch.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { FrameHead } from '../wire/frame-head.ts';
import { eachFrame, joined } from '../wire/frame-pieces.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import { replaced, startsWith } from './bytes.ts';
import type { ClientLedger, WaitingFrame } from './client-ledger.ts';
import { FrameRun } from './frame-run.ts';
import { defaultsLine, Introduction, introductionLine } from './introduction.ts';
import { MethodKind, methodKind, type OpenRequest } from './open-requests.ts';
import { errorAnswer, OUTCOME_UNKNOWN, tooLarge } from './own-messages.ts';

export interface ClientFramesOptions {
  /**
   * The additions to `_meta` of the client's `initialize`, for members that the client has not set. Without a
   * handshake, they are said once for all requests.
   */
  readonly meta: Readonly<Record<string, unknown>>;
  /** Sends whole frames. */
  readonly send: (piece: Buffer) => void;
  /** Sends one frame that came in these pieces. */
  readonly sendLong: (pieces: readonly Buffer[]) => void;
  /** Hands a frame to the client. */
  readonly tell: (line: Buffer) => void;
}

const NEWLINE_BYTE = 0x0a;
/** Short lines are read as a text. Texts above this size, or longer lines, would cost more than they bring. */
export const MOST_TEXT = 64 * 1024;
export const MOST_LINE = 4096;

const INITIALIZED: Buffer = Buffer.from('"notifications/initialized"');
const CANCELLED: Buffer = Buffer.from('"notifications/cancelled"');
/** The beginning of methods that this side sends for itself; another daemon does not get those frames. */
const OWN: Buffer = Buffer.from('"bridge/');

export class ClientFrames {
  #isLive = false;
  readonly #ledger: ClientLedger;
  readonly #meta: ClientFramesOptions['meta'];
  readonly #send: ClientFramesOptions['send'];
  readonly #tell: ClientFramesOptions['tell'];
  readonly #head = new FrameHead();
  readonly #envelope = new Envelope(KEYS_2025);
  readonly #run: FrameRun;

  constructor(ledger: ClientLedger, { meta, send, sendLong, tell }: ClientFramesOptions) {
    this.#ledger = ledger;
    this.#meta = meta;
    this.#send = send;
    this.#tell = tell;
    this.#run = new FrameRun(send, sendLong);
  }

  /** True while there is a daemon that takes frames. */
  set isLive(isLive: boolean) {
    this.#isLive = isLive;
  }

  /** True while plain requests may pass unchanged, because the daemon knows their client. */
  get #mayPassOn(): boolean {
    return this.#isLive && this.#ledger.isKnown;
  }

  /** Takes whole frames, each with its newline; they leave with `flush` at the latest. */
  frames(b: Buffer, start: number, end: number): void {
    const isShort = end - start <= MOST_TEXT && end - start <= this.#ledger.maxMessageBytes;
    if (!this.#mayPassOn || !isShort || b.indexOf(NEWLINE_BYTE, start) - start > MOST_LINE)
      return eachFrame(b, start, end, (piece, from, to) => this.frame(piece, from, to));
    const { stream, requests, traffic } = this.#ledger;
    if (traffic !== undefined && this.#ledger.mayPassUnread) {
      const piece = b.subarray(start, end);
      this.#run.flush();
      if (traffic.passSent(piece, this.#send)) return;
    }
    traffic?.settle();
    const head = this.#head;
    const text = b.latin1Slice(start, end);
    let runAt = 0;
    let position = stream.sentBytes + this.#run.bytes;
    for (let at = 0; at < text.length; ) {
      if (head.isRequestLine(text, at)) {
        const { idText, next } = head;
        if (requests.addPlain(idText, b, start + at, start + next - 1, position + next - runAt)) {
          at = next;
          continue;
        }
      }
      if (at > runAt) this.#run.addAll(b, start + runAt, start + at);
      const newline = text.indexOf('\n', at);
      eachFrame(b, start + at, start + newline + 1, (piece, from, to) => this.#whole(piece, from, to));
      at = newline + 1;
      runAt = at;
      position = stream.sentBytes + this.#run.bytes;
    }
    if (text.length > runAt) this.#run.addAll(b, start + runAt, end);
  }

  /** Takes one frame; it leaves with `flush` at the latest. */
  frame(b: Buffer, start: number, end: number): void {
    this.#ledger.traffic?.settle();
    if (this.#mayPassOn && !this.#isTooLarge(start, end) && this.#head.isRequest([b.subarray(start, end + 1)])) {
      const { stream, requests } = this.#ledger;
      const position = stream.sentBytes + this.#run.bytes + end - start + 1;
      if (requests.addPlain(this.#head.idText, b, start, end, position)) return this.#run.add(b, start, end);
    }
    this.#whole(b, start, end);
  }

  /** Takes a long frame, in pieces that hold it and its newline; it leaves with `flush` at the latest. */
  longFrame(pieces: readonly Buffer[], bytes: number): void {
    this.#ledger.traffic?.settle();
    if (this.#mayPassOn && !this.#isTooLarge(0, bytes - 1) && this.#head.isRequest(pieces)) {
      const { stream, requests } = this.#ledger;
      const position = stream.sentBytes + this.#run.bytes + bytes;
      if (requests.addLong(this.#head.idText, pieces, position)) return this.#run.addLong(pieces);
    }
    this.#whole(joined(pieces, bytes), 0, bytes - 1);
  }

  /** Called when a request is on its way to the daemon. */
  #sent(request: OpenRequest): void {
    request.position = this.#ledger.stream.sentBytes + this.#run.bytes;
    request.sendings++;
  }

  #whole(b: Buffer, start: number, end: number): void {
    const { requests } = this.#ledger;
    if (!isUtf8(b.subarray(start, end))) return this.#passUnread({ b, start, end });
    if (!this.#envelope.scan(b, start, end, DEEPEST)) return this.#unreadable(b, start, end);
    if (this.#isTooLarge(start, end)) return this.#refuse(b, start, end);
    switch (this.#envelope.kind) {
      case 'request':
        if (this.#isFirstHello(b)) return this.#introduce(b, start, end);
        return this.#pass({ b, start, end, request: requests.add(this.#envelope, b, start, end) });
      case 'response':
        return this.#answer(b, start, end);
      case 'notification':
        this.#heed(b);
        this.#pass({ b, start, end, request: undefined });
    }
  }

  flush(): void {
    this.#run.flush();
  }

  /** Sends a frame: one of this side's own, or one that waited. */
  send(frame: WaitingFrame): void {
    const { b, start, end, request } = frame;
    const ledger = this.#ledger;
    if (this.#isTooLarge(start, end)) return this.#giveBack(frame); // this daemon may take less than the last one
    const isHello = request !== undefined && request === ledger.hello;
    if (!ledger.isKnown && !isHello) this.#sayDefaults();
    this.#run.add(b, start, end);
    if (request !== undefined) {
      this.#sent(request);
      if (!isHello) return;
      this.#run.flush();
      ledger.becomeKnown();
      ledger.stream.begin();
    } else if (!ledger.isInitialized && this.#isInitialized(b, start, end)) ledger.becomeInitialized();
  }

  /** Says what the client wants to see, for a client without a handshake: it has no `initialize` for that. */
  #sayDefaults(): void {
    const line = defaultsLine(this.#meta);
    this.#run.add(line, 0, line.length - 1);
    this.#ledger.becomeKnown();
  }

  /** Returns the frames that another daemon may get, from pieces that no daemon has looked at. */
  repeatable(pieces: readonly Buffer[]): WaitingFrame[] {
    const repeatable: WaitingFrame[] = [];
    const envelope = this.#envelope;
    const all = Buffer.concat([...pieces]);
    eachFrame(all, 0, all.length, (b, start, end) => {
      if (!envelope.scan(b, start, end, DEEPEST)) repeatable.push({ b, start, end, request: undefined });
      else if (envelope.kind === 'request') {
        const request = this.#ledger.requests.get(envelope.id(b, Field.id));
        if (request !== undefined) repeatable.push({ b, start, end, request });
      } else if (envelope.kind === 'notification' && !startsWith(b, envelope.from(Field.method), OWN))
        repeatable.push({ b, start, end, request: undefined });
    });
    return repeatable;
  }

  #isTooLarge(start: number, end: number): boolean {
    return end - start > this.#ledger.maxMessageBytes;
  }

  /** Refuses a frame that is too large. The daemon would end the session for it, with everything under way. */
  #refuse(b: Buffer, start: number, end: number): void {
    const envelope = this.#envelope;
    const hasId = envelope.id(b, Field.id) !== undefined;
    if (envelope.kind !== 'response' || !hasId)
      return this.#say(hasId ? envelope.raw(b, Field.id) : 'null', start, end);
    // The frame is an answer, and a server waits for it.
    const line = errorAnswer(envelope.raw(b, Field.id), tooLarge(end - start, this.#ledger.maxMessageBytes));
    this.frame(line, 0, line.length - 1);
  }

  /** Answers a frame that waited for a daemon, after that daemon turned out not to take it. */
  #giveBack({ start, end, request }: WaitingFrame): void {
    if (request === undefined) return this.#say('null', start, end);
    this.#ledger.requests.close(request);
    const isUnknown = request.isMaybeDone && !request.isSafe;
    if (isUnknown) this.#tell(errorAnswer(request.idText, OUTCOME_UNKNOWN));
    else this.#say(request.idText, start, end);
  }

  #say(idText: string, start: number, end: number): void {
    this.#tell(errorAnswer(idText, tooLarge(end - start, this.#ledger.maxMessageBytes)));
  }

  #pass(frame: WaitingFrame): void {
    if (this.#isLive) this.send(frame);
    else this.#ledger.wait(frame);
  }

  #isFirstHello(b: Buffer): boolean {
    const { welcome, hello } = this.#ledger;
    if (welcome !== undefined || hello !== undefined) return false;
    const { from, to } = this.#envelope.span(Field.method);
    return methodKind(b, from, to) === MethodKind.initialize;
  }

  #introduce(b: Buffer, start: number, end: number): void {
    const ledger = this.#ledger;
    const { requests } = ledger;
    const line = introductionLine(b, { start, end }, { read: this.#envelope, meta: this.#meta });
    if (line === undefined) return this.#pass({ b, start, end, request: requests.add(this.#envelope, b, start, end) });
    const frame = { b: line, start: 0, end: line.length - 1 };
    this.#envelope.scan(line, 0, frame.end, DEEPEST);
    const request: OpenRequest | undefined = requests.add(this.#envelope, line, 0, frame.end);
    ledger.introduced(request, new Introduction(line));
    this.#pass({ ...frame, request });
  }

  #answer(b: Buffer, start: number, end: number): void {
    const envelope = this.#envelope;
    const id = envelope.id(b, Field.id);
    const fate = id === undefined ? 'pass' : this.#ledger.questions.answered(id);
    if (fate === 'drop') return;
    if (fate === 'pass') return this.#pass({ b, start, end, request: undefined });
    const respelled = replaced(b, { start, end }, { ...envelope.span(Field.id), text: fate.idText });
    this.#pass({ b: respelled, start: 0, end: respelled.length - 1, request: undefined });
  }

  #heed(b: Buffer): void {
    const envelope = this.#envelope;
    if (!startsWith(b, envelope.from(Field.method), CANCELLED)) return;
    const id = envelope.id(b, Field.requestId);
    // Its answer may still come, and then passes; but no other daemon is asked.
    if (id !== undefined) this.#ledger.requests.cancelled(id);
  }

  #isInitialized(b: Buffer, start: number, end: number): boolean {
    const isRead = this.#envelope.scan(b, start, end, DEEPEST) && this.#envelope.kind === 'notification';
    return isRead && startsWith(b, this.#envelope.from(Field.method), INITIALIZED);
  }

  /** Takes a batch apart. A batch that the daemon refuses as a whole stays whole, and the daemon says why. */
  #unreadable(b: Buffer, start: number, end: number): void {
    const batch = this.#envelope.fault === 'batch' && this.#ledger.mayBatch ? cutBatch(b, start) : undefined;
    if (batch === undefined || batch.isTooLong || batch.messages.length === 0)
      return this.#passUnread({ b, start, end });
    for (const place of batch.messages) {
      const message = messageIn(b, place);
      this.frame(message.b, message.start, message.end);
    }
    if (batch.others.length > 0) this.#passUnread(batchOf(b, batch.others));
  }

  #passUnread(frame: Frame): void {
    if (this.#isTooLarge(frame.start, frame.end)) this.#say('null', frame.start, frame.end);
    else this.#pass({ ...frame, request: undefined });
  }
}
