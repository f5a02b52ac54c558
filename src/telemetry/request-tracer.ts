// Follows each request through the events. It becomes a SERVER span, from the first look at it until its answer is
// written, and a CLIENT span per server. No spans are made for traces that are not sent; their times still count in the
// metrics. It runs during each call, so common cases are fast, and it changes nothing.

import type { CallTracing } from '../core/call-tracing.ts';
import type { Events, ObservedCall, ObservedClient, ObservedInstance, WaitReason } from '../core/events.ts';
import { codeIn } from '../protocol/rpc-error.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import { membersOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt } from '../wire/json-grammar.ts';
import { decodedText, methodIn, plainSpelling } from './convention.ts';
import { type Failure, type RequestDetails, RequestTrace, ServerLeg } from './request-trace.ts';
import type { Sampler } from './sampler.ts';
import { RandomIds, type TraceParent, traceParentIn, traceparentMember } from './trace-context.ts';

/** Takes finished requests. */
export interface FinishedRequests {
  /** Called when a request was answered, or nobody waits for it. */
  answered(request: RequestTrace, endedMs: number): void;
  /** Called when a server has answered, or will not. */
  served(leg: ServerLeg): void;
}

export interface TracerOptions {
  readonly sampler: Sampler;
  /** True if servers get the trace context. */
  readonly propagates: boolean;
  readonly showsArguments: boolean;
  readonly showsResults: boolean;
  readonly now: () => number;
  readonly finished: FinishedRequests;
}

const LETTER_T = 0x74;
const QUOTE = 0x22;
const LONGEST_STATE = 512;
const CANCELLED: Failure = { type: 'cancelled' };
const CLIENT_GONE: Failure = { type: 'client-gone' };
const TOOL_ERROR: Failure = { type: 'tool_error' };
const NO_ANSWER: Failure = { type: '_OTHER' };

export class RequestTracer implements CallTracing {
  readonly #options: TracerOptions;
  readonly #ids = new RandomIds();
  readonly #methods = new LastRead(methodIn);
  readonly #targets = new LastRead(plainSpelling);
  /** The request that is being looked at, until it becomes a call or is answered. */
  #current: RequestTrace | undefined;
  /** The request that was looked at last, until another event. */
  #justBegun: RequestTrace | undefined;
  /** The request that a server is just answering. */
  #justServed: RequestTrace | undefined;
  /** The call whose error is being written. */
  #failing: RequestTrace | undefined;
  /** Requests that are answered later without being calls: `initialize`. */
  readonly #pending = new Map<ObservedClient, RequestTrace>();

