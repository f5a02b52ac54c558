// Makes a record of each call: client, tool, arguments, outcome. It builds the records from events and never stores
// them; the AuditTrail does.

import { codeIn } from '../protocol/rpc-error.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt } from '../wire/json-grammar.ts';
import type { AimedTool, Events, NamedTool, ObservedCall, ObservedClient, SpokenVersion } from './events.ts';

export type CallOutcome =
  | 'ok'
  | 'tool-error'
  | 'asked'
  | 'error'
  | 'refused'
  | 'timeout'
  | 'crashed'
  | 'cancelled'
  | 'client-gone';

export interface AuditTrail {
  /** The error that every call gets while calls cannot be recorded; else undefined. */
  readonly refusal: BridgeError | undefined;
  /** Milliseconds on a clock that never jumps. */
  now(): number;
  /** The text to keep of a call's arguments, given as the bytes of their JSON. */
  argumentsText(b: Buffer, from: number, to: number): string;
  /** Takes each call once, at its end. */
  record(call: CallRecord): void;
}

/** Records all calls of tools in the trail. */
export function keepAuditTrail(events: Events, trail: AuditTrail): void {
  const records = new Map<ObservedCall, CallRecord>();
  /** The record of the request at hand, until the request has become a call. */
  let wanted: CallRecord | undefined;
  const wantedBy = (session: ObservedClient): CallRecord | undefined =>
    wanted?.session === session ? wanted : undefined;

  events.toolWanted.on((session, frame, envelope) => {
    wanted = new CallRecord(trail, session, frame, envelope);
  });
  events.toolAimed.on((session, aim, b) => wantedBy(session)?.aim(aim, b));
  events.toolLookedUp.on((session, about) => wantedBy(session)?.lookUp(about));
  events.errorWritten.on((session, error) => wantedBy(session)?.refused(error));
  events.callBegun.on((call) => {
    const record = wantedBy(call.session);
    if (record === undefined) return;
    records.set(call, record);
    wanted = undefined;
  });
  events.toolTaken.on((session) => {
    wantedBy(session)?.end(); // refused, or it would have a call by now
    wanted = undefined;
  });

  events.callRouted.on((call, server, spoken) => records.get(call)?.reached(server, spoken, call.nameText));
  events.callAnswered.on((call, b, envelope) => records.get(call)?.answered(b, envelope));
  events.callSuspended.on((call) => records.get(call)?.settle('asked'));
  events.callContinued.on((retry, call) => {
    const record = records.get(retry);
    records.delete(retry);
    if (record !== undefined) records.set(call, record);
  });
  events.callAnsweredHere.on((call) => records.get(call)?.settle('ok'));
  events.callFailed.on((call, error) => records.get(call)?.failed(error));
  events.callGivenUp.on((call, why) => records.get(call)?.settle(why));
  events.callEnded.on((call) => {
    records.get(call)?.end();
    records.delete(call);
  });
}

export class CallRecord {
  readonly session: ObservedClient;
  readonly askedMs: number;
  readonly requestBytes: number;
  /** True for a retry: the request continues a call that was answered with questions. */
  readonly isContinued: boolean;
  /** The client on another host that asks, by the word of its daemon; undefined for all other calls. */
  readonly clientThere: string | undefined;
  /** '' while the server is not known. */
  server = '';
  /** The server's version of the protocol; '' while that is not known. */
  serverVersion = '';
  /** The tool's own name, or else the client's name for it, as JSON in latin1. */
  toolText: string;
  argumentsBytes = 0;
  argumentsText = '';
  /** The tool that a lookup tool was asked about. */
  about: NamedTool | undefined;
  outcome: CallOutcome | undefined;
  /** The bridge's code for the failure; '' for a failure that the server reported. */
  code = '';
  answerBytes = 0;
  readonly #trail: AuditTrail;
  /** The place of the arguments, until they are noted. */
  #b: Buffer | undefined;
  #from: number;
  #to: number;
  #aim: AimedTool | undefined;
  #spoken: SpokenVersion | undefined;
  /** The total bytes that the client was sent before the answer. */
  #sentBefore = -1;

