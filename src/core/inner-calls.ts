// Tool calls that the bridge makes in a client's name, while it works on a request of that client. They go the same way
// as the client's own calls: same session, rules, lanes, questions, records. Their answers end here and never reach the
// client.

import { randomBytes } from 'node:crypto';
import { cancelNotice, type Era } from '../protocol/era.ts';
import { logLevelMember, requestEnvelopeOf } from '../protocol/request-envelope.ts';
import { withoutTasks } from '../protocol/tasks-extension.ts';
import { invariant } from '../util/invariant.ts';
import { isRecord, membersOf, textOf } from '../util/json-value.ts';
import { type Envelope, Field } from '../wire/envelope.ts';
import type { Frame } from '../wire/frame-splitter.ts';
import type { Call, ClientRequest } from './call.ts';
import { type AnsweredQuestion, type AnsweredRequest, ClientOutput, type TrackedRequest } from './client-output.ts';
import type { PendingRequests } from './pending-requests.ts';
import type { Session } from './session.ts';

/** The end of an inner call. Texts are JSON in latin1. */
export type InnerEnd =
  | { readonly is: 'result' | 'error'; readonly text: string }
  /**
   * The server has questions: the client must be asked, and the call repeated with the answers. Only for clients of
   * 2026.
   */
  | { readonly is: 'asked'; readonly questions: ReadonlyMap<string, AnsweredQuestion>; readonly stateText: string };

export interface InnerRequest {
  /** The members of `params` except `_meta`, as JSON in latin1 without braces. */
  readonly params: string;
  /** Called once, at the end. */
  readonly ended: (end: InnerEnd) => void;
  /** Takes the `params` of progress notices; undefined if nobody wants them. */
  readonly progressed: ((params: Readonly<Record<string, unknown>>) => void) | undefined;
}

type Submit = (session: Session, request: ClientRequest, envelope: Envelope) => void;

/** The inner calls made during one request of a client. */
export class InnerCalls {
  /** The client's request. */
  readonly #outer: Pick<Call, 'idText' | 'logLevel'>;
  readonly #pending: PendingRequests;
  readonly #submit: Submit;
  /** Random, so that no id of the client can be the same. */
  readonly #prefix = `mcp-bridge.${randomBytes(9).toString('base64url')}.`;
  readonly #open = new Map<string, Session>();
  #lastId = 0;

  constructor(outer: Pick<Call, 'idText' | 'logLevel'>, pending: PendingRequests, submit: Submit) {
    this.#outer = outer;
    this.#pending = pending;
    this.#submit = submit;
  }

