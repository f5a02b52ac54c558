// What is recorded of each call: who has made it, of what, and what became of it. The core fills it in where that happens;
// what is done with it is the business of whoever is given the records.

import { codeIn } from '../protocol/rpc-error.ts';
import type { BridgeError } from '../util/bridge-error.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import { byteAt } from '../wire/json-grammar.ts';
import type { Span } from '../wire/json-members.ts';
import type { Session } from './session.ts';

export type CallOutcome =
  | 'ok'
  | 'tool-error'
  | 'error'
  | 'refused'
  | 'timeout'
  | 'crashed'
  | 'cancelled'
  | 'client-gone';

export interface AuditTrail {
  /** Why no call may be made at present, if so: it could not be recorded. */
  readonly refusal: BridgeError | undefined;
  /** Milliseconds on a clock that never jumps. */
  now(): number;
  /** What is to be kept of a call's arguments, whose JSON these bytes are. */
  argumentsText(b: Buffer, from: number, to: number): string;
  /** Each call once, when it is over. */
  record(call: CallRecord): void;
}

/** A tool of a server as a client names them; '' for what it has not said. */
export interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

/** What a call by another tool is about, such as one by `execute_tool`. */
interface Aim extends NamedTool {
  /** Its arguments, if it has any. */
  readonly inner?: Span;
}

export class CallRecord {
  readonly session: Session;
  readonly askedMs: number;
  readonly requestBytes: number;
  /** '' while no server has been found for it. */
  server = '';
  /** The tool's name there, or what the client has said, as it is spelled in JSON; each character is one byte. */
  toolText: string;
  argumentsBytes = 0;
  argumentsText = '';
  /** What a tool was asked about that only looks others up. */
  about: NamedTool | undefined;
  outcome: CallOutcome | undefined;
  /** Why it has failed, if the bridge says so; '' for what the server has said. */
  code = '';
  answerBytes = 0;
  readonly #trail: AuditTrail;
  /** Where the arguments stand, until it is noted what is kept of them. */
  #b: Buffer | undefined;
  #from: number;
  #to: number;
  #aim: Aim | undefined;
  /** Bytes for its client, ever, before the answer. */
  #sentBefore = -1;

  constructor(trail: AuditTrail, session: Session, { b, start, end }: Frame, envelope: Envelope) {
    this.#trail = trail;
    this.session = session;
    this.askedMs = trail.now();
    this.requestBytes = end - start;
    const isNamed = envelope.has(Field.name) && (envelope.ambiguous & (1 << Field.name)) === 0;
    this.toolText = isNamed ? envelope.raw(b, Field.name) : '';
    this.#b = b;
    this.#from = envelope.from(Field.arguments);
    this.#to = envelope.to(Field.arguments);
  }

  /** It is about that tool, and has those arguments, which stand in these bytes. */
  aim(at: Aim, b: Buffer): void {
    this.#aim = at;
    if (at.inner === undefined) return;
    this.#b = b;
    this.#from = at.inner.from;
    this.#to = at.inner.to;
  }

  /** It is a call of this server's, which calls it so; '' for as the client does. Its bytes are not kept from here on. */
  reached(server: string, nameText: string): void {
    this.server = server;
    if (nameText !== '') this.toolText = nameText;
    this.#noteArguments();
  }

  /** The server's answer is about to be passed on. */
  answered(b: Buffer, envelope: Envelope): void {
    if (!envelope.has(Field.result)) return this.settle('error');
    const saysFailed = envelope.has(Field.isError) && byteAt(b, envelope.from(Field.isError)) === LETTER_T;
    this.settle(saysFailed ? 'tool-error' : 'ok');
  }

  /** The client is about to be told this error. */
  failed({ code }: BridgeError): void {
    this.settle(outcomeOf(code), code);
  }

  /** The same as JSON. */
  refused(error: string): void {
    const code = codeIn(error);
    this.settle(outcomeOf(code), code);
  }

  /** The first word counts: what follows from it is told too. */
  settle(outcome: CallOutcome, code = ''): void {
    if (this.outcome !== undefined) return;
    this.outcome = outcome;
    this.code = code;
    this.#sentBefore = this.session.output.writtenBytes;
  }

  /** It is over, and its answer, if it gets one, is written. */
  end(): void {
    if (this.server === '' && this.#aim !== undefined) this.#nameAsAimed(this.#aim);
    this.#noteArguments();
    if (this.#sentBefore >= 0) this.answerBytes = this.session.output.writtenBytes - this.#sentBefore;
    this.#trail.record(this);
  }

  #nameAsAimed({ server, tool }: NamedTool): void {
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

/** Of codes that say how a server has failed; all others say that it was not asked. */
function outcomeOf(code: string): CallOutcome {
  switch (code) {
    case 'CALL_TIMED_OUT':
      return 'timeout';
    case 'SERVER_CRASHED':
      return 'crashed';
    case 'AUTH_FAILED':
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
