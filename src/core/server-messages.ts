// What a frame of a server means, and whom it goes to: an answer to the one who asked, a question to the one whose call it
// belongs to (questions.ts), a notification to those whom it concerns (server-notices.ts).

import { BridgeError } from '../util/bridge-error.ts';
import { cutBatch, MOST_IN_BATCH, messageIn } from '../wire/batch.ts';
import { Envelope, Field } from '../wire/envelope.ts';
import { answeredId, endsOf, type FrameEnds } from '../wire/frame-ends.ts';
import type { Frame, FrameSink } from '../wire/frame-splitter.ts';
import type { Outbox } from '../wire/outbox.ts';
import { Splice } from '../wire/splice.ts';
import { type Call, serverRequestIdAt } from './call.ts';
import type { CallTable } from './call-table.ts';
import { BATCH_VERSION, methodOf } from './era/era-2025.ts';
import { REGISTERED_ALREADY } from './frame-refusal.ts';
import type { InstanceContext } from './instance-context.ts';
import { METHOD_NOT_FOUND, rpcError } from './rpc-error.ts';
import { ServerNotices, type ServerNoticesPorts } from './server-notices.ts';
import { answerServer } from './server-question.ts';

/** The parts of an instance that messages are about. */
export interface ServerMessagesPorts extends ServerNoticesPorts {
  readonly outbox: () => Outbox | undefined;
  /** Whether the server may send several messages in one array. */
  readonly mayBatch: () => boolean;
}

const NOT_OFFERED: string = rpcError(METHOD_NOT_FOUND, 'The bridge offered no such capability');

/** Why an answer in a batch is not passed on. */
const NO_BATCHES = `it is in a batch, which only servers that have settled on ${BATCH_VERSION} may send`;
const TOO_LONG_A_BATCH = `it is in a batch of more than ${MOST_IN_BATCH} messages`;

/** A server may send a hundred thousand such lines a second: the log has one of them in so long. */
const LOGGED_EVERY_MS = 10_000;

/** Shared by all servers: a frame is dealt with before the next one is looked at. */
const envelope = new Envelope();
const splice = new Splice();

export class ServerMessages implements FrameSink {
  readonly #server: string;
  readonly #context: InstanceContext;
  readonly #calls: CallTable;
  readonly #ports: ServerMessagesPorts;
  readonly #notices: ServerNotices;
  #loggedMs = Number.NEGATIVE_INFINITY;
  /** Messages that were dropped since the log was told. */
  #unlogged = 0;

  constructor(server: string, context: InstanceContext, ports: ServerMessagesPorts) {
    this.#server = server;
    this.#context = context;
    this.#calls = ports.calls;
    this.#ports = ports;
    this.#notices = new ServerNotices(context, ports);
  }

  frame(b: Buffer, start: number, end: number): void {
    const { limits, counters, audit } = this.#context;
    envelope.readsResult = audit !== undefined;
    const isSound = envelope.scan(b, start, end, limits.maxDepth);
    // A server that leaves out "jsonrpc" can still be understood; its clients may be as tolerant.
    if (!isSound && envelope.fault !== 'not-jsonrpc-2.0') {
      if (envelope.fault === 'batch') return this.#onBatch(b, start);
      counters.serverNoise++;
      this.#context.logger.debug('a line that is no JSON-RPC', { server: this.#server, fault: envelope.fault });
      return this.#failRefused(b, start, end, envelope.fault ?? 'not-json');
    }
    switch (envelope.kind) {
      case 'response':
        return this.#onResponse(b, start, end);
      case 'notification':
        return this.#notices.take(b, start, end, envelope);
      case 'request':
        return this.#onRequest({ b, start, end });
    }
  }