  /** Makes a call; returns the function that cancels it. */
  call(session: Session, { params, ended, progressed }: InnerRequest): () => void {
    const id = `${this.#prefix}${++this.#lastId}`;
    const idText = JSON.stringify(id);
    const meta = metaOf(session, this.#outer.logLevel, progressed === undefined ? '' : `"progressToken":${idText}`);
    const b = Buffer.from(
      `{"jsonrpc":"2.0","id":${idText},"method":"tools/call","params":{${meta}${params}}}\n`,
      'latin1',
    );
    const frame = { b, start: 0, end: b.length - 1 };
    const envelope = this.#pending.read(session, frame);
    if (envelope.fault !== undefined) {
      // The caller's arguments may nest deeper than a client's may.
      const refused = this.#pending.faultError(envelope.fault);
      ended({ is: 'error', text: Buffer.from(refused).toString('latin1') });
      return () => undefined;
    }
    const output = new InnerOutput(session, {
      ended: (end) => {
        if (this.#open.delete(id)) ended(end);
      },
      progressed,
    });
    this.#open.set(id, session);
    const { events } = session;
    events.toolWanted.tell(session, frame, envelope);
    try {
      this.#submit(session, { id, role: 'call', frame, output, withinText: this.#outer.idText }, envelope);
    } finally {
      events.toolTaken.tell(session);
    }
    return () => this.#cancel(id);
  }

  /** Cancels all open calls. Nobody is told their ends. */
  cancelAll(): void {
    for (const id of [...this.#open.keys()]) this.#cancel(id);
  }

  #cancel(id: string): void {
    const session = this.#open.get(id);
    this.#open.delete(id);
    const call = session?.calls.get(id);
    if (session === undefined || call === undefined) return;
    const b = Buffer.from(`${cancelNotice(JSON.stringify(id), 'The program that has called it has ended')}\n`);
    const frame = { b, start: 0, end: b.length - 1 };
    session.events.callGivenUp.tell(call, 'cancelled');
    call.owner.cancel(call, frame, this.#pending.read(session, frame));
  }
}

/** The `_meta` of a call with a comma behind it; '' for none. A client of 2026 says in each request who it is. */
function metaOf(session: Session, logLevel: string, first: string): string {
  const { era, clientInfo, capabilities } = session;
  const members = first === '' ? [] : [first];
  if (!era.hasHandshake) {
    members.push(requestEnvelopeOf({ clientInfo, capabilities: withoutTasks(capabilities) }));
    if (logLevel !== '') members.push(logLevelMember(logLevel));
  }
  return members.length === 0 ? '' : `"_meta":{${members.join()}},`;
}

/** Takes the end of a call instead of the client. */
class InnerOutput extends ClientOutput {
  readonly #session: Session;
  readonly #ports: Pick<InnerRequest, 'ended' | 'progressed'>;

  constructor(session: Session, ports: Pick<InnerRequest, 'ended' | 'progressed'>) {
    super(session, session.events);
    this.#session = session;
    this.#ports = ports;
  }

  override answer(_idText: string, result: string): void {
    this.#ports.ended({ is: 'result', text: Buffer.from(result).toString('latin1') });
    this.passed();
  }

  override fail(_idText: string, error: string): void {
    this.#session.events.errorWritten.tell(this.#session, error);
    this.#ports.ended({ is: 'error', text: Buffer.from(error).toString('latin1') });
  }

  override refuse(idText: string, error: string): void {
    this.fail(idText, error);
  }

  override answerWith(): void {
    invariant(false, 'a tool is not answered with a list');
  }

  override passAnswer(_call: AnsweredRequest, { b }: Frame, envelope: Envelope, era: Era): void {
    const field = envelope.has(Field.error) ? Field.error : Field.result;
    const asked = era.hasHandshake || field === Field.error ? undefined : questionsIn(envelope.decode(b, field));
    this.#ports.ended(asked ?? { is: field === Field.error ? 'error' : 'result', text: envelope.raw(b, field) });
    this.passed();
  }

  override passProgress(_call: TrackedRequest, { b }: Frame, envelope: Envelope): void {
    this.#ports.progressed?.(membersOf(envelope.decode(b, Field.params)));
  }

  override requireInput(_idText: string, questions: ReadonlyMap<string, AnsweredQuestion>, state: string): void {
    // Copied, because later questions do not belong to this answer.
    this.#ports.ended({ is: 'asked', questions: new Map(questions), stateText: JSON.stringify(state) });
  }
}

/** The questions in a server's answer of 2026; undefined for a result. */
function questionsIn(result: unknown): InnerEnd | undefined {
  const { resultType, inputRequests, requestState } = membersOf(result);
  if (resultType !== 'input_required') return undefined;
  const asked = isRecord(inputRequests) ? Object.entries(inputRequests) : [];
  const questions = asked.map(([key, question]): [string, AnsweredQuestion] => {
    const { method, params } = membersOf(question);
    return [
      key,
      { method: textOf(method), params: params === undefined ? undefined : Buffer.from(JSON.stringify(params)) },
    ];
  });
  const state = requestState === undefined ? '' : Buffer.from(JSON.stringify(requestState)).toString('latin1');
  return { is: 'asked', questions: new Map(questions), stateText: state };
}