  constructor(trail: AuditTrail, session: ObservedClient, { b, start, end }: Frame, envelope: Envelope) {
    this.#trail = trail;
    this.session = session;
    this.askedMs = trail.now();
    this.requestBytes = end - start;
    const { principal } = session;
    this.clientThere = principal.kind === 'bus' ? principal.asking.client : undefined;
    this.isContinued = envelope.has(Field.requestState) || envelope.has(Field.inputResponses);
    const isNamed = envelope.has(Field.name) && !envelope.ambiguous.includes(Field.name);
    this.toolText = isNamed ? envelope.raw(b, Field.name) : '';
    this.#b = b;
    this.#from = envelope.from(Field.arguments);
    this.#to = envelope.to(Field.arguments);
  }

  /** Notes the target of a call that comes through another tool; `b` holds its arguments. */
  aim(at: AimedTool, b: Buffer): void {
    this.#aim = at;
    if (at.inner === undefined) return;
    this.#b = b;
    this.#from = at.inner.from;
    this.#to = at.inner.to;
  }

  /** Notes the server, and its name for the tool; '' if the client uses the same name. Drops the frame. */
  reached(server: string, spoken: SpokenVersion, nameText: string): void {
    this.server = server;
    this.#spoken = spoken;
    if (nameText !== '') this.toolText = nameText;
    this.#noteArguments();
  }

  /** Notes the server's answer, which is about to be passed on. */
  answered(b: Buffer, envelope: Envelope): void {
    this.settle(outcomeOfAnswer(b, envelope));
  }

  /** Notes the tool that a lookup tool is asked about. */
  lookUp(about: NamedTool): void {
    this.about = about;
  }

  /** Notes an error that is about to be sent to the client. */
  failed(error: BridgeError | string): void {
    if (typeof error === 'string') this.refused(error);
    else this.settle(outcomeOfCode(error.code), error.code);
  }

  /** The same, for an error in JSON. */
  refused(error: string): void {
    const code = codeIn(error);
    this.settle(outcomeOfCode(code), code);
  }

  /** Sets the outcome. Only the first one counts, because later ones follow from it. */
  settle(outcome: CallOutcome, code = ''): void {
    if (this.outcome !== undefined) return;
    this.outcome = outcome;
    this.code = code;
    this.#sentBefore = this.session.output.writtenBytes;
  }

  /** Ends the record: the answer, if any, was written. */
  end(): void {
    if (this.server === '' && this.#aim !== undefined) this.#takeNamesOf(this.#aim);
    this.#noteArguments();
    this.serverVersion = this.#spoken?.protocolVersion ?? ''; // only now: the call may have had the server started
    if (this.#sentBefore >= 0) this.answerBytes = this.session.output.writtenBytes - this.#sentBefore;
    this.#trail.record(this);
  }

  #takeNamesOf({ server, tool }: NamedTool): void {
    this.server = server;
    if (tool !== '') this.toolText = Buffer.from(JSON.stringify(tool)).toString('latin1');
  }

  #noteArguments(): void {
    if (this.#b === undefined) return;
    if (this.#from >= 0) {
      this.argumentsBytes = this.#to - this.#from;
      this.argumentsText = this.#trail.argumentsText(this.#b, this.#from, this.#to);
    }
    this.#b = undefined;
  }
}

const LETTER_T = 0x74;

/** The outcome of a server's answer. */
export function outcomeOfAnswer(b: Buffer, envelope: Envelope): 'ok' | 'tool-error' | 'error' {
  if (!envelope.has(Field.result)) return 'error';
  const saysFailed = envelope.has(Field.isError) && byteAt(b, envelope.from(Field.isError)) === LETTER_T;
  return saysFailed ? 'tool-error' : 'ok';
}

/** The outcome of a code. Only these codes mean that the server failed; all others mean that it was not asked. */
export function outcomeOfCode(code: string): CallOutcome {
  switch (code) {
    case 'CALL_STOPPED':
      return 'cancelled';
    case 'CALL_TIMED_OUT':
      return 'timeout';
    case 'SERVER_CRASHED':
      return 'crashed';
    case 'AUTH_FAILED':
    case 'QUESTION_UNANSWERED':
    case 'SERVER_ANSWER_REFUSED':
    case 'SERVER_AUTH_REQUIRED':
    case 'SERVER_BROKEN':
    case 'SERVER_START_FAILED':
    case 'SERVER_UNREACHABLE':
    case '-32603':
      return 'error';
    default:
      return 'refused';
  }
}
