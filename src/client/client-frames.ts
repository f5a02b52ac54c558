// What comes from the client on its way to a daemon. Each frame is looked at, so that it is known what is unanswered;
// while there is no daemon, they wait.

import { batchOf, cutBatch, messageIn } from '../wire/batch.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { DEEPEST } from '../wire/json-grammar.ts';
import { replaced, startsWith } from './bytes.ts';
import type { Conversation, WaitingFrame } from './conversation.ts';
import { FrameRun } from './frame-run.ts';
import { Introduction, introductionLine } from './introduction.ts';
import { eachFrame } from './kept-frames.ts';
import { MethodKind, methodKind } from './method-kind.ts';
import type { OpenRequest } from './open-requests.ts';
import { errorAnswer, OUTCOME_UNKNOWN, tooLarge } from './own-messages.ts';

export interface ClientFramesOptions {
  /** Goes into `_meta` of the client's `initialize`, where the client has not set it itself. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** Sends whole frames. */
  readonly send: (piece: Buffer) => void;
  /** Hands a frame to the client. */
  readonly tell: (line: Buffer) => void;
}

const INITIALIZED: Buffer = Buffer.from('"notifications/initialized"');
const CANCELLED: Buffer = Buffer.from('"notifications/cancelled"');
/** What this side says to a daemon of its own, which another daemon is not told. */
const OWN: Buffer = Buffer.from('"bridge/');

export class ClientFrames {
  /** Whether there is a daemon that takes them. */
  isLive = false;
  readonly #conversation: Conversation;
  readonly #meta: ClientFramesOptions['meta'];
  readonly #tell: ClientFramesOptions['tell'];
  readonly #envelope = new Envelope();
  readonly #run: FrameRun;

  constructor(conversation: Conversation, { meta, send, tell }: ClientFramesOptions) {
    this.#conversation = conversation;
    this.#meta = meta;
    this.#tell = tell;
    this.#run = new FrameRun(send);
  }

  /** One frame has come; it leaves with `flush` at the latest. */
  frame(b: Buffer, start: number, end: number): void {
    const { requests } = this.#conversation;
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
    const { stream, hello } = this.#conversation;
    if (this.#isTooLarge(start, end)) return this.#giveBack(frame); // for this daemon, if not for the one before
    this.#run.add(b, start, end);
    if (request !== undefined) {
      request.position = stream.sentBytes + this.#run.bytes;
      request.sendings++;
      if (request !== hello) return;
      this.#run.flush();
      stream.begin();
    } else if (!this.#conversation.isInitialized) this.#conversation.isInitialized = this.#isInitialized(b, start, end);
  }

  /** Of frames that were sent to a daemon which never looked at them, those that another one can be sent. */
  repeatable(pieces: readonly Buffer[]): WaitingFrame[] {
    const repeatable: WaitingFrame[] = [];
    const envelope = this.#envelope;
    for (const piece of pieces)
      eachFrame(piece, (b, start, end) => {
        if (!envelope.scan(b, start, end, DEEPEST)) repeatable.push({ b, start, end, request: undefined });
        else if (envelope.kind === 'request') {
          const request = this.#conversation.requests.get(envelope.id(b, Field.id));
          if (request !== undefined) repeatable.push({ b, start, end, request });
        } else if (envelope.kind === 'notification' && !startsWith(b, envelope.from(Field.method), OWN))
          repeatable.push({ b, start, end, request: undefined });
      });
    return repeatable;
  }

  #isTooLarge(start: number, end: number): boolean {
    return end - start > this.#conversation.maxMessageBytes;
  }

  /** The daemon would end the session for it, with all that is under way. */
  #refuse(b: Buffer, start: number, end: number): void {
    const envelope = this.#envelope;
    const hasId = envelope.id(b, Field.id) !== undefined;
    if (envelope.kind !== 'response' || !hasId)
      return this.#say(hasId ? envelope.raw(b, Field.id) : 'null', start, end);
    // A server waits for this one.
    const line = errorAnswer(envelope.raw(b, Field.id), tooLarge(end - start, this.#conversation.maxMessageBytes));
    this.frame(line, 0, line.length - 1);
  }

  /** What has waited for a daemon that turns out not to take it. */
  #giveBack({ start, end, request }: WaitingFrame): void {
    if (request === undefined) return this.#say('null', start, end);
    this.#conversation.requests.close(request);
    const isUnknown = request.isMaybeDone && request.kind === MethodKind.other;
    if (isUnknown) this.#tell(errorAnswer(request.idText, OUTCOME_UNKNOWN));
    else this.#say(request.idText, start, end);
  }

  #say(idText: string, start: number, end: number): void {
    this.#tell(errorAnswer(idText, tooLarge(end - start, this.#conversation.maxMessageBytes)));
  }

  #pass(frame: WaitingFrame): void {
    if (this.isLive) this.send(frame);
    else this.#conversation.waiting.push(frame);
  }

  #isFirstHello(b: Buffer): boolean {
    const { welcome, hello } = this.#conversation;
    if (welcome !== undefined || hello !== undefined) return false;
    const { from, to } = this.#envelope.span(Field.method);
    return methodKind(b, from, to) === MethodKind.initialize;
  }

  #introduce(b: Buffer, start: number, end: number): void {
    const conversation = this.#conversation;
    const { requests } = conversation;
    const line = introductionLine(b, { start, end }, { read: this.#envelope, meta: this.#meta });
    if (line === undefined) return this.#pass({ b, start, end, request: requests.add(this.#envelope, b, start, end) });
    const frame = { b: line, start: 0, end: line.length - 1 };
    this.#envelope.scan(line, 0, frame.end, DEEPEST);
    const request: OpenRequest | undefined = requests.add(this.#envelope, line, 0, frame.end);
    conversation.introduction = request === undefined ? undefined : new Introduction(line);
    conversation.hello = request;
    this.#pass({ ...frame, request });
  }

  #answer(b: Buffer, start: number, end: number): void {
    const envelope = this.#envelope;
    const id = envelope.id(b, Field.id);
    const fate = id === undefined ? 'pass' : this.#conversation.questions.answered(id);
    if (fate === 'drop') return;
    if (fate === 'pass') return this.#pass({ b, start, end, request: undefined });
    const respelled = replaced(b, { start, end }, { ...envelope.span(Field.id), text: fate.idText });
    this.#pass({ b: respelled, start: 0, end: respelled.length - 1, request: undefined });
  }

  #heed(b: Buffer): void {
    const envelope = this.#envelope;
    if (!startsWith(b, envelope.from(Field.method), CANCELLED)) return;
    const id = envelope.id(b, Field.requestId);
    // Its answer may still come, and then passes; but no daemon is asked again.
    if (id !== undefined) this.#conversation.requests.cancelled(id);
  }

  #isInitialized(b: Buffer, start: number, end: number): boolean {
    const isRead = this.#envelope.scan(b, start, end, DEEPEST) && this.#envelope.kind === 'notification';
    return isRead && startsWith(b, this.#envelope.from(Field.method), INITIALIZED);
  }

  /** A batch is taken apart; what the daemon refuses as one stays one, and the daemon says what it thinks of it. */
  #unreadable(b: Buffer, start: number, end: number): void {
    const batch = this.#envelope.fault === 'batch' && this.#conversation.mayBatch ? cutBatch(b, start) : undefined;
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