  /** Of one that is refused nothing is passed on; but who waits for an answer in it need not wait for its time to be up. */
  #onBatch(b: Buffer, start: number): void {
    const { messages, others, isTooLong } = cutBatch(b, start);
    const refusal = isTooLong ? TOO_LONG_A_BATCH : this.#ports.mayBatch() ? undefined : NO_BATCHES;
    if (refusal !== undefined || others.length > 0 || messages.length === 0) this.#context.counters.serverNoise++;
    for (const place of messages) {
      const message = messageIn(b, place);
      if (refusal === undefined) this.frame(message.b, message.start, message.end);
      else this.#refuse(message, refusal);
    }
  }

  #refuse({ b, start, end }: Frame, why: string): void {
    envelope.scan(b, start, end, this.#context.limits.maxDepth);
    this.#failRefused(b, start, end, why);
  }

  /** An answer that cannot be passed on is the error of the one who waits for it, if it is certain who that is. */
  #failRefused(b: Buffer, start: number, end: number, why: string): void {
    if (envelope.fault === 'not-json' || envelope.has(Field.method)) return;
    // Decoding what is nested too deeply would take thirty times its size.
    const id = envelope.fault === 'too-deep' ? answeredId(endsOf(b, start, end)) : certainId(b);
    if (id !== undefined) this.#failAnswer(id, why);
  }

  #failAnswer(id: number, why: string): void {
    const call = this.#calls.takeSent(id, false);
    if (call === undefined) return void this.#calls.own.take(id, undefined);
    const message = `Server ${this.#server} gave an answer that cannot be passed on: ${why}`;
    this.#calls.fail(call, new BridgeError('SERVER_ANSWER_REFUSED', message, { server: this.#server }));
    this.#ports.questions.callEnded();
  }

  overflowed(): void {
    this.#context.counters.oversizedFrames++;
  }

  badFrame(reason: 'not-utf8' | 'too-long', ends: FrameEnds): void {
    this.#context.counters.serverNoise++;
    this.#logDropped(reason);
    const id = answeredId(ends);
    if (id !== undefined) this.#failAnswer(id, reason);
  }

  #logDropped(reason: string): void {
    const { clock, logger } = this.#context;
    this.#unlogged++;
    if (clock.now() - this.#loggedMs < LOGGED_EVERY_MS) return;
    logger.warn('a message was dropped', { server: this.#server, reason, count: this.#unlogged });
    this.#loggedMs = clock.now();
    this.#unlogged = 0;
  }

  #onResponse(b: Buffer, start: number, end: number): void {
    const id = serverRequestIdAt(b, Field.id, envelope);
    const call = this.#calls.takeSent(id, envelope.has(Field.result));
    if (call === undefined) {
      if (this.#calls.own.take(id, { b, start, end }, envelope)) return;
      this.#context.counters.strayResponses++;
      return this.#calls.answeredLate(id);
    }
    const hasResult = envelope.has(Field.result);
    call.onEnd?.(hasResult ? 'result' : 'error');
    if (!hasResult) this.#noteElicitations(call, b);
    if (hasResult || call.onRefusal === undefined) this.#answer(call, b, start, end);
    else this.#calls.askElsewhere(call, call.onRefusal);
    this.#ports.questions.callEnded();
  }

  #answer(call: Call, b: Buffer, start: number, end: number): void {
    if (call.onAnswer !== undefined) {
      const answer = call.onAnswer({ b, start, end }, envelope);
      ({ b, start, end } = answer);
      envelope.scan(b, start, end, this.#context.limits.maxDepth);
    }
    const { session } = call;
    call.record?.answered(b, envelope);
    splice.clear().replace(envelope.from(Field.id), envelope.to(Field.id), call.idText);
    splice.send(session.link.outbox, b, start, end);
    this.#context.counters.responses++;
    session.close(call);
    if (call.makesTask) this.#notices.taskBegun();
    this.#ports.crowded.check(session);
  }

  /** An error may ask for visits to pages, of whose end the client is told. */
  #noteElicitations({ session }: Call, b: Buffer): void {
    this.#ports.questions.elicitations.noteThoseIn(envelope.decode(b, Field.error), session);
  }

  #onRequest(frame: Frame): void {
    const { b } = frame;
    const outbox = this.#ports.outbox();
    if (outbox === undefined) return;
    if (outbox.blockedBytes > this.#context.limits.maxQueuedBytesPerClient) {
      this.#context.counters.notificationsDropped++; // it asks and asks, and reads no answer
      return;
    }
    const { role } = methodOf(b, envelope);
    if (role === 'sampling' || role === 'elicitation' || role === 'roots')
      return this.#ports.questions.ask(role, frame, envelope);
    if (role === 'task' || role === 'task-result') return this.#ports.questions.askForClientTask(frame, envelope);
    const refusal = role === 'initialize' ? REGISTERED_ALREADY : NOT_OFFERED;
    answerServer(outbox, envelope.raw(b, Field.id), role === 'ping' ? '"result":{}' : `"error":${refusal}`);
  }
}

/** The one id at the top of a message that was read whole. */
function certainId(b: Buffer): number | undefined {
  if ((envelope.ambiguous & (1 << Field.id)) !== 0) return undefined;
  const id = envelope.id(b, Field.id);
  return typeof id === 'number' ? id : undefined;
}