  constructor(options: TracerOptions, events: Events) {
    this.#options = options;
    events.requestBegun.on((client, frame, envelope) => this.#begin(client, frame, envelope));
    events.callBegun.on((call) => this.#becomeCall(call));
    events.requestTaken.on((client) => this.#taken(client));
    events.resultWritten.on((client) => this.#wroteResult(client));
    events.errorWritten.on((client, error) => this.#wroteError(client, error));
    events.clientLeft.on((client) => this.#settle(client, CLIENT_GONE));
    events.callWaiting.on((call, why) => this.#waits(call, why));
    events.callSent.on((call, server, instance) => this.#sent(call, server, instance));
    events.serverAnswered.on((call, _, hasResult) => this.#served(call, hasResult ? undefined : NO_ANSWER));
    events.serverSilent.on((call) => this.#served(call, NO_ANSWER));
    events.callAnswered.on((call, b, envelope) => this.#answered(call, b, envelope));
    events.callSuspended.on((call) => this.#suspended(call));
    events.callContinued.on((retry, call) => this.#continued(retry, call));
    events.callFailed.on((call, error) => this.#failed(call, error));
    events.callGivenUp.on((call, why) => this.#givenUp(call, why === 'cancelled' ? CANCELLED : CLIENT_GONE));
    events.callEnded.on((call) => this.#ended(call));
    if (options.showsArguments)
      events.toolAimed.on((client, { inner }, b) => {
        const details = this.#current?.client === client ? this.#current.details : undefined;
        if (details !== undefined && inner !== undefined)
          details.aimedArguments = b.toString('utf8', inner.from, inner.to);
      });
  }

  beginsTrace(call: ObservedCall): boolean {
    return traceOf(call)?.parent === undefined;
  }

  memberFor(call: ObservedCall): string {
    const leg = traceOf(call)?.leg;
    if (leg === undefined || !this.#options.propagates) return '';
    return traceparentMember(leg.request.traceId, leg.spanId, leg.request.isSampled);
  }

  #begin(client: ObservedClient, frame: Frame, envelope: Envelope): void {
    const { b } = frame;
    const parent = envelope.has(Field.traceparent) ? parentIn(b, envelope) : undefined;
    const traceId = parent?.traceId ?? this.#ids.traceId();
    const isSampled = this.#options.sampler.admits(traceId, parent);
    const isNamed = envelope.has(Field.name) && byteAt(b, envelope.from(Field.name)) === QUOTE;
    const request = new RequestTrace({
      client,
      method: this.#methods.at(b, envelope.from(Field.method), envelope.to(Field.method)),
      target: isNamed ? this.#targets.at(b, envelope.from(Field.name), envelope.to(Field.name)) : '',
      startedMs: this.#options.now(),
      parent,
      traceId,
      spanId: isSampled ? this.#ids.spanId() : '',
      isSampled,
    });
    if (isSampled) request.details = this.#detailsIn(b, envelope, parent !== undefined);
    this.#current = request;
    this.#justBegun = request;
    this.#justServed = undefined;
  }

  #detailsIn(b: Buffer, envelope: Envelope, hasParent: boolean): RequestDetails {
    const { showsArguments } = this.#options;
    const textAt = (field: Field): string | undefined => {
      if (!envelope.has(field) || envelope.ambiguous.includes(field)) return undefined;
      return decodedText(envelope.raw(b, field));
    };
    const state = hasParent ? textAt(Field.tracestate) : undefined;
    return {
      id: textAt(Field.id) ?? '',
      uri: textAt(Field.uri),
      state: state !== undefined && state.length <= LONGEST_STATE ? state : undefined,
      toolArguments:
        showsArguments && envelope.has(Field.arguments)
          ? b.toString('utf8', envelope.from(Field.arguments), envelope.to(Field.arguments))
          : undefined,
      aimedArguments: undefined,
      result: undefined,
      notes: [],
    };
  }

  #becomeCall(call: ObservedCall): void {
    const current = this.#current;
    if (current === undefined || current.client !== call.session) return;
    call.trace = current;
    this.#current = undefined;
  }

  /** Called when the first look is over: the request has become a call, or was answered. */
  #taken(client: ObservedClient): void {
    const current = this.#current;
    this.#current = undefined;
    this.#justBegun = undefined;
    if (current?.client === client) this.#pending.set(client, current);
  }

  #wroteResult(client: ObservedClient): void {
    if (this.#failing?.client === client) this.#failing.failure = { ...this.#failing.failure, ...TOOL_ERROR };
    else if (this.#current?.client === client) this.#takeCurrent(undefined);
    else if (this.#pending.size > 0) this.#settle(client, undefined);
  }

  #wroteError(client: ObservedClient, error: string): void {
    if (this.#failing?.client === client) {
      const status = statusIn(error);
      this.#failing.failure = { ...this.#failing.failure, type: status, status };
    } else if (this.#current?.client === client) this.#takeCurrent(failureIn(error));
    else if (this.#pending.size > 0) this.#settle(client, failureIn(error));
  }

  #takeCurrent(failure: Failure | undefined): void {
    const current = this.#current;
    this.#current = undefined;
    if (current !== undefined) this.#finish(current, failure);
  }

  #settle(client: ObservedClient, failure: Failure | undefined): void {
    const pending = this.#pending.get(client);
    if (pending === undefined) return;
    this.#pending.delete(client);
    this.#finish(pending, failure);
  }

  #waits(call: ObservedCall, why: WaitReason): void {
    const { details } = traceOf(call) ?? {};
    details?.notes.push({ name: 'mcp_bridge.waiting', atMs: this.#options.now(), why });
  }

  #sent(call: ObservedCall, server: string, instance: ObservedInstance): void {
    const request = traceOf(call);
    if (request === undefined) return;
    if (request.leg !== undefined) this.#finishLeg(request);
    this.#justServed = undefined;
    request.leg = new ServerLeg({
      request,
      instance,
      server,
      spanId: this.#options.propagates || request.isSampled ? this.#ids.spanId() : '',
      requestId: call.serverRequestId,
      // A call that need not wait is sent in the same moment.
      sentMs: this.#justBegun === request ? request.startedMs : this.#options.now(),
      target: call.nameText === '' ? request.target : plainSpelling(call.nameText),
    });
  }

  #served(call: ObservedCall, failure: Failure | undefined): void {
    const request = traceOf(call);
    const leg = request?.leg;
    if (request === undefined || leg === undefined || leg.hasEnded) return;
    leg.endedMs = this.#options.now();
    this.#justServed = request;
    leg.failure = failure === NO_ANSWER ? (request.failure ?? failure) : failure;
    if (request.isOver) this.#finishLeg(request);
  }

  #answered(call: ObservedCall, b: Buffer, envelope: Envelope): void {
    const request = traceOf(call);
    if (request === undefined) return;
    const failure = outcomeIn(b, envelope, this.#options.showsResults);
    if (failure === undefined && !this.#options.showsResults) return;
    request.failure = failure;
    if (request.leg !== undefined) request.leg.failure = failure;
    if (request.details === undefined || !this.#options.showsResults || !envelope.has(Field.result)) return;
    const result = b.toString('utf8', envelope.from(Field.result), envelope.to(Field.result));
    request.details.result = result;
    if (request.leg !== undefined) request.leg.result = result;
  }

  /** Called when a request is answered with questions; its call waits for another request. */
  #suspended(call: ObservedCall): void {
    const request = traceOf(call);
    if (request === undefined) return;
    this.#finish(request, undefined);
  }

  #continued(retry: ObservedCall, call: ObservedCall): void {
    const before = traceOf(call);
    const request = traceOf(retry);
    if (request !== undefined && before !== undefined) request.leg = before.leg;
    if (before !== undefined) before.leg = undefined;
    call.trace = request;
    retry.trace = undefined;
  }

  #failed(call: ObservedCall, error: BridgeError | string): void {
    const request = traceOf(call);
    if (request === undefined) return;
    const code = typeof error === 'string' ? codeIn(error) : error.code;
    const message = typeof error === 'string' ? undefined : error.message;
    const type = code === 'CALL_TIMED_OUT' ? 'timeout' : code === '' ? '_OTHER' : code;
    this.#justServed = undefined;
    request.failure = { type, code, message };
    const { leg } = request;
    if (leg !== undefined && leg.failure === NO_ANSWER) leg.failure = request.failure;
    this.#failing = request;
  }

  #givenUp(call: ObservedCall, failure: Failure): void {
    const request = traceOf(call);
    this.#justServed = undefined;
    if (request !== undefined) request.failure = failure;
  }

  #ended(call: ObservedCall): void {
    const request = traceOf(call);
    if (request === undefined) return;
    if (this.#failing === request) this.#failing = undefined;
    if (request.isOver) return; // answered with questions: its server still works on it
    call.trace = undefined;
    const { leg } = request;
    // Nearly every answer is passed on in the same moment.
    const endedMs = this.#justServed === request && leg !== undefined ? leg.endedMs : this.#options.now();
    this.#justServed = undefined;
    if (leg !== undefined) this.#finishLeg(request);
    this.#finish(request, request.failure, endedMs);
  }

  #finishLeg(request: RequestTrace): void {
    const { leg } = request;
    request.leg = undefined;
    if (leg === undefined) return;
    if (!leg.hasEnded) {
      leg.endedMs = this.#options.now();
      leg.failure ??= request.failure ?? NO_ANSWER;
    }
    this.#options.finished.served(leg);
  }

  #finish(request: RequestTrace, failure: Failure | undefined, endedMs = this.#options.now()): void {
    request.isOver = true;
    request.failure = failure;
    // `control` clients, and servers that dial in, have no view.
    if (failure === undefined && request.client.view === undefined) return;
    this.#options.finished.answered(request, endedMs);
  }
}

/** Caches the last text read from frames: comparing with it costs less than reading again. */
class LastRead<Read> {
  readonly #read: (spelled: string) => Read;
  #spelled = '';
  #last: Read | undefined;

  constructor(read: (spelled: string) => Read) {
    this.#read = read;
  }

  /** The text at b[from, to), in latin1. */
  at(b: Buffer, from: number, to: number): Read {
    if (this.#last !== undefined && to - from === this.#spelled.length && isSpelledAt(b, from, this.#spelled))
      return this.#last;
    this.#spelled = b.latin1Slice(from, to);
    this.#last = this.#read(this.#spelled);
    return this.#last;
  }
}

function isSpelledAt(b: Buffer, from: number, text: string): boolean {
  for (let i = 0; i < text.length; i++) if (b[from + i] !== text.charCodeAt(i)) return false;
  return true;
}

function traceOf({ trace }: ObservedCall): RequestTrace | undefined {
  return trace instanceof RequestTrace ? trace : undefined;
}

function parentIn(b: Buffer, envelope: Envelope): TraceParent | undefined {
  if (envelope.ambiguous.includes(Field.traceparent)) return undefined;
  return traceParentIn(decodedText(envelope.raw(b, Field.traceparent)));
}

/** The code of an error in JSON. */
function statusIn(error: string): string {
  return /^\{"code":(-?\d{1,10})/.exec(error)?.[1] ?? '_OTHER';
}

function failureIn(error: string): Failure {
  const status = statusIn(error);
  const code = codeIn(error);
  return { type: status, status, code: code === status ? undefined : code };
}

/** The outcome of a server's answer; undefined for success. Error texts may repeat arguments. */
function outcomeIn(b: Buffer, envelope: Envelope, showsMessages: boolean): Failure | undefined {
  if (envelope.has(Field.result)) {
    const saysFailed = envelope.has(Field.isError) && byteAt(b, envelope.from(Field.isError)) === LETTER_T;
    return saysFailed ? TOOL_ERROR : undefined;
  }
  const { code, message } = membersOf(envelope.decode(b, Field.error));
  const status = typeof code === 'number' ? String(code) : '_OTHER';
  return { type: status, status, message: showsMessages && typeof message === 'string' ? message : undefined };
}
